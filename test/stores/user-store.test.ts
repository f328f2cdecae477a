// The contract of UserStore, on SQLite and on PostgreSQL.

import { userStoreContract } from "../contract/user-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

userStoreContract("SQLite", openSqlite);
withPostgres("UserStore", () => userStoreContract("PostgreSQL", openPostgres));
