// The history of a memory: its texts, and what happened to its relations.

import type { Relation } from "./relation.ts";

/** Maximum number of earlier texts that are kept of a memory. The oldest go first. */
export const EARLIER_TEXTS_MAX = 100;

/** Who did something. `id` is that of a key; null for others, and where it is not known. */
export interface Actor {
  readonly kind: "key" | "rule" | "model" | "llm" | "system";
  readonly id: string | null;
}

/** A text that a memory has or had. Times are Unix milliseconds. */
export interface TextEntry {
  readonly kind: "text";
  /** Number among the texts of the memory, from 1. */
  readonly version: number;
  readonly content: string;
  /** When it was accepted. */
  readonly from: number;
  /** When another one replaced it; null: it is the current one. */
  readonly until: number | null;
  readonly by: Actor;
}

/** A relation that was set or removed. */
export interface RelationEntry {
  readonly kind: "relation";
  readonly action: "set" | "removed";
  readonly at: number;
  readonly relation: Relation;
  readonly by: Actor;
}

/** An entry of the history. */
export type HistoryEntry = TextEntry | RelationEntry;
