// The contract of ChatStore, on SQLite, in memory and on PostgreSQL.

import { chatStoreContract } from "../contract/chat-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

chatStoreContract("SQLite", openSqlite);
chatStoreContract("In-memory", openInMemory);
withPostgres("ChatStore", () => chatStoreContract("PostgreSQL", openPostgres));
