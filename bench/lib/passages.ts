// What a benchmark stores and asks.

import type { JsonRecord } from "../../src/kit/record.ts";
import type { Judgements } from "./metrics.ts";

/** A memory to store. */
export interface Passage {
  readonly id: string;
  readonly title: string | null;
  readonly content: string;
  readonly userId: string | null;
  readonly metadata: JsonRecord;
  /** Type of the memory, such as `conversation`; null: the server finds one. */
  readonly type: string | null;
}

/** A question to ask. */
export interface Question {
  readonly id: string;
  readonly text: string;
  /** Whose memories are searched; null if all are. */
  readonly userId: string | null;
  /** Time from which the question is asked, ISO 8601; null: now. */
  readonly asOf: string | null;
  /** Ids of the passages that answer it; empty if unknown. */
  readonly judgements: Judgements;
}

/** Passages and questions of a run. */
export interface Workload {
  /** Short name, such as `generated` or the name of a folder. */
  readonly name: string;
  readonly passages: readonly Passage[];
  readonly questions: readonly Question[];
}

/** Number of words of an opening. */
const OPENING_WORDS = 12;

/** The first words of a passage, which serve as a question if there are no others. */
export function openingOf({ content }: Passage): string {
  return content.split(/\s+/).slice(0, OPENING_WORDS).join(" ");
}
