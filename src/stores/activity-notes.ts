// What happened in projects since it was stored last, counted in RAM.

import { type ActivityName, stepOf } from "../domain/activity.ts";
import type { ProjectId } from "../domain/ids.ts";

/** A project, by its id or by its key. */
export type CountedProject = ProjectId | bigint;

/** A count that is not stored yet. */
export interface NotedCount {
  readonly project: CountedProject;
  readonly name: ActivityName;
  /** Begin of the hour. */
  readonly hour: number;
  readonly value: number;
}

/** Maximum number of different counts; about 20 MB. It is reached only if nothing can be stored for long. */
const COUNTS_MAX = 100_000;

/** Counts of this process. */
export class ActivityNotes {
  readonly #counts = new Map<string, NotedCount>();

  /** Adds to a count of the hour of `at`. */
  add(project: CountedProject, name: ActivityName, at: number, by = 1): void {
    const hour = stepOf("hour", at);
    const key = `${project} ${hour} ${name}`;
    const value = (this.#counts.get(key)?.value ?? 0) + by;
    if (value === by && this.#counts.size >= COUNTS_MAX) return;
    this.#counts.set(key, { project, name, hour, value });
  }

  /** What is not stored yet. */
  all(): readonly NotedCount[] {
    return [...this.#counts.values()];
  }

  /** Forgets what was stored. */
  remove(stored: readonly NotedCount[]): void {
    for (const { project, name, hour, value } of stored) {
      const key = `${project} ${hour} ${name}`;
      const left = (this.#counts.get(key)?.value ?? 0) - value;
      if (left > 0) this.#counts.set(key, { project, name, hour, value: left });
      else this.#counts.delete(key);
    }
  }
}
