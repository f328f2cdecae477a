// The contract of JobStore, on SQLite and in memory.

import { jobStoreContract } from "../contract/job-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

jobStoreContract("SQLite", openSqlite);
jobStoreContract("In-memory", openInMemory);
