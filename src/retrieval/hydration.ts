// Fetches rows and passages of candidates, and checks that a row still is as the search found it.

import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Passage } from "../ports/chunk-index.ts";
import { isWithin } from "./admissible.ts";
import type { Candidate } from "./rank.ts";
import type { Search } from "./request.ts";

/** A candidate's row and passage. */
export interface Hydrated {
  readonly memory: Memory;
  readonly passage: Passage;
}

/** Rows by key, of those memories that the search may show now. */
export async function readRows(
  { parts, request }: Search,
  memoryKeys: readonly MemoryKey[],
): Promise<ReadonlyMap<MemoryKey, Memory>> {
  const rows = await parts.memories.getMany(request.scope.projectId, [...new Set(memoryKeys)]);
  return new Map([...rows].filter(([, memory]) => isWithin(request, memory)));
}

/**
 * Rows and passages of candidates, by chunk key; those that may not be shown are left out. The row is read before the
 * passage: if it still has this version at the end, the passage belongs to that version.
 */
export async function hydrate(running: Search, candidates: readonly Candidate[]): Promise<Map<bigint, Hydrated>> {
  const rows = await readRows(
    running,
    candidates.map(({ memoryKey }) => memoryKey),
  );
  const passages = await running.index.passages(BigUint64Array.from(candidates, ({ chunkKey }) => chunkKey));
  const found = new Map<bigint, Hydrated>();
  for (const [position, { chunkKey, memoryKey }] of candidates.entries()) {
    const passage = passages[position];
    const memory = rows.get(memoryKey);
    if (passage && memory) found.set(chunkKey, { memory, passage });
  }
  return found;
}

/**
 * Candidates whose row may still be shown and has the version that was hydrated, with the attributes of now. By chunk
 * key.
 */
export function stillValid(
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  rows: ReadonlyMap<MemoryKey, Memory>,
): ReadonlyMap<bigint, Hydrated> {
  const valid = new Map<bigint, Hydrated>();
  for (const { chunkKey, memoryKey } of candidates) {
    const before = hydrated.get(chunkKey);
    const memory = rows.get(memoryKey);
    if (before === undefined || memory === undefined || memory.version !== before.memory.version) continue;
    valid.set(chunkKey, { memory, passage: before.passage });
  }
  return valid;
}
