// The contract of Transactions, on SQLite, in memory and on PostgreSQL.

import { transactionsContract } from "../contract/transactions.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

transactionsContract("SQLite", openSqlite);
transactionsContract("In-memory", openInMemory);
withPostgres("Transactions", () => transactionsContract("PostgreSQL", openPostgres));
