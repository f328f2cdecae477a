// Documents of Supermemory: answers of its list of documents (v3, and `list/documents` of v5), answers of
// `list/memories` of v5, or its API itself.

import { isRecord } from "../kit/record.ts";
import type { CallSource, Found, Importer, SourceRecord } from "./imported.ts";
import { Mapping } from "./mapping.ts";

const PAGE_ITEMS = 100;

/** Reads exports of Supermemory. */
export const SUPERMEMORY: Importer = {
  expects: "the JSON that Supermemory's list of documents returns with their content, or one document per line",
  lists: ["memories", "documents", "results"],
  files: /\.jsonl?$/i,
  read: ({ place, value }) => memoryOf(value, place),
  server: {
    keyVariable: "SUPERMEMORY_API_KEY",
    authorization: (key) => `Bearer ${key}`,
    records,
  },
};

function* memoryOf(value: unknown, place: string): Generator<Found> {
  if (!isRecord(value)) return yield { kind: "damaged", place, why: "is not a document of Supermemory" };
  if (value.isForgotten === true) return yield { kind: "skipped", place, why: "forgotten there" };
  const system = isRecord(value.system) ? value.system : {};
  const mapping = new Mapping({ ...value, createdAt: value.createdAt ?? system.createdAt }, place);
  const markOf = (id: unknown) => (typeof id === "string" && id !== "" ? id : null);
  if (value.isLatest === false) mapping.replacedAs(markOf(value.id), "replaced there by a version that is not here");
  mapping.replaces(markOf(value.parentMemoryId));
  const text = mapping.text("content", "content", "memory", "raw", "summary");
  if (text !== null && text === mapping.peek("summary"))
    mapping.unplaced("content (only the summary is in the export)");
  mapping.title("title");
  mapping.text("type", "type");
  mapping.time("occurred_at", "createdAt");
  const [owner, ...others] = Array.isArray(value.containerTags) ? value.containerTags : [value.containerTag];
  mapping.set("userId", typeof owner === "string" ? owner : null, "containerTags");
  mapping.member("containerTags", others.length > 0 ? others : null, "containerTags after the first");
  mapping.metadata("metadata");
  const url = value.url;
  if (typeof url === "string") mapping.member("url", url, "url");
  mapping.keep("supermemory", "id", "customId", "source", "updatedAt", "connectionId", "isStatic", "isInference");
  // the state of the document in Supermemory, and fields that were read above
  mapping.ignore(
    "parentMemoryId",
    "rootMemoryId",
    "version",
    "system",
    "status",
    "containerTag",
    "isForgotten",
    "isLatest",
  );
  yield* mapping.found("supermemory", mapping.peek("id"));
}

async function* records(call: CallSource): AsyncGenerator<SourceRecord> {
  for (let page = 1; ; page++) {
    const answer = await call("POST", "/v3/documents/list", { page, limit: PAGE_ITEMS, includeContent: true });
    const documents = Array.isArray(answer.memories) ? answer.memories : [];
    for (const [at, value] of documents.entries()) {
      yield { kind: "record", place: `page ${page}, item ${at + 1}`, list: "memories", value };
    }
    const total = isRecord(answer.pagination) ? Number(answer.pagination.totalPages) : 0;
    if (documents.length === 0 || !(page < total)) return;
  }
}
