// What an operator sees of a server: its processes, queues, stores and nodes, and when the last backup was made.

import type { HourCounts, LaneView, NodeState, RecentCounts, Sizes, ThreadState } from "../domain/system.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { QueueLoad } from "./search-queue.ts";

/** Maximum age of the sizes in milliseconds: reading them looks at every file of the data. */
const SIZES_MS = 5_000;

/** What waits and what is in progress. */
export interface QueueState {
  readonly searches: QueueLoad;
  /** Memories in these states, in all projects. */
  readonly processing: number;
  readonly failed: number;
  /** Memories whose relations have not been looked for yet. */
  readonly relations: number;
}

/** What an operator sees. Times are Unix milliseconds. */
export interface SystemState {
  readonly version: string;
  readonly startedAt: number;
  readonly threads: readonly ThreadState[];
  readonly lanes: readonly LaneView[];
  /** What limits the server, in words. */
  readonly warnings: readonly string[];
  readonly queue: QueueState;
  readonly lastMinute: RecentCounts;
  readonly lastHour: HourCounts;
  readonly sizes: Sizes;
  readonly isDiskFull: boolean;
  /** Resident memory of the server itself, and what is left for it, in bytes. */
  readonly memory: { readonly rssBytes: number; readonly freeBytes: number };
  readonly nodes: readonly NodeState[];
  readonly lastBackupAt: number | null;
}

/** What the service reads. */
export interface SystemDependencies {
  readonly version: string;
  readonly threads: () => readonly ThreadState[];
  readonly lanes: () => readonly LaneView[];
  readonly warnings: () => readonly string[];
  readonly searches: () => QueueLoad;
  readonly memories: () => Eventually<{ readonly processing: number; readonly failed: number }>;
  readonly relations: () => Eventually<number>;
  readonly recent: () => RecentCounts;
  readonly hour: () => HourCounts;
  readonly sizes: () => Promise<Sizes>;
  readonly isDiskFull: () => boolean;
  readonly memory: () => Promise<SystemState["memory"]>;
  readonly nodes: () => Promise<readonly NodeState[]>;
  readonly lastBackupAt: () => number | null;
  readonly clock: Clock;
}

/** Reads the state of the server. */
export class SystemService {
  readonly #startedAt: number;
  #sizes: { readonly at: number; readonly read: Promise<Sizes> } | null = null;

  constructor(private readonly uses: SystemDependencies) {
    this.#startedAt = uses.clock.now();
  }

  /** The present state; sizes are at most five seconds old. */
  async read(): Promise<SystemState> {
    const { version, threads, lanes, warnings, searches, recent, hour, isDiskFull, lastBackupAt } = this.uses;
    const [counts, relations, sizes, memory, nodes] = await Promise.all([
      this.uses.memories(),
      this.uses.relations(),
      this.#currentSizes(),
      this.uses.memory(),
      this.uses.nodes(),
    ]);
    return {
      ...{ version, startedAt: this.#startedAt, threads: threads(), lanes: lanes(), warnings: warnings() },
      queue: { searches: searches(), processing: counts.processing, failed: counts.failed, relations },
      ...{
        lastMinute: recent(),
        lastHour: hour(),
        sizes,
        isDiskFull: isDiskFull(),
        memory,
        nodes,
        lastBackupAt: lastBackupAt(),
      },
    };
  }

  #currentSizes(): Promise<Sizes> {
    const now = this.uses.clock.now();
    const known = this.#sizes;
    if (known !== null && now >= known.at && now - known.at < SIZES_MS) return known.read;
    const read = this.uses.sizes();
    this.#sizes = { at: now, read };
    read.catch(() => {
      this.#sizes = null;
    });
    return read;
  }
}
