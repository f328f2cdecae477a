// Passages for tests of answers, with default values for all fields that an answer does not use.

import type { ChunkId, MemoryId, MemoryKey } from "../../src/domain/ids.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { completedMemory } from "../support/memory.ts";

let lastKey = 0n;

/** A ranked passage with this text. */
export function passage(text: string, score = 0.5): RankedPassage {
  lastKey++;
  return {
    chunkId: `chunk_${String(lastKey).padStart(26, "0")}` as ChunkId,
    memory: completedMemory({
      key: lastKey as MemoryKey,
      id: `mem_${String(lastKey).padStart(26, "0")}` as MemoryId,
      contentBytes: Buffer.byteLength(text),
    }),
    text,
    place: { ordinal: 0, start: 0, end: [...text].length, headings: [] },
    score,
    signals: {},
    fusedRank: 1,
    supersededBy: null,
    outdatedBy: null,
    standing: null,
  };
}
