// The arguments of the native core that make memories visible.

import type { VisibleMemory } from "../../ports/chunk-index.ts";

/** Memories to show, without attributes, because the native core already has those. */
export type Showable = readonly Omit<VisibleMemory, "attributes">[];

/** Keys and attributes as parallel arrays. */
export function describable(memories: readonly VisibleMemory[]): [BigUint64Array, readonly string[]] {
  return [BigUint64Array.from(memories, (memory) => memory.memoryKey), memories.map((memory) => memory.attributes)];
}

/** Keys, users and times of expiry as parallel arrays. */
export function showable(memories: Showable): [BigUint64Array, BigUint64Array, Float64Array] {
  return [
    BigUint64Array.from(memories, (memory) => memory.memoryKey),
    BigUint64Array.from(memories, (memory) => memory.userKey ?? 0n),
    Float64Array.from(memories, (memory) => memory.expiresAt ?? 0),
  ];
}
