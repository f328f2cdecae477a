// How a question becomes a ranked list of passages: the order of steps of a mode, timed. What each step computes is
// in rank.ts; which numbers it uses, in modes.ts. `explain` shows this file's own record, not a second path.

import { indexedText, turnText } from "../domain/chunk.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { ModeName, RankedPassage, Ranking, StageRecord } from "../domain/ranking.ts";
import type { Clock } from "../kit/clock.ts";
import type { ChunkIndex, Passage, ProjectIndex } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Embedder, Reranker } from "../ports/models.ts";
import { admissibleSet, type Confinement, isWithin } from "./admissible.ts";
import { isLanguageSupported, isScriptSupported } from "./coverage.ts";
import { type GraphWalk, walkGraph } from "./graph-walk.ts";
import { calibrationCurve, forUnsupportedLanguage, MODES, type Mode, type ScoreParts } from "./modes.ts";
import {
  blendRerank,
  type Candidate,
  calibrate,
  earlyExitFor,
  type GraphScores,
  hitsOutsidePool,
  mergePools,
  NO_GRAPH,
  type Pool,
  rankByHybridScore,
  rerankedCount,
} from "./rank.ts";

/** What a search is about. */
export interface SearchRequest extends Confinement {
  readonly query: string;
  readonly mode: ModeName;
  readonly limit: number;
  /** Results below this calibrated score are left out. */
  readonly scoreMin: number;
  /** Whether the graph takes part whatever the mode. */
  readonly includeGraph: boolean;
  readonly signal?: AbortSignal;
}

/** What retrieval stands on. */
export interface RetrievalParts {
  readonly index: ChunkIndex;
  readonly memories: Pick<MemoryStore, "getMany">;
  readonly embedder: Embedder;
  readonly reranker: Reranker;
  /** The language of a question, BCP 47; `und` when unsure. */
  readonly languageOf: (query: string) => string | Promise<string>;
  readonly clock: Clock;
}

/** Candidates of a leg beyond the limit: some may be deleted or changed while the search goes on. */
const SPARE_CANDIDATES = 10;

/**
 * Runs a search: admissible set first, then every leg within it.
 * @param given other constants than the mode's own: bench/ablation.ts takes parts of a mode away.
 * @throws Fault `overloaded` or `model_unavailable` when no model can answer.
 */
export async function search(
  parts: RetrievalParts,
  request: SearchRequest,
  given: Mode = MODES[request.mode],
): Promise<Ranking> {
  const watch = new Stopwatch();
  const limit = request.limit + SPARE_CANDIDATES;
  const index = await parts.index.project(request.scope.projectId);
  // a filter needs this process, the question another one: neither waits for the other
  const begunFirst = request.filter === null ? null : beginEmbedding(parts, request);

  const within = await admissibleSet({ index, clock: parts.clock }, request);
  watch.lap("filter", within?.memories ?? 0);
  if (within === null || within.memories === 0) return { results: [], stages: watch.stages, admissible: 0 };

  const question = begunFirst ?? beginEmbedding(parts, request);
  void question.begun.then(() => watch.lap("queue", 1));
  const language = await parts.languageOf(request.query);
  const { languages } = parts.embedder;
  const mode = isLanguageSupported(request.query, language, languages)
    ? given
    : forUnsupportedLanguage(given, isScriptSupported(request.query, languages));
  const matching =
    mode.textCandidates > 0 ? heldBack(index.match(request.query, within, Math.max(mode.textCandidates, limit))) : null;
  const vector = (await question.vector)();
  watch.lap("embed", 1);
  const near = await index.nearest(vector, within, Math.max(mode.vectorCandidates, limit));
  let pool: Pool = { chunkKeys: near.chunkKeys, memoryKeys: near.memoryKeys, cosines: near.scores };
  watch.lap("vector", near.chunkKeys.length);

  let words: Float32Array | null = null;
  if (mode.textWeight > 0) {
    if (matching !== null) pool = await withHits(index, vector, pool, (await matching)());
    words = await index.lexical(request.query, pool.chunkKeys);
    watch.lap("text", words.length);
  }
  let fused = rankByHybridScore(pool, words, mode);
  let walk: GraphWalk | null = null;
  if (mode.usesGraph || request.includeGraph) {
    walk = await walkGraph(index, request.query, fused, within, Math.max(mode.graphCandidates, limit));
    const reached = await withHits(index, vector, pool, walk.hits);
    if (walk.certainty > 0) {
      if (words !== null && reached !== pool) {
        const added = await index.lexical(request.query, reached.chunkKeys.subarray(pool.chunkKeys.length));
        words = Float32Array.of(...words, ...added);
      }
      fused = rankByHybridScore(reached, words, mode, walk);
    }
    watch.lap("graph", walk.signals.size);
  }
  watch.lap("fuse", fused.length);
  const fusedRanks = new Map(fused.map((candidate, position) => [candidate.chunkKey, position + 1]));

  let taken = Math.max(mode.rerankDepth, request.limit);
  const wanted = fused.slice(0, taken);
  const found = await hydrate(parts, index, request, wanted);
  watch.lap("hydrate", found.size);

  let ranked: readonly Candidate[] = wanted.filter((candidate) => found.has(candidate.chunkKey));
  if (mode.rerankDepth > 0) {
    const begun = () => watch.lap("queue", 1);
    const texts = textsToRerank(request, mode, ranked, found);
    ranked = await rerank(parts.reranker, request, mode, ranked, texts, walk ?? NO_GRAPH, begun);
    watch.lap("rerank", texts.length);
  }

  let shownNow = readAgain(parts, request, ranked, found);
  // what was deleted or changed since the legs ran leaves its place to what comes behind
  while (shownNow.size < request.limit && taken < fused.length) {
    const next = fused.slice(taken, taken + request.limit);
    taken += next.length;
    for (const [key, hydrated] of await hydrate(parts, index, request, next)) found.set(key, hydrated);
    ranked = [...ranked, ...next];
    shownNow = readAgain(parts, request, ranked, found);
  }
  // no await from the last reading to the result: what a caller changed before this turn is not shown as it was
  const summed: ScoreParts = {
    text: words !== null,
    graph: walk !== null && walk.certainty > 0,
    rerank: ranked.some(({ signals }) => signals.rerank !== undefined),
  };
  ranked = ranked.filter((candidate) => shownNow.has(candidate.chunkKey));
  const scores = calibrate(ranked, calibrationCurve(summed));
  const isShown = (memoryKey: MemoryKey) => {
    const memory = parts.memories.getMany(request.scope.projectId, [memoryKey]).get(memoryKey);
    return memory !== undefined && isWithin(request, memory);
  };
  const results: RankedPassage[] = [];
  for (const [position, candidate] of ranked.entries()) {
    const score = scores[position] ?? 0;
    if (results.length === request.limit || score < request.scoreMin) break;
    const shown = shownNow.get(candidate.chunkKey);
    invariant(shown, "a ranked passage has its text");
    results.push({
      chunkKey: candidate.chunkKey,
      signals: shownSignals(candidate, walk, isShown),
      memory: shown.memory,
      text: shown.passage.text,
      place: shown.passage.place,
      score,
      fusedRank: fusedRanks.get(candidate.chunkKey) ?? 0,
    });
  }
  return { results, stages: watch.stages, admissible: within.memories };
}

interface BegunEmbedding {
  /** Resolves when a lane begins. */
  readonly begun: Promise<void>;
  readonly vector: Promise<() => Float32Array>;
}

function beginEmbedding({ embedder }: RetrievalParts, { query, signal }: SearchRequest): BegunEmbedding {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  return { begun, vector: heldBack(embedder.embed([query], "query", signal, resolve)) };
}

// Work that is begun before its result is wanted: it runs beside what other processes do. Its error is thrown where the result is
// taken, which it is not where something else ended the search.
function heldBack<Result>(work: Promise<Result>): Promise<() => Result> {
  return work.then(
    (result) => () => result,
    (error: unknown) => () => {
      throw error;
    },
  );
}

// The pool with what another leg found by itself, each with its cosine: all legs then mean the same. The same pool where that is
// nothing new.
async function withHits(
  index: ProjectIndex,
  vector: Float32Array,
  pool: Pool,
  hits: Pick<Pool, "chunkKeys" | "memoryKeys">,
): Promise<Pool> {
  const added = hitsOutsidePool(pool, hits);
  if (added.chunkKeys.length === 0) return pool;
  return mergePools(pool, { ...added, cosines: await index.similarities(vector, added) });
}

function shownSignals(
  { signals: { graph, ...others } }: Candidate,
  walk: GraphWalk | null,
  isShown: (memoryKey: MemoryKey) => boolean,
): RankedPassage["signals"] {
  if (graph === undefined || walk === null) return others;
  return { ...others, graph: { ...graph, path: walk.path(graph, isShown) } };
}

interface Hydrated {
  readonly memory: Memory;
  readonly passage: Passage;
}

// The row comes before its passage: where it still has this version at the end, the text is that version's.
async function hydrate(
  parts: RetrievalParts,
  index: ProjectIndex,
  request: SearchRequest,
  candidates: readonly Candidate[],
): Promise<Map<bigint, Hydrated>> {
  const rows = rowsOf(parts, request, candidates);
  const passages = await index.passages(BigUint64Array.from(candidates, (candidate) => candidate.chunkKey));
  const found = new Map<bigint, Hydrated>();
  for (const [position, candidate] of candidates.entries()) {
    const passage = passages[position];
    const memory = rows.get(candidate.memoryKey);
    if (passage && memory && isWithin(request, memory)) found.set(candidate.chunkKey, { memory, passage });
  }
  return found;
}

// The row has the last word too: what was deleted, rewritten, or moved out of scope or filter since it was read is left
// out, and the rest has its attributes of now.
function readAgain(
  parts: RetrievalParts,
  request: SearchRequest,
  candidates: readonly Candidate[],
  found: ReadonlyMap<bigint, Hydrated>,
): ReadonlyMap<bigint, Hydrated> {
  const rows = rowsOf(parts, request, candidates);
  const current = new Map<bigint, Hydrated>();
  for (const { chunkKey, memoryKey } of candidates) {
    const before = found.get(chunkKey);
    const memory = rows.get(memoryKey);
    if (before === undefined || memory === undefined || memory.version !== before.memory.version) continue;
    if (isWithin(request, memory)) current.set(chunkKey, { memory, passage: before.passage });
  }
  return current;
}

function rowsOf(
  { memories }: RetrievalParts,
  { scope }: SearchRequest,
  candidates: readonly Candidate[],
): ReadonlyMap<MemoryKey, Memory> {
  return memories.getMany(scope.projectId, [...new Set(candidates.map(({ memoryKey }) => memoryKey))]);
}

async function rerank(
  reranker: Reranker,
  request: SearchRequest,
  mode: Mode,
  candidates: readonly Candidate[],
  texts: readonly string[],
  graph: GraphScores,
  onBegin: () => void,
): Promise<readonly Candidate[]> {
  if (texts.length === 0) return candidates;
  const deadline = AbortSignal.timeout(mode.rerankDeadlineMs);
  const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
  try {
    const earlyExit = earlyExitFor(candidates.slice(0, texts.length), mode, graph);
    const logits = await reranker.score(request.query, texts, signal, onBegin, earlyExit);
    return blendRerank(candidates, logits, mode, graph);
  } catch (error) {
    // Past the deadline an answer in the first stage's order is worth more than none; `explain` shows no rerank signal.
    if (deadline.aborted && !(error instanceof Fault)) return candidates;
    throw error;
  }
}

// Of the best candidates, as many as the mode has the reranker read.
function textsToRerank(
  { query }: SearchRequest,
  mode: Mode,
  candidates: readonly Candidate[],
  found: ReadonlyMap<bigint, Hydrated>,
): readonly string[] {
  const texts = candidates.slice(0, mode.rerankDepth).map((candidate) => {
    const shown = found.get(candidate.chunkKey);
    invariant(shown, "a candidate for reranking has its text");
    return rerankedText(shown);
  });
  return texts.slice(0, rerankedCount(query, texts, mode.rerankTokensMax));
}

// The reranker reads 128 tokens, the question's among them, which is half of a chunk at most. A chunk among several is read without its
// title and headings, so that more of itself is: what they say counts in the first stage. Measured by bench/long-documents.ts.
function rerankedText({ memory, passage: { place, text } }: Hydrated): string {
  if (place.turn !== undefined) return turnText(place.turn, text);
  const isWhole = memory.state.status === "completed" && memory.state.chunkCount === 1;
  return isWhole ? indexedText(memory.title, place.headings, text) : text;
}

/** Measures stages one after the other; one that comes twice, as both models have a queue, is shown once with its sum. */
class Stopwatch {
  readonly #stages = new Map<StageRecord["name"], { ms: number; candidates: number }>();
  #last = performance.now();

  lap(name: StageRecord["name"], candidates: number): void {
    const now = performance.now();
    const ms = (this.#stages.get(name)?.ms ?? 0) + now - this.#last;
    this.#stages.set(name, { ms, candidates });
    this.#last = now;
  }

  get stages(): StageRecord[] {
    return [...this.#stages].map(([name, { ms, candidates }]) => ({
      name,
      ms: Math.round(ms * 1000) / 1000,
      candidates,
    }));
  }
}
