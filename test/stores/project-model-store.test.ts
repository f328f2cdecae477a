// The contract of ProjectModelStore, on SQLite and on PostgreSQL.

import { projectModelStoreContract } from "../contract/project-model-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

projectModelStoreContract("SQLite", openSqlite);
withPostgres("ProjectModelStore", () => projectModelStoreContract("PostgreSQL", openPostgres));
