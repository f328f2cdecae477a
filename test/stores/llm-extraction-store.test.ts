// The contract of LlmExtractionStore, on SQLite, in memory and on PostgreSQL.

import { llmExtractionStoreContract } from "../contract/llm-extraction-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

llmExtractionStoreContract("SQLite", openSqlite);
llmExtractionStoreContract("In-memory", openInMemory);
withPostgres("LlmExtractionStore", () => llmExtractionStoreContract("PostgreSQL", openPostgres));
