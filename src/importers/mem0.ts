// Memories of mem0: answers of its `get_all` (all versions of its API, platform and self-hosted), or its API itself.

import { isRecord } from "../kit/record.ts";
import type { CallSource, Found, Importer, SourceRecord } from "./imported.ts";
import { Mapping } from "./mapping.ts";

const PAGE_ITEMS = 100;
/** mem0 lists nothing without a filter; `*` matches every value. */
const EVERYTHING = { OR: ["user_id", "agent_id", "app_id", "run_id"].map((field) => ({ [field]: "*" })) };

/** Reads exports of mem0. */
export const MEM0: Importer = {
  expects: "the JSON that mem0's get_all returns, or one memory per line",
  lists: ["results", "memories", "data"],
  files: /\.jsonl?$/i,
  read: ({ place, value }) => memoryOf(value, place),
  server: {
    keyVariable: "MEM0_API_KEY",
    authorization: (key) => `Token ${key}`,
    records,
  },
};

function* memoryOf(value: unknown, place: string): Generator<Found> {
  if (!isRecord(value)) return yield { kind: "damaged", place, why: "is not a memory of mem0" };
  const mapping = new Mapping(value, place);
  mapping.text("content", "memory", "text", "data");
  mapping.id("userId", "user_id", "userId");
  mapping.id("agentId", "agent_id", "agentId");
  mapping.id("sessionId", "run_id", "runId");
  mapping.time("occurred_at", "timestamp", "created_at", "createdAt");
  mapping.tags("categories");
  mapping.metadata("metadata");
  mapping.keep("mem0", "id", "app_id", "actor_id", "role");
  mapping.keep("mem0", "created_at", "updated_at", "expiration_date");
  yield* mapping.found("mem0", mapping.peek("id"));
}

async function* records(call: CallSource): AsyncGenerator<SourceRecord> {
  for (let page = 1; ; page++) {
    const answer = await call("POST", `/v3/memories/?page=${page}&page_size=${PAGE_ITEMS}`, { filters: EVERYTHING });
    const results = Array.isArray(answer.results) ? answer.results : [];
    for (const [at, value] of results.entries()) {
      yield { kind: "record", place: `page ${page}, item ${at + 1}`, list: "results", value };
    }
    if (results.length === 0 || (answer.next ?? null) === null) return;
  }
}
