// Runs a search: recall candidates, rank them, show the best. This file decides the order of the steps and times them;
// `explain` shows these times. recall.ts finds candidates, rerank.ts reads them, hydration.ts fetches rows and
// passages, rank.ts has the arithmetic and modes.ts the constants.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import { invariant } from "../domain/fault.ts";
import type { NamedTime, RankedPassage, Ranking } from "../domain/ranking.ts";
import { OtherModel, type ProjectIndex } from "../ports/chunk-index.ts";
import type { Embedder } from "../ports/models.ts";
import { admissibleSet } from "./admissible.ts";
import { isLanguageSupported, isScriptSupported, isUnspaced } from "./coverage.ts";
import type { GraphWalk } from "./graph-walk.ts";
import { type Hydrated, hydrate, readRows, stillValid } from "./hydration.ts";
import { calibrationCurve, forUnspacedScript, forUnsupportedLanguage, type Mode, modeFor } from "./modes.ts";
import { hasTurns, preferTurns, TURN_CANDIDATES } from "./prefer-turns.ts";
import { type Candidate, calibrate, NO_GRAPH, preferNeighbours, sortByHybridScore } from "./rank.ts";
import { type Recalled, recall, startEmbedding } from "./recall.ts";
import type { RetrievalParts, Search, SearchRequest } from "./request.ts";
import { rerank } from "./rerank.ts";
import { Stopwatch } from "./stopwatch.ts";
import type { TimeSpan } from "./time/calendar.ts";
import { newestFirst } from "./time/newest-first.ts";
import { preferTime, TIMED_CANDIDATES } from "./time/prefer-time.ts";
import { type QuestionTime, resolveTime } from "./time/resolve-time.ts";

/**
 * Maximum number of attempts of a search. A search begins again if the project's model is swapped meanwhile, which
 * happens at most once in hours.
 */
const ATTEMPTS_MAX = 3;

/** Candidates in their final order, and the number of recalled candidates that were used. */
interface RankedCandidates {
  readonly candidates: readonly Candidate[];
  /** Rows and passages of the candidates, by chunk key. */
  readonly hydrated: ReadonlyMap<bigint, Hydrated>;
  /** Number of recalled candidates that were hydrated. */
  readonly taken: number;
  /** The time that candidates were preferred for; null if the question names none. */
  readonly time: NamedTime | null;
}

/**
 * Runs a search. It does not show memories that were deleted, rewritten or moved out of scope or filter before it
 * began. If a memory changes while the search runs, the result may show the old or the new state.
 * @param changes replace constants of the mode; bench/calibrate.ts switches off parts of a mode with them.
 * @throws Fault `overloaded` or `model_unavailable` if no model can answer
 */
export async function search(
  parts: RetrievalParts,
  request: SearchRequest,
  changes: Partial<Mode> = {},
): Promise<Ranking> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await searchOnce(parts, request, changes);
    } catch (error) {
      if (!(error instanceof OtherModel) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** @throws OtherModel if the model of the project was swapped after the query was embedded */
async function searchOnce(parts: RetrievalParts, request: SearchRequest, changes: Partial<Mode>): Promise<Ranking> {
  const watch = new Stopwatch(request.waitedMs);
  const asOf = request.asOf ?? parts.clock.now();
  using index = await parts.index.current(request.scope.projectId);
  const embedder = await embedderOf(parts, index);
  // A filter takes time, so the query is embedded in another process meanwhile. Without a filter nothing is gained.
  using early = request.filter === null ? null : startEmbedding(embedder, request);
  const within = await admissibleSet({ index, clock: parts.clock }, request);
  watch.lap("filter", within?.memories ?? 0);
  const ranking = (results: readonly RankedPassage[], admissible: number, time: NamedTime | null): Ranking => {
    const evidenceMin = embedder.tuning.evidenceMin[request.mode];
    return { mode: request.mode, results, stages: watch.stages, admissible, asOf, time, evidenceMin };
  };
  if (within === null || within.memories === 0) return ranking([], 0, null);

  using embedding = early ?? startEmbedding(embedder, request);
  void embedding.begun.then(() => watch.lap("queue", 1));
  const reranker = parts.rerankers.for(embedder);
  const language = await parts.languageOf(request.query);
  const mode = modeOf({ embedder, reranker }, request, language, changes);
  const time = resolveTime(request.query, asOf, language);
  const running: Search = { parts, request, mode, index, embedder, reranker, within, watch, language, time };
  const recalled = await recall(running, embedding);
  const ranked = await rank(running, recalled);
  const results = await show(running, recalled, ranked);
  return ranking(results, within.memories, ranked.time);
}

/** The embedder of the project's live vectors. */
export async function embedderOf(
  { embedders }: Pick<RetrievalParts, "embedders">,
  index: ProjectIndex,
): Promise<Embedder> {
  const embedder = embedders.withFingerprint((await index.models()).live.fingerprint);
  invariant(embedder, "a project is open only if its model is installed");
  return embedder;
}

/** The mode for these models, changed for the query's language and script. */
function modeOf(
  { embedder, reranker }: Pick<Search, "embedder" | "reranker">,
  { query, mode: name }: SearchRequest,
  language: string,
  changes: Partial<Mode>,
): Mode {
  const { languages, tuning } = embedder;
  const constants = { ...modeFor(name, tuning), ...changes };
  if (!isLanguageSupported(query, language, languages)) {
    return forUnsupportedLanguage(constants, tuning, isScriptSupported(query, languages));
  }
  const mode = isUnspaced(query) ? forUnspacedScript(constants) : constants;
  const isRerankable = reranker !== null && isLanguageSupported(query, language, reranker.languages);
  return isRerankable ? mode : { ...mode, rerankDepth: 0 };
}

/**
 * Hydrates the best candidates, prefers turns that are likely to answer and passages of the time that the question
 * names, reranks them if the mode uses the reranker, and puts the newest of contradicting memories first.
 */
async function rank(running: Search, { candidates, walk, usesText }: Recalled): Promise<RankedCandidates> {
  const { request, mode, reranker, watch, language, time } = running;
  let taken = Math.max(mode.rerankDepth, request.limit, time === null ? 0 : TIMED_CANDIDATES);
  const hydrated = await hydrate(running, candidates.slice(0, taken));
  const prefersTurns = usesText && hasTurns(hydrated);
  if (prefersTurns && taken < TURN_CANDIDATES) {
    const more = await hydrate(running, candidates.slice(taken, TURN_CANDIDATES));
    for (const [key, found] of more) hydrated.set(key, found);
    taken = TURN_CANDIDATES;
  }
  watch.lap("hydrate", hydrated.size);
  const present = candidates.slice(0, taken).filter((candidate) => hydrated.has(candidate.chunkKey));
  // without the neighbour boost, which is computed again from the scores that turns and times have changed
  const unboosted = mode.neighbourBoost > 0 ? sortByHybridScore(present) : present;
  const preferred = prefersTurns ? preferTurns(request.query, unboosted, hydrated) : unboosted;
  const timed = preferTime(preferred, hydrated, time);
  const boosted = preferNeighbours(timed.candidates, mode, walk ?? NO_GRAPH);
  const isRead = mode.rerankDepth > 0 && reranker !== null;
  const ranked = isRead ? await rerank(running, reranker, boosted, hydrated, walk) : boosted;
  const ordered = newestFirst({ text: request.query, language, time }, ranked, hydrated);
  return { candidates: ordered, hydrated, taken, time: namedTime(time, timed.span) };
}

function namedTime(time: QuestionTime | null, span: TimeSpan | null): NamedTime | null {
  return time === null || span === null ? null : { ...span, expression: time.expression };
}

/**
 * Builds the list of results. Rows are read again, because only their current state decides which memories may be
 * shown.
 */
async function show(running: Search, recalled: Recalled, ranked: RankedCandidates): Promise<RankedPassage[]> {
  const { parts: stores, request } = running;
  const { walk } = recalled;
  const [chunkIds, current] = await Promise.all([
    stores.accounts.chunkIds(request.scope.projectId),
    currentCandidates(running, recalled, ranked),
  ]);
  if (chunkIds === null) return []; // the project was removed
  const { candidates, fused, valid, rows } = current;
  const fusedRanks = new Map(fused.map((candidate, position) => [candidate.chunkKey, position + 1]));
  const parts = {
    text: recalled.usesText,
    graph: walk !== null && walk.certainty > 0,
    rerank: candidates.some(({ signals }) => signals.rerank !== undefined),
  };
  const curve = calibrationCurve(parts, running.embedder.tuning);
  const shown = candidates.filter((candidate) => valid.has(candidate.chunkKey));
  const scores = calibrate(shown, curve, running.within.memories);
  const results: RankedPassage[] = [];
  for (const [position, candidate] of shown.entries()) {
    const score = scores[position] ?? 0;
    if (results.length === request.limit || score < request.scoreMin) break;
    const found = valid.get(candidate.chunkKey);
    invariant(found, "a ranked passage has its text");
    results.push({
      chunkId: chunkIds.of(candidate.chunkKey),
      signals: shownSignals(candidate, walk, chunkIds, (memoryKey) => rows.has(memoryKey)),
      memory: found.memory,
      text: found.passage.text,
      place: found.passage.place,
      score,
      fusedRank: fusedRanks.get(candidate.chunkKey) ?? 0,
      supersededBy: valid.get(candidate.supersededBy ?? 0n)?.memory.id ?? null,
    });
  }
  return results;
}

/**
 * Finds candidates whose rows are still valid. Candidates that became invalid since the search began are replaced by
 * the next candidates.
 */
async function currentCandidates(running: Search, recalled: Recalled, ranked: RankedCandidates) {
  const { request } = running;
  const hydrated = new Map(ranked.hydrated);
  let { candidates, taken } = ranked;
  let fused = recalled.candidates;
  for (;;) {
    const passedThrough = recalled.walk?.memoriesOnPaths(candidates) ?? [];
    const rows = await readRows(running, [...candidates.map(({ memoryKey }) => memoryKey), ...passedThrough]);
    const valid = stillValid(candidates, hydrated, rows);
    const isEnough = valid.size >= request.limit;
    if (!isEnough && taken >= fused.length) fused = [...recalled.candidates, ...recalled.rest()];
    if (isEnough || taken >= fused.length) return { candidates, fused, valid, rows };
    const next = fused.slice(taken, taken + request.limit);
    taken += next.length;
    for (const [key, found] of await hydrate(running, next)) hydrated.set(key, found);
    candidates = [...candidates, ...next];
  }
}

function shownSignals(
  { signals: { graph, ...others } }: Candidate,
  walk: GraphWalk | null,
  chunkIds: ChunkIds,
  isShown: Parameters<GraphWalk["path"]>[2],
): RankedPassage["signals"] {
  if (graph === undefined || walk === null) return others;
  return { ...others, graph: { ...graph, path: walk.path(graph, chunkIds, isShown) } };
}
