// Counts of what happens in a project, per step: an hour or a day (UTC).

import { DAY_MS } from "../kit/clock.ts";
import type { AnswerState } from "./answer-state.ts";
import type { ModeName } from "./ranking.ts";

const HOUR_MS = 60 * 60 * 1000;

/** Duration of the steps, and how long they are kept, in milliseconds. */
export const ACTIVITY_STEPS = {
  hour: { ms: HOUR_MS, keptMs: 14 * DAY_MS },
  day: { ms: DAY_MS, keptMs: 400 * DAY_MS },
} as const;
/** `hour` or `day`. */
export type ActivityStep = keyof typeof ACTIVITY_STEPS;
/** Names of the steps. */
export const ACTIVITY_STEP_NAMES = Object.keys(ACTIVITY_STEPS) as readonly ActivityStep[];

/** What is counted of memories: `stored` counts those that were completed. */
export const MEMORY_COUNTS = ["stored", "deleted", "failed"] as const;
/** One of them. */
export type MemoryCountName = (typeof MEMORY_COUNTS)[number];

/** Name of a count: of memories, of answers by their state, or of the searches of a mode in a class of durations. */
export type ActivityName = MemoryCountName | AnswerState | `ms.${ModeName}.${number}`;
/** Name of a count: the largest number of memories in status `processing` that was seen during the step. */
export const QUEUE = "queue";

/** The counts of a step, by their names; those that are absent are 0. */
export interface ActivityCounts {
  /** Begin of the step, Unix milliseconds. */
  readonly at: number;
  readonly counts: ReadonlyMap<string, number>;
}

/** Begin of the step that contains a time. */
export function stepOf(step: ActivityStep, at: number): number {
  const { ms } = ACTIVITY_STEPS[step];
  return Math.floor(at / ms) * ms;
}

/** Durations are counted in classes whose bounds grow by 10 %, from 0.1 ms to 2 minutes. */
const CLASS_FIRST_MS = 0.1;
const CLASS_GROWTH = 1.1;
const CLASSES = 148;

/** The name of the count of a search. */
export function searchCount(mode: ModeName, ms: number): ActivityName {
  const at = Math.ceil(Math.log(Math.max(ms, CLASS_FIRST_MS) / CLASS_FIRST_MS) / Math.log(CLASS_GROWTH));
  return `ms.${mode}.${Math.min(at, CLASSES - 1)}`;
}

/** The searches of a mode in a step, with the median and the 95th percentile of their durations; null if none. */
export function searchesOf(
  counts: ReadonlyMap<string, number>,
  mode: ModeName,
): { readonly searches: number; readonly p50Ms: number; readonly p95Ms: number } | null {
  const classes = Array.from({ length: CLASSES }, (_, at) => counts.get(`ms.${mode}.${at}`) ?? 0);
  const searches = classes.reduce((sum, count) => sum + count, 0);
  if (searches === 0) return null;
  const percentile = (share: number) => {
    let seen = 0;
    const at = classes.findIndex((count) => {
      seen += count;
      return seen >= share * searches;
    });
    // the middle of the class
    return Math.round(CLASS_FIRST_MS * CLASS_GROWTH ** (at - 0.5) * 100) / 100;
  };
  return { searches, p50Ms: percentile(0.5), p95Ms: percentile(0.95) };
}
