// The contract of LlmExtractionStore, on SQLite and in memory.

import { llmExtractionStoreContract } from "../contract/llm-extraction-store.ts";
import { openInMemory } from "../in-memory/open.ts";
import { openSqlite } from "./open-sqlite.ts";

llmExtractionStoreContract("SQLite", openSqlite);
llmExtractionStoreContract("In-memory", openInMemory);
