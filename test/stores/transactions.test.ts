// The contract of Transactions, on SQLite and in memory.

import { transactionsContract } from "../contract/transactions.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

transactionsContract("SQLite", openSqlite);
transactionsContract("In-memory", openInMemory);
