// Memories, search results and users of Mneme as clients of mem0 read them.

import { isRecord, type JsonRecord } from "../../kit/record.ts";
import { DETAILS, entitiesOfMemory } from "./names.ts";

/** A memory of the API as one of mem0. */
export function mem0Memory(memory: JsonRecord): JsonRecord {
  return {
    id: memory.id,
    memory: memory.content,
    ...attributesOf(memory, memory.metadata),
    updated_at: memory.updated_at,
    expiration_date: typeof memory.expires_at === "string" ? memory.expires_at.slice(0, 10) : null,
    ...(memory.status !== "completed" && { status: memory.status }),
  };
}

/** A result of a search of the API as one of mem0: `memory` is the passage that was found. */
export function resultView(result: JsonRecord): JsonRecord {
  const { _memory, _chunk: _, ...metadata } = isRecord(result.metadata) ? result.metadata : {};
  return {
    id: result.memory_id,
    memory: result.content,
    ...attributesOf(isRecord(_memory) ? _memory : {}, metadata),
    score: result.score,
  };
}

/** A user of the API as an entity of mem0. */
export function entityView(user: JsonRecord): JsonRecord {
  return {
    id: user.id,
    name: user.id,
    type: "user",
    created_at: user.created_at,
    updated_at: user.created_at,
    total_memories: null,
    owner: null,
    metadata: user.metadata ?? {},
  };
}

/**
 * The history of a memory, oldest first. Only its texts have a history, so other attributes are as today.
 * @param texts entries of the API with the texts that are kept, newest first
 */
export function historyView(memory: JsonRecord, texts: readonly JsonRecord[]): readonly JsonRecord[] {
  return texts.toReversed().map(({ version, content, from }, at, oldestFirst) => ({
    id: `${String(memory.id)}-${String(version)}`,
    memory_id: memory.id,
    input: [],
    old_memory: oldestFirst[at - 1]?.content ?? null,
    new_memory: content,
    user_id: memory.userId ?? null,
    categories: memory.tags ?? [],
    metadata: metadataOf(memory.metadata).own,
    event: version === 1 ? "ADD" : "UPDATE",
    created_at: memory.created_at,
    updated_at: at === oldestFirst.length - 1 ? memory.updated_at : from,
  }));
}

/** What a caller of mem0 put into the metadata, and what this interface keeps beside it. */
export function metadataOf(metadata: unknown): { readonly own: JsonRecord; readonly details: JsonRecord } {
  if (!isRecord(metadata)) return { own: {}, details: {} };
  const { [DETAILS]: details, ...own } = metadata;
  return isRecord(details) ? { own, details } : { own: metadata, details: {} };
}

function attributesOf(memory: JsonRecord, metadata: unknown): JsonRecord {
  const { own, details } = metadataOf(metadata);
  return {
    ...entitiesOfMemory(memory),
    app_id: details.app_id ?? null,
    ...(details.role !== undefined && { role: details.role }),
    metadata: own,
    categories: memory.tags ?? [],
    created_at: memory.created_at,
    ...(typeof memory.occurred_at === "string" && { timestamp: Math.floor(Date.parse(memory.occurred_at) / 1000) }),
  };
}
