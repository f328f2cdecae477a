// The arguments of the native core that make memories visible.

import type { VisibleMemory } from "../../ports/chunk-index.ts";

/** Memories to show, without attributes, because the native core already has those. */
export type Showable = readonly Omit<VisibleMemory, "attributes">[];

/** Keys and attributes as parallel arrays. */
export function describable(memories: readonly VisibleMemory[]): [BigUint64Array, readonly string[]] {
  return [BigUint64Array.from(memories, (memory) => memory.memoryKey), memories.map((memory) => memory.attributes)];
}

/** Keys, users and times of expiry as parallel arrays. */
export type ShownColumns = [memoryKeys: BigUint64Array, userKeys: BigUint64Array, expiresAt: Float64Array];

/** What the native core needs to show memories. */
export function showable(memories: Showable): ShownColumns {
  return [
    BigUint64Array.from(memories, (memory) => memory.memoryKey),
    BigUint64Array.from(memories, (memory) => memory.userKey ?? 0n),
    Float64Array.from(memories, (memory) => memory.expiresAt ?? 0),
  ];
}

/** The columns without the memories in `left`. */
export function withoutMemories(shown: ShownColumns, left: ReadonlySet<bigint>): ShownColumns {
  if (left.size === 0) return shown;
  const [keys, users, expiries] = shown;
  const isShown = (at: number) => !left.has(keys[at] ?? 0n);
  return [
    keys.filter((_, at) => isShown(at)),
    users.filter((_, at) => isShown(at)),
    expiries.filter((_, at) => isShown(at)),
  ];
}
