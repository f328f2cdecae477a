// Logs searches that took long, with what `explain` says of them. The words of a question and the values of a filter
// are left out, because `mneme forget` cannot erase them from a log.

import type { Filter } from "../domain/filter.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { MemoryScope } from "../domain/memory-attributes.ts";
import type { Ranking } from "../domain/ranking.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";

/** Maximum number of lines in a minute, so that an overloaded server does not fill its log. */
const LINES_PER_MINUTE = 30;
const MINUTE_MS = 60_000;

/** What is logged of a requested search (search.ts). */
export interface LoggedSearch extends MemoryScope {
  readonly query: string;
  readonly filter: Filter | null;
  readonly includeGraph: boolean;
  readonly limit: number;
  readonly knownAt?: number;
}

/** Options of the log. */
export interface SlowSearchOptions {
  /** Duration in milliseconds from which on a search is slow, waiting included; Infinity: none is logged. */
  readonly fromMs: number;
  readonly log: Log;
  readonly clock: Clock;
}

/** The log of slow searches. */
export class SlowSearches {
  #minute = { at: 0, lines: 0, skipped: 0 };

  constructor(private readonly options: SlowSearchOptions) {}

  /** Logs a search if it was slow. */
  note(projectId: ProjectId, requested: LoggedSearch, ranking: Ranking, ms: number): void {
    const { fromMs, log } = this.options;
    if (ms < fromMs) return;
    const skipped = this.#skippedBefore();
    if (skipped === null) return;
    const { query, userId, agentId, sessionId, filter, includeGraph, limit, knownAt } = requested;
    log.warn(
      {
        ...{ projectId, mode: ranking.mode, ms: rounded(ms), limit, results: ranking.results.length },
        stages: Object.fromEntries(ranking.stages.map((stage) => [stage.name, rounded(stage.ms)])),
        candidates: Object.fromEntries(ranking.stages.map((stage) => [stage.name, stage.candidates])),
        admissible: ranking.admissible,
        queryCharacters: query.length,
        isFiltered: filter !== null,
        scope: [userId, agentId, sessionId].filter((each) => each !== undefined).length,
        ...(includeGraph && { includeGraph }),
        ...(knownAt !== undefined && { isOfEarlierState: true }),
        ...(skipped > 0 && { skippedLines: skipped }),
      },
      "a search was slow",
    );
  }

  /** Number of lines that were left out since the last one; null if this one is left out, too. */
  #skippedBefore(): number | null {
    const now = this.options.clock.now();
    const minute = this.#minute;
    if (now - minute.at >= MINUTE_MS || now < minute.at) this.#minute = { ...minute, at: now, lines: 0 };
    if (this.#minute.lines >= LINES_PER_MINUTE) {
      this.#minute.skipped += 1;
      return null;
    }
    const { skipped } = this.#minute;
    this.#minute = { ...this.#minute, lines: this.#minute.lines + 1, skipped: 0 };
    return skipped;
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
