// Passages for tests of answers, with default values for all fields that an answer does not use.

import type { ChunkId, MemoryId, MemoryKey } from "../../src/domain/ids.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";

let lastKey = 0n;

/** A ranked passage with this text. */
export function passage(text: string, score = 0.5): RankedPassage {
  lastKey++;
  return {
    chunkId: `chunk_${String(lastKey).padStart(26, "0")}` as ChunkId,
    memory: {
      key: lastKey as MemoryKey,
      id: `mem_${String(lastKey).padStart(26, "0")}` as MemoryId,
      version: 1,
      state: { status: "completed", chunkCount: 1, extraction: "local" },
      title: null,
      type: null,
      tags: null,
      language: null,
      metadata: null,
      userId: null,
      userKey: null,
      externalId: null,
      createdAt: 0,
      updatedAt: 0,
      expiresAt: null,
      occurredAt: null,
      source: null,
      contentBytes: Buffer.byteLength(text),
      given: [],
    },
    text,
    place: { ordinal: 0, start: 0, end: [...text].length, headings: [] },
    score,
    signals: { vector: { rank: 1, score } },
    fusedRank: 1,
    supersededBy: null,
  };
}
