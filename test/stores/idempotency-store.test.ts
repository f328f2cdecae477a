// The contract of IdempotencyStore, on SQLite, in memory and on PostgreSQL.

import { idempotencyStoreContract } from "../contract/idempotency-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

idempotencyStoreContract("SQLite", openSqlite);
idempotencyStoreContract("In-memory", openInMemory);
withPostgres("IdempotencyStore", () => idempotencyStoreContract("PostgreSQL", openPostgres));
