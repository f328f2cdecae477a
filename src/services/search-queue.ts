// The queue of searches, and of everything else for which a caller waits for the models: queries, messages,
// completions and embeddings. It lets as much begin as keeps the lanes (the processes that run models) busy; the rest
// waits, up to `patienceMs`. fair-turns.ts says whose turn is next, docs/decisions/077-searches-wait-for-their-turn.md
// why.

import { Fault, invariant } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { ModeName } from "../domain/ranking.ts";
import type { Clock } from "../kit/clock.ts";
import { type Capacity, FairTurns } from "./fair-turns.ts";

/**
 * Kinds of work. `sentences`: a model scores the sentences of an answer. `embedding`: one text, which goes before
 * ingestion, like a search. `embeddings`: several texts, which take turns with ingestion.
 */
export type QueuedTask = ModeName | "sentences" | "embedding" | "embeddings";

/** Work for the models. */
export interface QueuedWork {
  readonly projectId: ProjectId;
  readonly task: QueuedTask;
  /** Estimated number of tokens of `embeddings`. */
  readonly tokens?: number;
  /** Approximate size of the request in RAM, in bytes. Called only if the work has to wait. */
  readonly bytes: () => number;
  /** Aborts when the caller disconnects; the work leaves the queue at once. */
  readonly signal: AbortSignal;
}

/** Number of calls in a queue. */
export interface QueueLoad {
  readonly inProgress: number;
  readonly waiting: number;
}

/** A queue of work for the models. */
export interface SearchQueue {
  /**
   * Calls `begin` when it is the work's turn, and ends the turn when its promise settles.
   * @param begin gets the time in milliseconds for which the work has waited; 0 if it began at once
   * @throws Fault `overloaded` if the turn does not come in time; `unavailable` if the queue is closed; the abort
   *   reason of `signal`; and everything that `begin` throws
   */
  run<Result>(work: QueuedWork, begin: (waitedMs: number) => Promise<Result>): Promise<Result>;
  load(): QueueLoad;
  /** Refuses the work that waits and all that comes later. */
  close(): void;
}

/** Options of a fair queue. */
export interface FairQueueOptions {
  /** Maximum time in milliseconds for which work waits. */
  readonly patienceMs: number;
  /** In units of work, see `UNITS`. It may change at any time. */
  readonly capacity: () => Capacity;
  readonly clock: Clock;
  /** Called when work begins that had to wait. */
  readonly onWaited?: (task: QueuedTask, waitedMs: number) => void;
  /** Called when work is refused as `overloaded`. */
  readonly onRefused?: (task: QueuedTask) => void;
}

/** Maximum number of calls that wait. */
export const WAITING_MAX = 1_024;
/** Maximum size of the calls that wait, in bytes. */
export const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/** Units of work; one is about the time of a search in mode `fast`. Ratios of single searches: docs/benchmarks.md. */
export const UNITS: Readonly<Record<Exclude<QueuedTask, "embeddings">, number>> = {
  fast: 1,
  hybrid: 1.5,
  balanced: 5,
  precise: 9,
  sentences: 4,
  embedding: 1,
};

/**
 * Tokens of `embeddings` in progress from which on others wait: a few seconds of work for two cores. Less than the
 * lanes accept of ingest work, so that ingestion always has room beside it.
 */
const EMBEDDINGS_TOKENS: Capacity = { alone: 65_536, shared: 16_384 };

const RETRY_SECONDS_MAX = 30;

/** Work that waits or is in progress. */
interface Entry {
  readonly projectId: ProjectId;
  readonly task: QueuedTask;
  readonly cost: number;
  /** Size of the request, in bytes; 0 if it did not have to wait. */
  bytes: number;
  /** Time in milliseconds at which its patience ends; 0 if it did not have to wait. */
  patientUntil: number;
  /** Settles when the work may begin or is refused. */
  readonly turn: PromiseWithResolvers<void>;
}

/** Lets the work of all projects begin in fair turns. */
export class FairQueue implements SearchQueue {
  readonly #options: FairQueueOptions;
  readonly #searches: FairTurns<Entry>;
  readonly #embeddings = new FairTurns<Entry>(() => EMBEDDINGS_TOKENS);
  /** In the order of their arrival. */
  readonly #waiting = new Set<Entry>();
  #waitingBytes = 0;
  /** How long the work that began last had waited, in milliseconds. */
  #lastWaitMs = 0;
  readonly #closing = new AbortController();
  /** Whether `#refuseLate` runs. */
  #isTiming = false;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#searches = new FairTurns(options.capacity);
  }

  load(): QueueLoad {
    return { inProgress: this.#searches.inProgress + this.#embeddings.inProgress, waiting: this.#waiting.size };
  }

  async run<Result>(work: QueuedWork, begin: (waitedMs: number) => Promise<Result>): Promise<Result> {
    const { projectId, task, tokens = 0, signal } = work;
    signal.throwIfAborted();
    if (this.#closing.signal.aborted) throw stopping();
    const cost = task === "embeddings" ? tokens : UNITS[task];
    const entry = { projectId, task, cost, bytes: 0, patientUntil: 0, turn: Promise.withResolvers<void>() };
    const turns = this.#turnsOf(entry);
    const waitedMs = turns.tryBegin(entry) ? 0 : await this.#wait(entry, work);
    try {
      signal.throwIfAborted();
      return await begin(waitedMs);
    } finally {
      turns.end(entry);
      this.#beginNext();
    }
  }

  close(): void {
    this.#closing.abort();
    for (const entry of this.#waiting) this.#leave(entry, stopping());
  }

  /** Waits for the turn; returns for how long, in milliseconds. */
  async #wait(entry: Entry, { bytes, signal }: QueuedWork): Promise<number> {
    const { clock, patienceMs, onWaited } = this.#options;
    const since = clock.now();
    entry.bytes = bytes();
    entry.patientUntil = since + patienceMs;
    this.#makeRoomFor(entry);
    this.#waiting.add(entry);
    this.#waitingBytes += entry.bytes;
    // The sentences of an answer belong to a search that has waited already.
    this.#turnsOf(entry).add(entry, entry.task === "sentences");
    const abort = () => this.#leave(entry, signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (!this.#isTiming) void this.#refuseLate();
    try {
      await entry.turn.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    this.#lastWaitMs = clock.now() - since;
    onWaited?.(entry.task, this.#lastWaitMs);
    return this.#lastWaitMs;
  }

  /**
   * Refuses work that has waited for too long, as long as something waits. One timer serves all work, because the set
   * is in the order of arrival.
   */
  async #refuseLate(): Promise<void> {
    const { clock } = this.#options;
    this.#isTiming = true;
    for (;;) {
      const oldest = this.#waiting.values().next().value;
      if (oldest === undefined) break;
      const leftMs = oldest.patientUntil - clock.now();
      if (leftMs > 0) await clock.sleep(leftMs, this.#closing.signal);
      else this.#leave(oldest, this.#refusal(oldest));
    }
    this.#isTiming = false;
  }

  /**
   * Makes room for one more. If there is none, the newest work of the project that has the most waiting is refused.
   * @throws Fault `overloaded` if that is the project of `entry`
   */
  #makeRoomFor(entry: Entry): void {
    while (this.#waiting.size >= WAITING_MAX || this.#waitingBytes + entry.bytes > WAITING_BYTES_MAX) {
      const size = this.#waiting.size >= WAITING_MAX ? () => 1 : ({ bytes }: Entry) => bytes;
      const sizes = new Map([[entry.projectId, size(entry)]]);
      for (const one of this.#waiting) sizes.set(one.projectId, (sizes.get(one.projectId) ?? 0) + size(one));
      const [largest] = [...sizes].reduce((most, one) => (one[1] > most[1] ? one : most));
      if (largest === entry.projectId) throw this.#refusal(entry);
      const newest = [...this.#waiting].findLast(({ projectId }) => projectId === largest);
      invariant(newest, "the project that has the most waiting has something waiting");
      this.#leave(newest, this.#refusal(newest));
    }
  }

  #beginNext(): void {
    for (const turns of [this.#searches, this.#embeddings]) {
      for (let entry = turns.next(); entry !== null; entry = turns.next()) {
        this.#forget(entry);
        entry.turn.resolve();
      }
    }
  }

  /** Takes waiting work out of the queue. Does nothing if it no longer waits. */
  #leave(entry: Entry, reason: unknown): void {
    if (!this.#waiting.has(entry)) return;
    this.#forget(entry);
    this.#turnsOf(entry).remove(entry);
    entry.turn.reject(reason);
  }

  #forget(entry: Entry): void {
    this.#waiting.delete(entry);
    this.#waitingBytes -= entry.bytes;
  }

  #turnsOf({ task }: Entry): FairTurns<Entry> {
    return task === "embeddings" ? this.#embeddings : this.#searches;
  }

  #refusal({ task }: Entry): Fault {
    this.#options.onRefused?.(task);
    return overloaded(this.#lastWaitMs);
  }
}

/** The Fault for a search that is refused. @param waitMs how long the caller should wait, in milliseconds */
export function overloaded(waitMs: number): Fault {
  return new Fault("overloaded", "The server has more searches than it can answer in time. Try again later.", {
    retryAfterSeconds: Math.min(RETRY_SECONDS_MAX, Math.max(1, Math.ceil(waitMs / 1_000))),
  });
}

function stopping(): Fault {
  return new Fault("unavailable", "The server is shutting down. Try again later.", { retryAfterSeconds: 1 });
}
