// The contract of Transactions, on SQLite, with delays and on PostgreSQL.

import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { transactionsContract } from "../contract/transactions.ts";
import { openDelayedStores } from "../in-memory/delayed-stores.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

transactionsContract("SQLite", openSqlite);
transactionsContract("Delayed SQLite", (surroundings) => openDelayedStores({ newWebhookSecret, ...surroundings }));
withPostgres("Transactions", () => transactionsContract("PostgreSQL", openPostgres));
