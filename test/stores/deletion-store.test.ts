// The contract of DeletionStore, on SQLite and on PostgreSQL.

import { deletionStoreContract } from "../contract/deletion-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

deletionStoreContract("SQLite", openSqlite);
withPostgres("DeletionStore", () => deletionStoreContract("PostgreSQL", openPostgres));
