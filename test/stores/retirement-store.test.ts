// The contract of RetirementStore, on SQLite, in memory and on PostgreSQL.

import { retirementStoreContract } from "../contract/retirement-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

retirementStoreContract("SQLite", openSqlite);
retirementStoreContract("In-memory", openInMemory);
withPostgres("RetirementStore", () => retirementStoreContract("PostgreSQL", openPostgres));
