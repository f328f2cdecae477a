// The contract of FindingStore, on SQLite and in memory.

import { findingStoreContract } from "../contract/finding-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

findingStoreContract("SQLite", openSqlite);
findingStoreContract("In-memory", openInMemory);
