// Threads and graphs of Zep: answers of its API (v2 to v4), or the API v4 itself with all threads, texts and facts.

import { isRecord, type JsonRecord } from "../kit/record.ts";
import type { CallSource, Importer, SourceRecord } from "./imported.ts";
import { KNOWLEDGE_LISTS, knowledgeOf } from "./knowledge.ts";

const PAGE_ITEMS = 100;
/** Maximum number of messages of a thread that become one memory; further ones become another memory. */
const MESSAGES_MAX = 5_000;

/** Reads exports of Zep. */
export const ZEP: Importer = {
  expects: "JSON with the lists threads (with messages), episodes, edges or nodes, or one of them per line",
  lists: KNOWLEDGE_LISTS,
  files: /\.jsonl?$/i,
  read: ({ place, value }) => knowledgeOf("zep", value, place),
  server: {
    keyVariable: "ZEP_API_KEY",
    authorization: (key) => `Api-Key ${key}`,
    records,
  },
};

async function* records(call: CallSource): AsyncGenerator<SourceRecord> {
  // Ids of users by their UUID, because threads name their user only by UUID. One entry per user: about 100 bytes.
  const users = new Map<string, string>();
  for await (const { value } of pagesOf(call, "POST", "/api/v4/users/list")) {
    if (typeof value.uuid === "string" && typeof value.user_id === "string") users.set(value.uuid, value.user_id);
  }
  const ownerOf = ({ user_uuid: uuid }: JsonRecord) =>
    typeof uuid === "string" ? { user_id: users.get(uuid) ?? uuid, user_uuid: undefined } : {};
  for await (const { place, value } of pagesOf(call, "GET", "/api/v4/threads")) {
    yield* threadRecords(call, { ...value, ...ownerOf(value) }, `thread ${place}`);
  }
  for await (const { value: graph } of pagesOf(call, "POST", "/api/v4/graphs/list")) {
    const uuid = encodeURIComponent(String(graph.uuid));
    const owner = "user_uuid" in graph ? ownerOf(graph) : { user_id: graph.graph_id };
    for (const list of ["episodes", "edges"]) {
      for await (const { place, value } of pagesOf(call, "POST", `/api/v4/graphs/${uuid}/${list}/list`)) {
        // the messages of threads came along above
        if (value.thread_uuid !== undefined && value.thread_uuid !== null) continue;
        const record = { ...value, ...owner, graph_uuid: undefined, user_uuid: undefined };
        yield { kind: "record", place: `graph ${String(graph.uuid)}, ${list}, ${place}`, list, value: record };
      }
    }
  }
}

async function* threadRecords(call: CallSource, thread: JsonRecord, place: string): AsyncGenerator<SourceRecord> {
  let messages: JsonRecord[] = [];
  let part = 1;
  const record = (): SourceRecord => {
    const value = { ...thread, graph_uuid: undefined, messages, ...(part > 1 && { part }) };
    return { kind: "record", place, list: "threads", value };
  };
  for await (const { value } of pagesOf(
    call,
    "GET",
    `/api/v4/threads/${encodeURIComponent(String(thread.uuid))}/messages`,
  )) {
    messages.push(value);
    if (messages.length < MESSAGES_MAX) continue;
    yield record();
    messages = [];
    part++;
  }
  if (messages.length > 0 || part === 1) yield record();
}

async function* pagesOf(call: CallSource, method: "GET" | "POST", path: string) {
  let cursor: string | null = null;
  let number = 0;
  do {
    const next: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const body = method === "POST" ? {} : undefined;
    const answer: JsonRecord = await call(method, `${path}?page_size=${PAGE_ITEMS}${next}`, body);
    const items = Array.isArray(answer.items) ? (answer.items as readonly unknown[]) : [];
    for (const value of items) {
      number++;
      if (isRecord(value)) yield { place: `item ${number}`, value };
    }
    cursor = typeof answer.next_cursor === "string" && answer.next_cursor !== "" ? answer.next_cursor : null;
  } while (cursor !== null);
}
