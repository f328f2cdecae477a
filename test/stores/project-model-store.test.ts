// The contract of ProjectModelStore, on SQLite and in memory.

import { projectModelStoreContract } from "../contract/project-model-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

projectModelStoreContract("SQLite", openSqlite);
projectModelStoreContract("In-memory", openInMemory);
