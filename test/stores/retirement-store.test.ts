// The contract of RetirementStore, on SQLite and on PostgreSQL.

import { retirementStoreContract } from "../contract/retirement-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

retirementStoreContract("SQLite", openSqlite);
withPostgres("RetirementStore", () => retirementStoreContract("PostgreSQL", openPostgres));
