// The contract of JobStore, on SQLite, in memory and on PostgreSQL.

import { jobStoreContract } from "../contract/job-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

jobStoreContract("SQLite", openSqlite);
jobStoreContract("In-memory", openInMemory);
withPostgres("JobStore", () => jobStoreContract("PostgreSQL", openPostgres));
