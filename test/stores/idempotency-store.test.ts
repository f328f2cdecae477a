// The contract of IdempotencyStore, on SQLite and on PostgreSQL.

import { idempotencyStoreContract } from "../contract/idempotency-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

idempotencyStoreContract("SQLite", openSqlite);
withPostgres("IdempotencyStore", () => idempotencyStoreContract("PostgreSQL", openPostgres));
