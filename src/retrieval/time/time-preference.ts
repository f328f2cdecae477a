// The soft preference for passages of the time that a query names: a passage gains a bounded amount of score. No
// passage is left out. Pure functions.

import type { Memory } from "../../domain/memory.ts";
import { DAY_MS } from "../../kit/clock.ts";
import { type ClosedSpan, dayOf, dayStart, type TimeSpan } from "./calendar.ts";
import { datesIn } from "./dates-in.ts";
import type { QueryTime } from "./resolve-time.ts";
import { wordsIn } from "./words.ts";

/** The dates and text of a passage, from which the preference takes its days. */
export interface DatedPassage {
  readonly memory: Pick<Memory, "createdAt" | "occurredAt">;
  readonly text: string;
  /** Day of a conversation's turn, such as `8 May 2023`; null if it is no turn, or its day is unknown. */
  readonly turnDay: string | null;
}

/** The preference fades outside of the span over a time as long as the span, but within these limits, in days. */
const FADE_DAYS_MIN = 3;
const FADE_DAYS_MAX = 365;
/** Time over which it fades outside of a span with an open end, in days. */
const OPEN_FADE_DAYS = 90;

/**
 * How well the day of a passage fits a span of time, 0..1: 1 inside. Outside it falls by a factor e over the length of
 * the span, but over at least three days and at most a year.
 */
export function timeScore(span: TimeSpan, days: readonly ClosedSpan[]): number {
  return days.reduce((best, day) => Math.max(best, Math.exp(-distanceMs(span, day) / fadeMs(span))), 0);
}

function distanceMs({ from, to }: TimeSpan, day: ClosedSpan): number {
  if (from !== null && day.to <= from) return from - day.to + 1;
  return to !== null && day.from >= to ? day.from - to + 1 : 0;
}

function fadeMs({ from, to }: TimeSpan): number {
  if (from === null || to === null) return OPEN_FADE_DAYS * DAY_MS;
  return Math.min(Math.max(to - from, FADE_DAYS_MIN * DAY_MS), FADE_DAYS_MAX * DAY_MS);
}

/**
 * The days of a passage: the day of a conversation's turn, else the dates in the text and `occurred_at`, else
 * `created_at`.
 * @param readsText whether dates in the text count. They do not if the query names no more than a year, because full
 *   text finds the year in the text.
 */
export function daysOfPassage({ memory, text, turnDay }: DatedPassage, readsText: boolean): ClosedSpan[] {
  const turn = turnDay === null ? Number.NaN : Date.parse(`${turnDay} UTC`);
  // A turn without a day of its own has the day on which the memory was stored. `occurred_at` may have been set later.
  const isStoredDay = dayStart(turn) === dayStart(memory.createdAt) && memory.occurredAt !== null;
  if (!Number.isNaN(turn) && !isStoredDay) return [dayOf(turn)];
  const known = memory.occurredAt ?? memory.createdAt;
  const named = readsText ? datesIn(text, known) : [];
  if (memory.occurredAt !== null) return [...named, dayOf(memory.occurredAt)];
  return named.length > 0 ? named : [dayOf(memory.createdAt)];
}

/** When a memory happened: `occurred_at`, else `created_at`. Unix milliseconds. */
export function happenedAt({ occurredAt, createdAt }: Pick<Memory, "createdAt" | "occurredAt">): number {
  return occurredAt ?? createdAt;
}

/**
 * The span of time that a query names. The day of an event is the day of the passage that has most words of the
 * event, the better ranked one if several do.
 * @param passages best first
 * @returns null if no passage has a word of the event
 */
export function spanOf(time: QueryTime, passages: readonly DatedPassage[]): TimeSpan | null {
  if (time.kind !== "event") return time.span;
  const words = wordsIn(time.words);
  let best: { readonly count: number; readonly passage: DatedPassage } | null = null;
  for (const passage of passages) {
    const text = wordsIn(passage.text);
    const count = [...words].filter((word) => text.has(word)).length;
    if (count > (best?.count ?? 0)) best = { count, passage };
  }
  if (best === null) return null;
  const [day] = daysOfPassage(best.passage, false);
  if (day === undefined) return null;
  return time.relation === "before" ? { from: null, to: day.from } : { from: day.from, to: null };
}
