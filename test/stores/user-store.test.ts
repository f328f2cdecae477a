// The contract of UserStore, on SQLite, in memory and on PostgreSQL.

import { userStoreContract } from "../contract/user-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

userStoreContract("SQLite", openSqlite);
userStoreContract("In-memory", openInMemory);
withPostgres("UserStore", () => userStoreContract("PostgreSQL", openPostgres));
