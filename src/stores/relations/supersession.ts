// Consequences of relations of the kind `supersedes`: which memory supersedes a memory or its passages. Relations form
// chains, and the newest memory at the end of a chain counts.

import type { MemoryId, MemoryKey } from "../../domain/ids.ts";
import type { SupersededPassages } from "../../domain/memory.ts";
import type { Supersession } from "../../ports/relation-store.ts";

/** A relation of the kind `supersedes` that has an effect. */
export interface SupersedingRow {
  /** The newer memory, its id, and the time when it happened or was stored. */
  readonly memory_key: bigint;
  readonly newer_id: string;
  readonly happened_at: bigint;
  readonly other_key: bigint;
  /** Ordinals; null if a person made the relation, which concerns all passages. */
  readonly own_passage: bigint | null;
  readonly other_passage: bigint | null;
}

/** A memory, and the number of its passages. */
export interface SupersededMemory {
  readonly key: bigint;
  readonly passages: number;
}

const NONE: Supersession = { supersededBy: null, supersededPassages: null };

/** Follows chains among the rows that were read. */
export class Chains {
  readonly #byOlder: ReadonlyMap<bigint, readonly SupersedingRow[]>;

  /** @param rows all rows about the memories that are asked for, and about those that supersede them */
  constructor(rows: readonly SupersedingRow[]) {
    const newestFirst = rows.toSorted(
      (left, right) => Number(right.happened_at - left.happened_at) || (left.memory_key < right.memory_key ? 1 : -1),
    );
    this.#byOlder = Map.groupBy(newestFirst, ({ other_key }) => other_key);
  }

  /** What supersedes a memory or its passages. */
  of({ key, passages }: SupersededMemory): Supersession {
    const rows = this.#byOlder.get(key);
    if (rows === undefined) return NONE;
    if (passages <= 1) return { supersededBy: this.#endOf(rows[0], key), supersededPassages: null };
    const ends: Record<string, MemoryId> = {};
    for (const row of rows) {
      const passage = row.other_passage === null ? "all" : String(row.other_passage);
      const end = passage in ends ? null : this.#endOf(row, key);
      if (end !== null) ends[passage] = end;
    }
    return { supersededBy: null, supersededPassages: ends satisfies SupersededPassages };
  }

  /** Whether a chain leads from a memory to another one that supersedes it. */
  leadsFrom(key: bigint, to: bigint): boolean {
    const seen = new Set([key]);
    for (const each of seen) {
      for (const { memory_key } of this.#byOlder.get(each) ?? []) seen.add(memory_key);
    }
    return seen.has(to);
  }

  #endOf(first: SupersedingRow | undefined, from: bigint): MemoryId | null {
    const seen = new Set([from]);
    let end: MemoryId | null = null;
    for (let row = first; row !== undefined && !seen.has(row.memory_key); ) {
      const { memory_key, own_passage, newer_id } = row;
      end = newer_id as MemoryId;
      seen.add(memory_key);
      row = this.#byOlder
        .get(memory_key)
        ?.find(({ other_passage }) => other_passage === null || own_passage === null || other_passage === own_passage);
    }
    return end;
  }
}

/** Keys as a list for a statement. */
export function keysOf(keys: Iterable<bigint>): readonly MemoryKey[] {
  return [...new Set(keys)] as MemoryKey[];
}
