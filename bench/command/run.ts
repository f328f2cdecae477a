// What every benchmark gets: a server, the same models without a server ("bare"), passages and questions; and the
// measurements that several benchmarks share.

import type { ModeName } from "../../src/domain/ranking.ts";
import { MODES } from "../../src/retrieval/modes.ts";
import type { BareModels } from "../lib/bare-models.ts";
import { generatedPassage } from "../lib/generated-corpus.ts";
import { percentile } from "../lib/metrics.ts";
import type { Question, Workload } from "../lib/passages.ts";
import type { Target } from "../lib/target.ts";
import { type Cell, type Column, figure, figureColumn } from "./result.ts";
import type { BenchServer } from "./server.ts";

/** Shows the progress of a step. @param share 0..1 */
export type ShowProgress = (label: string, share: number, note: string) => void;

/** The parts of a run. */
export interface Run {
  readonly server: BenchServer;
  /** Stops the server and starts it again on the same data. */
  readonly restart: () => Promise<BenchServer>;
  readonly dataDir: string;
  readonly target: Target;
  readonly bare: BareModels;
  readonly workload: Workload;
  readonly modes: readonly ModeName[];
  readonly seed: number;
  /** Duration of one measurement under load, in seconds. */
  readonly seconds: number;
  readonly progress: ShowProgress;
}

/** p50, p95 and p99 of times, in milliseconds. */
export interface Percentiles {
  readonly p50: Cell;
  readonly p95: Cell;
  readonly p99: Cell;
}

/** The percentiles of times; null if there are none. */
export function percentiles(times: readonly number[]): Percentiles {
  return {
    p50: figure(percentile(0.5, times)),
    p95: figure(percentile(0.95, times)),
    p99: figure(percentile(0.99, times)),
  };
}

/** Columns of p50, p95 and p99. */
export const PERCENTILE_COLUMNS: readonly Column[] = (["p50", "p95", "p99"] as const).map((key) =>
  figureColumn(key, key, "ms", "lower"),
);
/** Columns of the p50 of the models alone, and of the ratio to it. */
export const LIMIT_COLUMNS: readonly Column[] = [
  figureColumn("limit_p50", "limit p50", "ms", null),
  figureColumn("ratio_p50", "p50 / limit", "", null),
];

/** Number of questions before a measurement, so that caches are filled and frequently used code is compiled. */
const WARM_UP = 10;
/** Number of questions whose reranked passages are collected, to measure the reranker without a server. */
const RERANK_SAMPLE = 40;
/** Maximum number of passages that a mode reranks, and so the number of results that shows all of them. */
const RERANKED_MAX = 30;
/** Passages per request of ingestion in the background, and requests that may be unfinished: a few seconds of work. */
const BACKGROUND_BATCH = 20;
const BACKGROUND_BATCHES = 4;
const BACKGROUND_POLL_MS = 25;
/** Chunks per call to the embedder without a server, and calls at the same time: what ingestion sends. */
const CHUNKS_PER_CALL = 64;
const CALLS_AT_ONCE = 8;

/** A question with the passages that the server's reranker read for it. */
export interface BareQuestion {
  readonly text: string;
  readonly passages: readonly string[];
}

/**
 * Warms a mode up, and collects what its reranker read for the first questions. If the mode has none: all questions,
 * without passages.
 */
export async function bareQuestions({ target, workload }: Run, mode: ModeName): Promise<readonly BareQuestion[]> {
  const { questions } = workload;
  for (const question of questions.slice(0, WARM_UP)) await target.ask(question, { mode });
  if (MODES[mode].rerankDepth === 0) return questions.map(({ text }) => ({ text, passages: [] }));
  const collected: BareQuestion[] = [];
  for (const question of questions.slice(0, RERANK_SAMPLE)) {
    const { hits } = await target.ask(question, { mode, limit: RERANKED_MAX });
    const read = hits.filter(({ isReranked }) => isReranked);
    const passages = read.map(({ title, content }) => (title === null ? content : `${title}. ${content}`));
    collected.push({ text: question.text, passages });
  }
  return collected;
}

/** The times of the models alone for one question, in milliseconds. */
export async function askBare(bare: BareModels, mode: ModeName, { text, passages }: BareQuestion) {
  const startedAt = performance.now();
  await bare.embedQuestion(text);
  const embedMs = performance.now() - startedAt;
  if (passages.length > 0) {
    const { rerankFullTokensMax: fullTokensMax } = MODES[mode];
    const priorScores = passages.map((_, at) => -at); // the best passages first, as in a search
    await bare.rerank(text, passages, Number.isFinite(fullTokensMax) ? { priorScores, fullTokensMax } : undefined);
  }
  const ms = performance.now() - startedAt;
  return { ms, embedMs, rerankMs: ms - embedMs };
}

/** Ingestion of generated passages while something else is measured. */
export class BackgroundIngest {
  readonly #run: Run;
  readonly #finished: Promise<unknown>;
  #isStopping = false;
  #chunks = 0;
  #endedAt = 0;
  readonly #startedAt = performance.now();
  /** Number of the next passage; passages of all background ingestions of a run are different. */
  static #next = 0;

  constructor(run: Run) {
    this.#run = run;
    this.#finished = this.#ingest().then(
      () => null,
      (error: unknown) => error, // thrown by `stop`, which may be called much later
    );
  }

  /**
   * Stops sending and waits until everything is searchable; returns the chunks per second.
   * @throws Error if ingestion failed
   */
  async stop(): Promise<number> {
    this.#isStopping = true;
    const failure = await this.#finished;
    if (failure !== null) throw failure;
    return (this.#chunks / (this.#endedAt - this.#startedAt)) * 1000;
  }

  async #ingest(): Promise<void> {
    const { target, seed } = this.#run;
    const unfinished: (readonly string[])[] = [];
    const finishOne = async () => {
      for (const id of unfinished.shift() ?? []) this.#chunks += await target.untilSearchable(id, BACKGROUND_POLL_MS);
    };
    while (!this.#isStopping) {
      const first = BackgroundIngest.#next;
      BackgroundIngest.#next += BACKGROUND_BATCH;
      const passages = Array.from({ length: BACKGROUND_BATCH }, (_, at) => {
        const passage = generatedPassage(seed + 1, first + at);
        return { ...passage, id: `background-${passage.id}` };
      });
      unfinished.push(await target.store(passages));
      if (unfinished.length >= BACKGROUND_BATCHES) await finishOne();
    }
    while (unfinished.length > 0) await finishOne();
    this.#endedAt = performance.now();
  }
}

/**
 * Embeds chunks without a server, as ingestion does; returns chunks per second.
 * @param mayGoOn returns false to stop early
 */
export async function bareIngestRate(
  bare: BareModels,
  chunks: readonly string[],
  mayGoOn: () => boolean = () => true,
): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  let done = 0;
  const caller = async () => {
    while (next < chunks.length && mayGoOn()) {
      const slice = chunks.slice(next, next + CHUNKS_PER_CALL);
      next += slice.length;
      await bare.embedChunks(slice);
      done += slice.length;
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, caller));
  return (done / (performance.now() - startedAt)) * 1000;
}

/** The times of reading a memory by its id, in milliseconds: a request with everything but the search. */
export async function readTimes({ target, workload }: Run, count: number): Promise<readonly number[]> {
  const [question] = workload.questions;
  const { hits } = question === undefined ? { hits: [] } : await target.ask(question, { mode: "fast" });
  const times: number[] = [];
  for (let n = 0; n < count + WARM_UP; n++) {
    const { ms, status } = await target.call("GET", `/v1/memories/${hits[0]?.memoryId ?? "none"}`);
    if (n >= WARM_UP && status === 200) times.push(ms);
  }
  return times;
}

/** Share of the questions with known answers for which one of these is among the hits; null if no answer is known. */
export function foundShare(
  asked: readonly { readonly question: Question; readonly found: readonly string[] }[],
): number | null {
  const judged = asked.filter(({ question }) => question.judgements.size > 0);
  const hits = judged.filter(({ question, found }) => found.some((id) => (question.judgements.get(id) ?? 0) > 0));
  return judged.length === 0 ? null : figure(hits.length / judged.length);
}
