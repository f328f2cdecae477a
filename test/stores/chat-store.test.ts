// The contract of ChatStore, on SQLite and in memory.

import { chatStoreContract } from "../contract/chat-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

chatStoreContract("SQLite", openSqlite);
chatStoreContract("In-memory", openInMemory);
