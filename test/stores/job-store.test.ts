// The contract of JobStore, on SQLite and on PostgreSQL.

import { jobStoreContract } from "../contract/job-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

jobStoreContract("SQLite", openSqlite);
withPostgres("JobStore", () => jobStoreContract("PostgreSQL", openPostgres));
