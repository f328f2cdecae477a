// Converts rows of memories to what searches need to know of them. A node that opens a project reads all its rows, so
// only the necessary columns are read, and nothing is parsed that is written again.

import type { MemoryKey, UserKey } from "../../domain/ids.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import { type MemoryRow, numberOrNull, toSource } from "./memory.ts";

/** A row with the columns `VISIBLE_COLUMNS` (sql.ts). */
export type VisibleRow = Pick<
  MemoryRow,
  | "memory_key"
  | "id"
  | "title"
  | "type"
  | "tags"
  | "language"
  | "metadata"
  | "user_key"
  | "user_id"
  | "external_id"
  | "source"
  | "created_at"
  | "updated_at"
  | "expires_at"
  | "occurred_at"
  | "agent_id"
  | "session_id"
>;

/** What searches need to know of a completed memory. */
export function visibleOf(row: VisibleRow): VisibleMemory {
  return {
    memoryKey: row.memory_key as MemoryKey,
    userKey: row.user_key as UserKey | null,
    expiresAt: numberOrNull(row.expires_at),
    attributes: attributesOf(row),
  };
}

/** The same text as `filteredAttributesJson` of the memory. Tags and metadata are JSON in the row already. */
function attributesOf(row: VisibleRow): string {
  const { tags, metadata, created_at, updated_at, occurred_at } = row;
  const mediaType = toSource(row)?.media_type ?? null;
  return `{"type":${quoted(row.type)},"title":${quoted(row.title)},"tags":${tags ?? "null"},\
"language":${quoted(row.language)},"source.media_type":${quoted(mediaType)},\
"externalId":${quoted(row.external_id)},"created_at":${created_at},"updated_at":${updated_at},\
"occurred_at":${occurred_at ?? "null"},"memory_id":${quoted(row.id)},"userId":${quoted(row.user_id)},\
"agentId":${quoted(row.agent_id)},"sessionId":${quoted(row.session_id)},"metadata":${metadata ?? "null"}}`;
}

function quoted(text: string | null): string {
  return text === null ? "null" : JSON.stringify(text);
}
