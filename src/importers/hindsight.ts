// Facts of Hindsight: answers of its list of memories, or its API itself with all banks. A bank becomes a user.

import { isRecord } from "../kit/record.ts";
import type { CallSource, Found, Importer, SourceRecord } from "./imported.ts";
import { Mapping } from "./mapping.ts";

const PAGE_ITEMS = 100;
/** Field under which the id of the bank is added to records of the API, which lack it. */
const BANK = "bank_id";

/** Reads exports of Hindsight. */
export const HINDSIGHT: Importer = {
  expects: "the JSON that Hindsight's list of memories returns, or one memory per line",
  lists: ["items", "memories", "results"],
  files: /\.jsonl?$/i,
  read: ({ place, value }) => memoryOf(value, place),
  server: {
    keyVariable: "HINDSIGHT_API_KEY",
    authorization: (key) => `Bearer ${key}`,
    records,
  },
};

function* memoryOf(value: unknown, place: string): Generator<Found> {
  if (!isRecord(value)) return yield { kind: "damaged", place, why: "is not a memory of Hindsight" };
  if (value.state === "invalidated") return yield { kind: "skipped", place, why: "invalidated there" };
  const mapping = new Mapping(value, place);
  mapping.text("content", "text", "content");
  mapping.id("userId", BANK);
  mapping.time("occurred_at", "occurred_start", "date", "mentioned_at", "timestamp");
  mapping.tags("tags");
  mapping.metadata("metadata");
  const details = ["context", "entities", "document_id", "occurred_end", "mentioned_at", "updated_at", "type"];
  mapping.keep("hindsight", "id", "fact_type", ...details);
  if (mapping.peek("date") === mapping.peek("occurred_start")) mapping.ignore("date");
  mapping.ignore("state");
  yield* mapping.found("hindsight", mapping.peek("id"));
}

async function* records(call: CallSource): AsyncGenerator<SourceRecord> {
  for await (const bank of pagesOf(call, "/v1/default/banks", "banks")) {
    const id = isRecord(bank.value) ? bank.value.bank_id : null;
    if (typeof id !== "string") {
      yield { kind: "damaged", place: `bank ${bank.number}`, why: "has no id" };
      continue;
    }
    const path = `/v1/default/banks/${encodeURIComponent(id)}/memories/list`;
    for await (const { number, value } of pagesOf(call, path, "items")) {
      const place = `bank ${id}, item ${number}`;
      yield { kind: "record", place, list: "items", value: isRecord(value) ? { ...value, [BANK]: id } : value };
    }
  }
}

async function* pagesOf(call: CallSource, path: string, list: string) {
  for (let offset = 0; ; ) {
    const answer = await call("GET", `${path}?limit=${PAGE_ITEMS}&offset=${offset}`);
    const items = Array.isArray(answer[list]) ? (answer[list] as readonly unknown[]) : [];
    for (const [at, value] of items.entries()) yield { number: offset + at + 1, value };
    offset += items.length;
    if (items.length === 0 || !(offset < Number(answer.total))) return;
  }
}
