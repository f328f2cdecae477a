// The contract of MemoryStore, on SQLite and in memory.

import { memoryStoreContract } from "../contract/memory-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

memoryStoreContract("SQLite", openSqlite);
memoryStoreContract("In-memory", openInMemory);
