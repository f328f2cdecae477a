// The contract of RetirementStore, on SQLite and in memory.

import { retirementStoreContract } from "../contract/retirement-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

retirementStoreContract("SQLite", openSqlite);
retirementStoreContract("In-memory", openInMemory);
