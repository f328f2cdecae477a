// A memory for tests that need no store.

import type { MemoryId, MemoryKey } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";

/** A completed memory with one chunk and without attributes, except for `changes`. */
export function completedMemory(changes: Partial<Memory> = {}): Memory {
  return {
    key: 1n as MemoryKey,
    id: "mem_00000000000000000000000000" as MemoryId,
    version: 1,
    state: { status: "completed", chunkCount: 1, extraction: "local" },
    title: null,
    type: null,
    tags: null,
    language: null,
    metadata: null,
    userId: null,
    userKey: null,
    agentId: null,
    sessionId: null,
    externalId: null,
    createdAt: 0,
    updatedAt: 0,
    expiresAt: null,
    occurredAt: null,
    occurredAtGiven: null,
    source: null,
    originalFile: null,
    contentBytes: 12,
    given: [],
    supersededBy: null,
    supersededPassages: null,
    ...changes,
  };
}
