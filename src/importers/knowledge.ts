// Maps records of the knowledge graphs of Zep and Graphiti to memories: episodes (texts), edges (facts), nodes
// (entities), and threads of messages. The fields of a record show its kind, because no version of these products
// names it.

import { LIMITS } from "../domain/limits.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import { conversationContent, textOfParts } from "./conversation.ts";
import type { Found } from "./imported.ts";
import { Mapping } from "./mapping.ts";

/** Names of lists of such records in an export. */
export const KNOWLEDGE_LISTS = [
  "threads",
  "sessions",
  "episodes",
  "edges",
  "facts",
  "nodes",
  "entities",
  "items",
  "relevant_facts",
] as const;

const USER_FIELDS = ["user_id", "userId", "group_id", "graph_id", "user_uuid"] as const;
/** Label that every node has, so it does not become a tag. */
const ENTITY_LABEL = "Entity";

/**
 * Maps a record to a memory.
 * @param product prefix of the `externalId`, and name of the metadata member with the record's other fields
 */
export function* knowledgeOf(product: string, value: unknown, place: string): Generator<Found> {
  if (!isRecord(value)) return yield { kind: "damaged", place, why: `is no record of ${product}` };
  if (Array.isArray(value.messages)) yield* threadOf(product, value, value.messages, place);
  else if (typeof value.fact === "string") yield* factOf(product, value, place);
  else if (typeof value.content === "string") yield* episodeOf(product, value, place);
  else if ("summary" in value || "labels" in value) yield* nodeOf(product, value, place);
  else if ("thread_id" in value || "session_id" in value)
    yield { kind: "skipped", place, why: "thread without messages" };
  else if ("source_node_uuid" in value) yield { kind: "skipped", place, why: "link without a fact" };
  else yield { kind: "damaged", place, why: "has neither messages nor a fact, content or summary" };
}

function* threadOf(product: string, thread: JsonRecord, messages: readonly unknown[], place: string): Generator<Found> {
  let otherParts = 0;
  const turns = messages.flatMap((message) => {
    if (!isRecord(message)) return [];
    const { text, otherParts: others } = textOfParts(message.content);
    otherParts += others;
    const role = [message.name, message.role, message.role_type].find(
      (name) => typeof name === "string" && name !== "",
    );
    const time = message.reference_time ?? message.created_at;
    return [{ role: typeof role === "string" ? role : "user", content: text, time }];
  });
  const whole = thread.thread_id ?? thread.session_id ?? thread.uuid;
  const id = typeof thread.part === "number" ? `${String(whole)}#${thread.part}` : whole;
  if (messages.length === 0) return yield { kind: "skipped", place, why: "thread without messages" };
  const mapping = new Mapping({ ...thread, started_at: turns[0]?.time ?? thread.created_at }, place);
  mapping.set("content", conversationContent(turns), "messages");
  mapping.set("type", "conversation", "messages");
  mapping.time("occurred_at", "started_at");
  mapping.id("userId", ...USER_FIELDS);
  mapping.id("sessionId", "thread_id", "session_id");
  mapping.metadata("metadata");
  mapping.keep(product, "uuid", "created_at", "updated_at");
  // fields that were added to the record, and counts from the answer that the messages came in
  mapping.ignore("part", "started_at", "row_count", "total_count", "next_cursor", "total_size", "thread_created_at");
  if (otherParts > 0) mapping.unplaced("parts of messages that are no text");
  yield* mapping.found(`${product}:thread`, id);
}

function* factOf(product: string, edge: JsonRecord, place: string): Generator<Found> {
  const mapping = new Mapping(edge, place);
  // If a newer fact of the same subject and kind contradicts this one, `invalid_at` is the `valid_at` of the newer one.
  const { source_node_uuid: subject, name } = edge;
  const markAt = (time: unknown) => (isText(subject) && isText(time) ? JSON.stringify([subject, name, time]) : null);
  const isPast = isText(edge.invalid_at) || isText(edge.expired_at);
  if (isPast)
    mapping.replacedAs(markAt(edge.invalid_at), "fact that is no longer true, and what replaced it is unknown");
  mapping.replaces(markAt(edge.valid_at));
  mapping.text("content", "fact");
  mapping.time("occurred_at", "valid_at", "reference_time", "created_at");
  mapping.id("userId", ...USER_FIELDS);
  const details = ["name", "source_node_name", "target_node_name", "source_node_uuid", "target_node_uuid"];
  mapping.keep(product, "uuid", ...details, "valid_at", "created_at", "episodes", "episode_uuids", "attributes");
  if (isPast) mapping.keep(product, "invalid_at", "expired_at");
  yield* mapping.found(product, mapping.peek("uuid"));
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function* episodeOf(product: string, episode: JsonRecord, place: string): Generator<Found> {
  const mapping = new Mapping(episode, place);
  mapping.text("content", "content");
  // The name of an episode is often an id of the caller's; a text that was added as a document has a real name.
  mapping.title("name");
  mapping.time("occurred_at", "valid_at", "reference_time", "created_at");
  mapping.id("userId", ...USER_FIELDS);
  mapping.id("sessionId", "thread_id", "session_id");
  mapping.metadata("episode_metadata");
  mapping.metadata("metadata");
  const details = ["source", "source_description", "role", "role_name", "role_type", "thread_uuid"];
  mapping.keep(product, "uuid", ...details, "document_id", "created_at");
  mapping.ignore("processed", "labels");
  yield* mapping.found(product, mapping.peek("uuid"));
}

function* nodeOf(product: string, node: JsonRecord, place: string): Generator<Found> {
  const { name, summary } = node;
  if (typeof summary !== "string" || summary.trim() === "") {
    return yield { kind: "skipped", place, why: "entity without a summary" };
  }
  const mapping = new Mapping(node, place);
  mapping.set("content", typeof name === "string" && name !== "" ? `${name}: ${summary}` : summary, "summary");
  mapping.title("name");
  const labels = Array.isArray(node.labels) ? node.labels.filter((label) => label !== ENTITY_LABEL) : [];
  mapping.set("tags", labels.length > 0 ? labels.map(String).slice(0, LIMITS.tagsPerMemory) : null, "labels");
  mapping.time("occurred_at", "created_at");
  mapping.id("userId", ...USER_FIELDS);
  mapping.keep(product, "uuid", "attributes");
  yield* mapping.found(product, mapping.peek("uuid"));
}
