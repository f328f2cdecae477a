// The contract of ProjectModelStore, on SQLite, in memory and on PostgreSQL.

import { projectModelStoreContract } from "../contract/project-model-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

projectModelStoreContract("SQLite", openSqlite);
projectModelStoreContract("In-memory", openInMemory);
withPostgres("ProjectModelStore", () => projectModelStoreContract("PostgreSQL", openPostgres));
