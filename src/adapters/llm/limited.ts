// How many calls of language models a project has at once, whose turn it is, and who is turned away. Queries go first, since somebody
// waits for them; ingestion has half of the places at most, and one whenever it waits, so that each goes on beside the other.

import type { ProjectId } from "../../domain/ids.ts";
import type { Metrics } from "../../kit/metrics.ts";
import { type LanguageModel, LlmError, type LlmPurpose } from "../../ports/language-model.ts";
import { languageModelOf } from "./fragments.ts";

/** Calls of a project and purpose that wait for a place at most. */
export const WAITING_MAX = 64;
/**
 * How long a query waits for a place, in milliseconds. A call of ingestion waits for as long as it takes: its own gate keeps those few,
 * and one of them runs at any time, so that its turn comes.
 */
const QUERY_WAIT_MS = 30_000;

const PURPOSES: readonly LlmPurpose[] = ["query", "ingestion"];

/** What a limit goes by. */
export interface LlmLimits {
  /** Calls of one project at once, at least 2. */
  readonly concurrency: number;
  readonly metrics: Metrics;
  /** Defaults to 30,000. */
  readonly queryWaitMs?: number;
}

/** The same model, called by each project so many times at once. @throws Error when `metrics` counts such calls already */
export function limited(
  model: LanguageModel,
  { concurrency, metrics, queryWaitMs = QUERY_WAIT_MS }: LlmLimits,
): LanguageModel {
  const projects = new Map<ProjectId, Places>();
  const sum = (count: (places: Places, purpose: LlmPurpose) => number) => () =>
    PURPOSES.map((purpose) => ({
      labels: [purpose],
      value: projects.values().reduce((total, places) => total + count(places, purpose), 0),
    }));
  metrics.gauge(
    "mneme_llm_running",
    "Calls of language models under way.",
    ["purpose"],
    sum((places, purpose) => places.running[purpose]),
  );
  metrics.gauge(
    "mneme_llm_waiting",
    "Calls of language models that wait for others of their project.",
    ["purpose"],
    sum((places, purpose) => places.waiting(purpose)),
  );
  const turnedAway = metrics.counter(
    "mneme_llm_turned_away_total",
    "Calls of language models that were not made, because too many ran and waited.",
    ["purpose"],
  );

  return languageModelOf(async function* (request, signal) {
    const { projectId, purpose } = request;
    const places = projects.get(projectId) ?? new Places(concurrency, queryWaitMs);
    projects.set(projectId, places);
    try {
      await places.enter(purpose, signal);
    } catch (error) {
      if (error instanceof LlmError && error.reason === "overloaded") turnedAway(purpose).add();
      if (places.isIdle) projects.delete(projectId);
      throw error;
    }
    try {
      yield* model.stream(request, signal);
    } finally {
      places.leave(purpose);
      if (places.isIdle) projects.delete(projectId);
    }
  });
}

interface Waiting {
  readonly admit: () => void;
}

/** The places of one project. */
class Places {
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
   * Resolves when the caller has a place, which it gives back by `leave`.
   * @throws LlmError `overloaded`, `stopped`: there is no place to give back
   */
  async enter(purpose: LlmPurpose, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw stopped();
    const queue = this.#queues[purpose];
    if (queue.size === 0 && this.#hasRoomFor(purpose)) {
      this.running[purpose]++;
      return;
    }
    if (queue.size >= WAITING_MAX) throw overloaded("too many calls of the project wait already");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { admit: resolve };
    const leaveQueue = (error: LlmError) => {
      queue.delete(waiting);
      reject(error);
    };
    const stop = () => leaveQueue(stopped());
    const { queryWaitMs } = this;
    const late = () =>
      leaveQueue(overloaded(`the project's other calls left no place within ${queryWaitMs / 1_000} s`));
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

  leave(purpose: LlmPurpose): void {
    this.running[purpose]--;
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const [first] = this.#queues[next];
      if (first === undefined) return;
      this.#queues[next].delete(first);
      this.running[next]++;
      first.admit();
    }
  }

  // Who has the next free place; null: nobody who waits.
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
