// The contract of DeletionStore, on SQLite, in memory and on PostgreSQL.

import { deletionStoreContract } from "../contract/deletion-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

deletionStoreContract("SQLite", openSqlite);
deletionStoreContract("In-memory", openInMemory);
withPostgres("DeletionStore", () => deletionStoreContract("PostgreSQL", openPostgres));
