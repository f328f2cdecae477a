// Rows of relations as they are shown from one of the two memories.

import type { MemoryId } from "../../domain/ids.ts";
import {
  type Evidence,
  REVERSED,
  type Relation,
  type RelationKind,
  type RelationMaker,
  type RelationState,
} from "../../domain/relation.ts";

/** A relation, the id of the other memory, and whether the memory that shows it is the row's first one. */
export interface ShownRow {
  readonly kind: RelationKind;
  readonly state: RelationState;
  readonly made_by: RelationMaker;
  readonly confidence: bigint | null;
  readonly evidence: string | null;
  readonly created_at: bigint;
  readonly other_id: string;
  readonly is_own: bigint;
}

/** The relation as the memory of the request shows it. */
export function relationOf(row: ShownRow): Relation {
  const kind = row.kind as Exclude<RelationKind, "none">;
  const evidence = row.evidence === null ? null : (JSON.parse(row.evidence) as Evidence);
  const isOwn = row.is_own === 1n;
  return {
    type: isOwn ? kind : REVERSED[kind],
    memoryId: row.other_id as MemoryId,
    state: row.state,
    by: row.made_by,
    confidence: row.confidence === null ? null : Number(row.confidence) / 1_000,
    evidence: evidence === null || isOwn ? evidence : { own: evidence.other, other: evidence.own },
    createdAt: Number(row.created_at),
  };
}
