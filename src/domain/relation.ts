// Relations between passages of two memories of the same user and agent: what one says of the other, who found it, and
// which of the two is newer. Relations hide and delete nothing.

import { DAY_MS, isDateOnly } from "../kit/clock.ts";
import type { MemoryId, MemoryKey } from "./ids.ts";
import type { Memory } from "./memory.ts";

/** Maximum number of relations of a memory that are found without a person. */
export const FOUND_RELATIONS_MAX = 20;
/** Maximum number of relations that one response lists. */
export const SHOWN_RELATIONS_MAX = 100;
/** Maximum length of a text of evidence, in code points. */
export const EVIDENCE_CHARACTERS_MAX = 400;

/** What a passage says of another one. `none`: a person says that there is no relation, and none is found again. */
export const RELATION_KINDS = ["supersedes", "refines", "duplicates", "none"] as const;
/** One of `RELATION_KINDS`. */
export type RelationKind = (typeof RELATION_KINDS)[number];
/** A kind that can be found without a person. */
export type FoundKind = Exclude<RelationKind, "none">;

/** A kind as seen from one of the two memories. */
export const RELATION_TYPES = ["supersedes", "superseded_by", "refines", "refined_by", "duplicates"] as const;
/** One of `RELATION_TYPES`. */
export type RelationType = (typeof RELATION_TYPES)[number];

/** `suggested` has no effect until a person sets it. */
export type RelationState = "active" | "suggested";
/** Who made a relation. */
export type RelationMaker = "rule" | "model" | "llm" | "person";

/** A text within the content of a memory; `start` and `end` in code points. */
export interface EvidenceSpan {
  readonly start: number;
  readonly end: number;
  /** At most `EVIDENCE_CHARACTERS_MAX` code points. */
  readonly text: string;
}

/** The texts that show a relation. */
export interface Evidence {
  readonly own: EvidenceSpan;
  readonly other: EvidenceSpan;
}

/** A relation as seen from one of the two memories. */
export interface Relation {
  readonly type: RelationType;
  /** The other memory. */
  readonly memoryId: MemoryId;
  readonly state: RelationState;
  readonly by: RelationMaker;
  /** 0..1; null if a person set it. */
  readonly confidence: number | null;
  /** null if a person set it. */
  readonly evidence: Evidence | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A relation that a job found, as seen from `key`. For `supersedes` and `refines`, `key` is the newer memory. */
export interface FoundRelation {
  readonly kind: FoundKind;
  readonly key: MemoryKey;
  readonly otherKey: MemoryKey;
  /** Versions of the two memories that were compared. */
  readonly versions: { readonly own: number; readonly other: number };
  /** Ordinals of the two passages in their memories. */
  readonly ownPassage: number;
  readonly otherPassage: number;
  readonly by: Exclude<RelationMaker, "person">;
  /** 0..1. */
  readonly confidence: number;
  readonly evidence: Evidence;
}

/** The same relation as the other memory sees it. */
export const REVERSED = {
  supersedes: "superseded_by",
  superseded_by: "supersedes",
  refines: "refined_by",
  refined_by: "refines",
  duplicates: "duplicates",
} as const satisfies Readonly<Record<RelationType, RelationType>>;

/** What decides which of two memories is newer. */
export type Dated = Pick<Memory, "key" | "occurredAt" | "occurredAtGiven" | "createdAt">;

/**
 * Whether a memory is newer than another one: by the time when it happened, otherwise when it was stored, to the
 * millisecond. A date without a time covers its day. If that decides nothing, the memory that was accepted later is
 * newer.
 */
export function isNewer(memory: Dated, than: Dated): boolean {
  const [own, other] = [spanOf(memory), spanOf(than)];
  if (own.from > other.to) return true;
  return own.to >= other.from && memory.key > than.key;
}

function spanOf({ occurredAt, occurredAtGiven, createdAt }: Dated): { readonly from: number; readonly to: number } {
  const from = occurredAt ?? createdAt;
  // `occurredAtGiven` is null for memories stored before it was kept; midnight counts as a date then
  const isDay = occurredAt !== null && (occurredAtGiven === null ? from % DAY_MS === 0 : isDateOnly(occurredAtGiven));
  return { from, to: isDay ? from + DAY_MS - 1 : from };
}
