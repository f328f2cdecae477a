// The contract of MemoryStore, on SQLite, in memory and on PostgreSQL.

import { memoryStoreContract } from "../contract/memory-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

memoryStoreContract("SQLite", openSqlite);
memoryStoreContract("In-memory", openInMemory);
withPostgres("MemoryStore", () => memoryStoreContract("PostgreSQL", openPostgres));
