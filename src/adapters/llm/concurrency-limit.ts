// Limits the language model calls that one project runs at the same time. Queries have priority because a user waits
// for them. Ingestion gets at most half of the slots. If it waits and has none, it gets the next free one, so that it
// makes progress, too.

import type { ProjectId } from "../../domain/ids.ts";
import type { Metrics } from "../../metrics.ts";
import { type LanguageModel, LlmError, type LlmPurpose } from "../../ports/language-model.ts";
import { languageModelFromStream } from "./from-stream.ts";

/** Maximum number of calls of one project and purpose that wait for a slot. */
export const WAITING_MAX = 64;
/**
 * Maximum time that a query waits for a slot, in milliseconds. Ingestion waits without a limit: its own queue limits
 * its calls, and one of them can always run, so each gets a slot in the end.
 */
const QUERY_WAIT_MS = 30_000;

const PURPOSES: readonly LlmPurpose[] = ["query", "ingestion"];

/** Limits per project. */
export interface LlmLimits {
  /** Maximum number of concurrent calls of one project, at least 2. */
  readonly concurrency: number;
  readonly metrics: Metrics;
  /** Maximum time that a query waits for a slot, in milliseconds. Default 30,000. */
  readonly queryWaitMs?: number;
}

/**
 * Wraps `model` so that each project's concurrent calls are limited.
 * @throws Error if `metrics` has these series already
 */
export function limitConcurrency(
  model: LanguageModel,
  { concurrency, metrics, queryWaitMs = QUERY_WAIT_MS }: LlmLimits,
): LanguageModel {
  const projects = new Map<ProjectId, CallSlots>();
  const sum = (count: (slots: CallSlots, purpose: LlmPurpose) => number) => () =>
    PURPOSES.map((purpose) => ({
      labels: [purpose],
      value: projects.values().reduce((total, slots) => total + count(slots, purpose), 0),
    }));
  metrics.gauge(
    "mneme_llm_running",
    "Language model calls in progress.",
    ["purpose"],
    sum((slots, purpose) => slots.running[purpose]),
  );
  metrics.gauge(
    "mneme_llm_waiting",
    "Language model calls that wait for other calls of their project.",
    ["purpose"],
    sum((slots, purpose) => slots.waiting(purpose)),
  );
  const rejected = metrics.counter(
    "mneme_llm_turned_away_total",
    "Language model calls rejected because too many calls ran and waited.",
    ["purpose"],
  );
  return languageModelFromStream(async function* (request, signal) {
    const { projectId, purpose } = request;
    const slots = projects.get(projectId) ?? new CallSlots(concurrency, queryWaitMs);
    projects.set(projectId, slots);
    try {
      await slots.acquire(purpose, signal);
    } catch (error) {
      if (error instanceof LlmError && error.reason === "overloaded") rejected(purpose).add();
      if (slots.isIdle) projects.delete(projectId);
      throw error;
    }
    try {
      yield* model.stream(request, signal);
    } finally {
      slots.release(purpose);
      if (slots.isIdle) projects.delete(projectId);
    }
  });
}

interface Waiting {
  readonly admit: () => void;
}

/** The call slots of one project. */
class CallSlots {
  readonly running: Record<LlmPurpose, number> = { query: 0, ingestion: 0 };
  readonly #queues: Readonly<Record<LlmPurpose, Set<Waiting>>> = { query: new Set(), ingestion: new Set() };

  constructor(
    private readonly concurrency: number,
    private readonly queryWaitMs: number,
  ) {}

  get isIdle(): boolean {
    return PURPOSES.every((purpose) => this.running[purpose] + this.waiting(purpose) === 0);
  }

  waiting(purpose: LlmPurpose): number {
    return this.#queues[purpose].size;
  }

  /**
   * Resolves when the caller has a slot. The caller gives the slot back with `release`.
   * @throws LlmError `overloaded` if too many calls wait or the wait takes too long, `stopped` if the call is aborted;
   *   the caller then has no slot
   */
  async acquire(purpose: LlmPurpose, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw stopped();
    const queue = this.#queues[purpose];
    if (queue.size === 0 && this.#hasRoomFor(purpose)) {
      this.running[purpose]++;
      return;
    }
    if (queue.size >= WAITING_MAX) throw overloaded("too many calls of the project are already waiting");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { admit: resolve };
    const leaveQueue = (error: LlmError) => {
      queue.delete(waiting);
      reject(error);
    };
    const stop = () => leaveQueue(stopped());
    const { queryWaitMs } = this;
    const late = () =>
      leaveQueue(overloaded(`other calls of the project occupied all slots for ${queryWaitMs / 1_000} s`));
    const timer = purpose === "query" ? setTimeout(late, queryWaitMs) : undefined;
    signal.addEventListener("abort", stop, { once: true });
    queue.add(waiting);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  release(purpose: LlmPurpose): void {
    this.running[purpose]--;
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const [first] = this.#queues[next];
      if (first === undefined) return;
      this.#queues[next].delete(first);
      this.running[next]++;
      first.admit();
    }
  }

  // Purpose of the call that gets the next slot; null if no call waits or no slot is free for it.
  #next(): LlmPurpose | null {
    const waits = (purpose: LlmPurpose) => this.waiting(purpose) > 0 && this.#hasRoomFor(purpose);
    if (waits("ingestion") && this.running.ingestion === 0) return "ingestion";
    return waits("query") ? "query" : waits("ingestion") ? "ingestion" : null;
  }

  #hasRoomFor(purpose: LlmPurpose): boolean {
    const { query, ingestion } = this.running;
    const isFree = query + ingestion < this.concurrency;
    return isFree && (purpose === "query" || ingestion < Math.floor(this.concurrency / 2));
  }
}

function overloaded(message: string): LlmError {
  return new LlmError("overloaded", message);
}

function stopped(): LlmError {
  return new LlmError("stopped", "the call was stopped");
}
