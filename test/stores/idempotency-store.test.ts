// The contract of IdempotencyStore, on SQLite and in memory.

import { idempotencyStoreContract } from "../contract/idempotency-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

idempotencyStoreContract("SQLite", openSqlite);
idempotencyStoreContract("In-memory", openInMemory);
