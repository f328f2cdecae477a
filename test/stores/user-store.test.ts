// The contract of UserStore, on SQLite and in memory.

import { userStoreContract } from "../contract/user-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

userStoreContract("SQLite", openSqlite);
userStoreContract("In-memory", openInMemory);
