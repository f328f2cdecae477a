// The contract of MemoryStore, on SQLite and on PostgreSQL.

import { memoryStoreContract } from "../contract/memory-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

memoryStoreContract("SQLite", openSqlite);
withPostgres("MemoryStore", () => memoryStoreContract("PostgreSQL", openPostgres));
