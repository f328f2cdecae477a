// The contract of LlmExtractionStore, on SQLite and on PostgreSQL.

import { llmExtractionStoreContract } from "../contract/llm-extraction-store.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

llmExtractionStoreContract("SQLite", openSqlite);
withPostgres("LlmExtractionStore", () => llmExtractionStoreContract("PostgreSQL", openPostgres));
