// The contract of ChatStore, on SQLite and on PostgreSQL.

import { chatStoreContract } from "../contract/chat-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

chatStoreContract("SQLite", openSqlite);
withPostgres("ChatStore", () => chatStoreContract("PostgreSQL", openPostgres));
