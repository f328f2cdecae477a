// Counts of activity in RAM: those that are not stored yet, and those of the last minute and hour.

import { type ActivityName, stepOf } from "../domain/activity.ts";
import { ANSWER_STATES } from "../domain/answer-state.ts";
import type { ProjectId } from "../domain/ids.ts";
import { HOUR_MINUTES, type HourCounts, type RecentCounts } from "../domain/system.ts";

/** A project, by its id or by its key. */
export type CountedProject = ProjectId | bigint;

/** A count that is not stored yet. */
export interface NotedCount {
  readonly project: CountedProject;
  readonly name: ActivityName;
  /** Start of the hour, in Unix milliseconds. */
  readonly hour: number;
  readonly value: number;
}

/** Time that `recent` covers, in seconds. */
const RECENT_SECONDS = 60;

/**
 * Maximum number of different counts, which take about 20 MB; further ones are not stored. It is reached only if
 * nothing can be stored for a long time.
 */
const COUNTS_MAX = 100_000;

/** Counts activity in this process until it is stored. */
export class ActivityNotes {
  readonly #counts = new Map<string, NotedCount>();
  /** Counts of the last seconds, by second and kind. */
  readonly #seconds = new Map<number, Map<keyof RecentCounts, number>>();
  /** Counts of the last minutes, by minute and kind. */
  readonly #minutes = new Map<number, Map<keyof RecentCounts, number>>();

  /** Adds to a count of the hour of `at`. */
  add(project: CountedProject, name: ActivityName, at: number, by = 1): void {
    this.#addRecent(name, at, by);
    const hour = stepOf("hour", at);
    const key = `${project} ${hour} ${name}`;
    const value = (this.#counts.get(key)?.value ?? 0) + by;
    if (value === by && this.#counts.size >= COUNTS_MAX) return;
    this.#counts.set(key, { project, name, hour, value });
  }

  /** Counts of all projects for the minute before `now` (Unix milliseconds). */
  recent(now: number): RecentCounts {
    const sums = { stored: 0, failed: 0, searches: 0, answers: 0 };
    for (const [second, counts] of this.#seconds) {
      if (second * 1000 <= now - RECENT_SECONDS * 1000) continue;
      for (const [kind, count] of counts) sums[kind] += count;
    }
    return sums;
  }

  /** Counts of all projects for the minutes until that of `now` (Unix milliseconds). */
  hour(now: number): HourCounts {
    const last = Math.floor(now / 60_000);
    const countsOf = (kind: keyof RecentCounts) =>
      Array.from({ length: HOUR_MINUTES }, (_, at) => this.#minutes.get(last - HOUR_MINUTES + 1 + at)?.get(kind) ?? 0);
    return {
      ...{ stored: countsOf("stored"), failed: countsOf("failed") },
      ...{ searches: countsOf("searches"), answers: countsOf("answers") },
    };
  }

  #addRecent(name: ActivityName, at: number, by: number): void {
    const kind = kindOf(name);
    if (kind === null) return;
    for (const [steps, step, kept] of [
      [this.#seconds, Math.floor(at / 1_000), RECENT_SECONDS],
      [this.#minutes, Math.floor(at / 60_000), HOUR_MINUTES],
    ] as const) {
      const counts = steps.get(step) ?? new Map<keyof RecentCounts, number>();
      counts.set(kind, (counts.get(kind) ?? 0) + by);
      steps.set(step, counts);
      if (steps.size <= kept + 1) continue;
      for (const known of steps.keys()) if (known < step - kept) steps.delete(known);
    }
  }

  /** The counts that are not stored yet. */
  all(): readonly NotedCount[] {
    return [...this.#counts.values()];
  }

  /** Subtracts counts that were stored. */
  remove(stored: readonly NotedCount[]): void {
    for (const { project, name, hour, value } of stored) {
      const key = `${project} ${hour} ${name}`;
      const left = (this.#counts.get(key)?.value ?? 0) - value;
      if (left > 0) this.#counts.set(key, { project, name, hour, value: left });
      else this.#counts.delete(key);
    }
  }
}

function kindOf(name: ActivityName): keyof RecentCounts | null {
  if (name === "stored" || name === "failed") return name;
  if (name.startsWith("ms.")) return "searches";
  return ANSWER_STATES.some((state) => state === name) ? "answers" : null;
}
