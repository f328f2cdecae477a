// Runs a search. This file decides the order of the steps, hands on what each one returns, and times them; `explain`
// shows these times. recall.ts finds candidates, fuse.ts orders them, hydration.ts fetches rows and passages, rerank.ts
// reads passages, results.ts builds the answer, verdict.ts says whether it answers. modes.ts has the constants.

import { invariant, isOutage } from "../domain/fault.ts";
import { UNCALIBRATED_EVIDENCE_MIN } from "../domain/neutral-tuning.ts";
import type { NamedTime, Ranking } from "../domain/ranking.ts";
import { OtherModel, type SearchIndex } from "../ports/chunk-index.ts";
import type { Embedder } from "../ports/models.ts";
import { admissibleSet } from "./admissible.ts";
import { type Candidate, type Hydrated, sortByHybridScore } from "./candidate.ts";
import { isLanguageSupported, isScriptSupported, isUnspaced } from "./coverage.ts";
import { currentFirst } from "./current-first.ts";
import { fuse } from "./fuse.ts";
import { type CertainLinks, GraphWalk } from "./graph-walk.ts";
import { hydrate, hydrateBest, readRows, stillValid } from "./hydration.ts";
import { placeLinked } from "./linked.ts";
import { markReplaced } from "./mark-replaced.ts";
import {
  forUnspacedScript,
  forUnsupportedLanguage,
  type Mode,
  modeFor,
  NEIGHBOUR_CANDIDATES,
  tuningOf,
} from "./modes.ts";
import { compareCandidates, preferNeighbours } from "./neighbours.ts";
import { preferTurns, ROLE_CANDIDATES } from "./prefer-turns.ts";
import {
  recall,
  SPARE_CANDIDATES,
  type StartedEmbedding,
  startEmbedding,
  walkGraph,
  walksGraph,
  withoutVector,
} from "./recall.ts";
import type { RetrievalDependencies, Search, SearchRequest } from "./request.ts";
import { rerank } from "./rerank.ts";
import { curveOf, type FinalCandidates, resultsOf } from "./results.ts";
import { offerStanding, offersStanding, STANDING_CANDIDATES } from "./standing.ts";
import { Stopwatch } from "./stopwatch.ts";
import type { TimeSpan } from "./time/calendar.ts";
import { preferTime, TIMED_CANDIDATES } from "./time/prefer-time.ts";
import { timeFirst } from "./time/time-first.ts";
import { instantsOf, resolveZoned, type ZonedTime } from "./time/zoned-time.ts";
import { verdictOn } from "./verdict.ts";

/**
 * Maximum number of attempts of a search. A search begins again if the project's model is swapped meanwhile, which
 * happens at most once in hours.
 */
const ATTEMPTS_MAX = 3;

/** Minimum number of best candidates: as many as any later step compares. */
const CANDIDATES_MIN = Math.max(NEIGHBOUR_CANDIDATES, TIMED_CANDIDATES, ROLE_CANDIDATES, STANDING_CANDIDATES);

/** Candidates after fusion. */
interface Fused {
  /** The best candidates, highest hybrid score with neighbour boost first. */
  readonly candidates: readonly Candidate[];
  /**
   * The other candidates, highest hybrid score first. They are needed only if very many of the best were deleted or
   * changed while the search ran, so they are ranked when they are asked for.
   */
  readonly rest: () => readonly Candidate[];
  readonly walk: GraphWalk;
  /** Passages that the graph contributes by certain paths; null if the request does not ask for the graph. */
  readonly links: CertainLinks | null;
}

/**
 * Runs a search. It does not show memories that were deleted, rewritten or moved out of scope or filter before it
 * began. If a memory changes while the search runs, the result may show the old or the new state.
 * @param changes replace constants of the mode; bench/calibrate.ts switches off parts of a mode with them.
 * @throws Fault `overloaded` or `model_unavailable` if no model can answer
 */
export async function search(
  parts: RetrievalDependencies,
  request: SearchRequest,
  changes: Partial<Mode> = {},
): Promise<Ranking> {
  let hasVectors = true;
  for (let attempt = 1; ; attempt++) {
    try {
      return await searchOnce(parts, request, changes, hasVectors);
    } catch (error) {
      if (error instanceof EmbedderAway) hasVectors = false;
      else if (!(error instanceof OtherModel) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** The server of a remote embedder is not available. The search then runs again without a vector. */
class EmbedderAway extends Error {
  override readonly name = "EmbedderAway";
}

/** The best candidates, and linked passages that are not among them. */
function withLinked(
  best: readonly Candidate[],
  all: readonly Candidate[],
  { links }: CertainLinks,
): readonly Candidate[] {
  const missing = new Set<bigint>(links.map(({ chunkKey }) => chunkKey));
  for (const { chunkKey } of best) missing.delete(chunkKey);
  return missing.size === 0 ? best : [...best, ...all.filter(({ chunkKey }) => missing.has(chunkKey))];
}

/**
 * @param hasVectors false: the query has no vector, so full text decides
 * @throws OtherModel if the model of the project was swapped after the query was embedded; EmbedderAway
 */
async function searchOnce(
  parts: RetrievalDependencies,
  request: SearchRequest,
  changes: Partial<Mode>,
  hasVectors: boolean,
): Promise<Ranking> {
  const watch = new Stopwatch(request.waitedMs);
  const asOf = request.asOf ?? parts.clock.now();
  using index = await parts.index.current(request.scope.projectId);
  const embedder = await embedderOf(parts, index);
  // A filter takes time, so the query is embedded in another process meanwhile. Without a filter nothing is gained.
  const embed = () => (hasVectors ? startEmbedding(embedder, request) : withoutVector(embedder));
  using early = request.filter === null ? null : embed();
  const within = await admissibleSet({ index, clock: parts.clock }, request);
  watch.lap("filter", within?.memories ?? 0);
  const reranker = parts.rerankers.for(embedder, request.scope.projectId);
  const tuning = tuningOf(request.mode, embedder, reranker);
  const degraded = hasVectors ? null : ("embedder_unavailable" as const);
  const evidenceMin = hasVectors ? tuning.evidenceMin[request.mode] : UNCALIBRATED_EVIDENCE_MIN;
  const frame = {
    ...{ mode: request.mode, asOf, degraded },
    calibration: hasVectors ? tuning.calibration : ("none" as const),
    evidenceMin,
    relevantMin: evidenceMin,
  };
  if (within === null || within.memories === 0) {
    return { ...frame, results: [], stages: watch.stages, admissible: 0, time: null, evidence: null };
  }

  using embedding = early ?? embed();
  void embedding.begun.then(() => watch.lap("queue", 1));
  const language = await parts.languageOf(request.query);
  const mode = hasVectors
    ? modeOf({ embedder, reranker, tuning }, request, language, changes)
    : { ...forUnsupportedLanguage({ ...modeFor(request.mode, tuning), ...changes }, tuning, true), vectorWeight: 0 };
  const time = await resolveZoned(request.query, { ...request, asOf, language });
  const isOffering = offersStanding(request.query, language, request.limit);
  const running: Search = {
    ...{ parts, request, mode, index, embedder, reranker, tuning, within, watch, language, time },
    ...{ offersStanding: isOffering, hasVectors },
  };

  const fused = await findCandidates(running, embedding).catch((error: unknown) => {
    throw hasVectors && embedder.isRemote === true && isOutage(error) ? new EmbedderAway() : error;
  });
  const { hydrated, taken } = await hydrateBest(running, fused.candidates);
  const present = fused.candidates.slice(0, taken).filter((candidate) => hydrated.has(candidate.chunkKey));
  // without the neighbour boost, which is computed again from the scores that turns and times have changed
  const unboosted = mode.neighbourBoost > 0 ? sortByHybridScore(present) : present;
  const preferred = preferTurns(
    { query: request.query, language, usesNames: mode.textWeight > 0 },
    unboosted,
    hydrated,
  );
  const timed = preferTime(preferred, hydrated, time);
  const boosted = preferNeighbours(timed.candidates, mode, fused.walk);
  const reranked = await rerank(running, boosted, hydrated, fused.walk);
  const asked = { text: request.query, language, time };
  const current = currentFirst(asked, await markReplaced(running, reranked, hydrated), hydrated);
  const inTime = time === null ? current : timeFirst(asked, current, hydrated, curveOf(running, current, fused.walk));
  const linked = fused.links === null ? inTime : placeLinked(inTime, fused.links);
  const ordered = isOffering ? offerStanding(linked, hydrated, request.limit) : linked;
  // Rows are read again, because only their current state decides which memories may be shown.
  const [chunkIds, valid] = await Promise.all([
    parts.accounts.chunkIds(request.scope.projectId),
    currentCandidates(running, fused, ordered, new Map(hydrated), taken),
  ]);
  const results = chunkIds === null ? [] : resultsOf(running, valid, chunkIds); // null: the project was removed
  const verdict = await verdictOn(running, results);
  return {
    ...frame,
    ...verdict,
    stages: watch.stages,
    admissible: within.memories,
    time: namedTime(time, timed.span),
  };
}

/** The embedder of the project's live vectors. */
export async function embedderOf(
  { embedders }: Pick<RetrievalDependencies, "embedders">,
  index: Pick<SearchIndex, "models">,
): Promise<Embedder> {
  const embedder = embedders.withFingerprint((await index.models()).live.fingerprint);
  invariant(embedder, "a project is open only if its model is installed");
  return embedder;
}

/** The mode for these models, changed for the query's language and script. */
function modeOf(
  { embedder, reranker, tuning }: Pick<Search, "embedder" | "reranker" | "tuning">,
  { query, mode: name }: SearchRequest,
  language: string,
  changes: Partial<Mode>,
): Mode {
  const { languages } = embedder;
  const constants = { ...modeFor(name, tuning), ...changes };
  if (!isLanguageSupported(query, language, languages)) {
    return forUnsupportedLanguage(constants, tuning, isScriptSupported(query, languages));
  }
  const mode = isUnspaced(query) ? forUnspacedScript(constants) : constants;
  const isRerankable = reranker !== null && isLanguageSupported(query, language, reranker.languages);
  return isRerankable ? mode : { ...mode, rerankDepth: 0 };
}

/** Collects candidates by all search legs that the mode uses, and orders them. */
async function findCandidates(running: Search, embedding: StartedEmbedding): Promise<Fused> {
  const { request, mode, watch } = running;
  const count = Math.max(CANDIDATES_MIN, request.limit + SPARE_CANDIDATES);
  let pool = await recall(running, embedding);
  let walk = new GraphWalk(pool.graph);
  let candidates: readonly Candidate[] = fuse(pool, mode, walk, count);
  if (walksGraph(running)) {
    pool = await walkGraph(running, embedding, pool, candidates);
    walk = new GraphWalk(pool.graph);
    if (walk.certainty > 0) candidates = fuse(pool, mode, walk, count);
    watch.lap("graph", walk.signals.size);
  }
  candidates = await compareCandidates(running, candidates, walk);
  watch.lap("fuse", candidates.length);
  const links = request.includeGraph ? walk.certainLinks() : null;
  if (links !== null && links.links.length > 0) {
    candidates = placeLinked(withLinked(candidates, fuse(pool, mode, walk), links), links);
  }
  const rest = () => {
    if (count >= pool.chunkKeys.length) return [];
    const taken = new Set(candidates.map(({ chunkKey }) => chunkKey));
    return fuse(pool, mode, walk).filter(({ chunkKey }) => !taken.has(chunkKey));
  };
  return { candidates, rest, walk, links };
}

function namedTime(time: ZonedTime | null, span: TimeSpan | null): NamedTime | null {
  return time === null || span === null ? null : { ...instantsOf(span, time.zone), expression: time.expression };
}

/**
 * Finds candidates whose rows are still valid. Candidates that became invalid since the search began are replaced by
 * the next candidates.
 * @param ordered the candidates that were hydrated, in their final order
 * @param taken number of fused candidates that were hydrated
 */
async function currentCandidates(
  running: Search,
  { candidates: best, rest, walk }: Fused,
  ordered: readonly Candidate[],
  hydrated: Map<bigint, Hydrated>,
  taken: number,
): Promise<FinalCandidates> {
  const { request } = running;
  let candidates = ordered;
  let fused = best;
  for (;;) {
    const passedThrough = walk.memoriesOnPaths(candidates);
    const rows = await readRows(running, [...candidates.map(({ memoryKey }) => memoryKey), ...passedThrough]);
    const valid = stillValid(candidates, hydrated, rows);
    const isEnough = valid.size >= request.limit;
    if (!isEnough && taken >= fused.length) fused = [...best, ...rest()];
    if (isEnough || taken >= fused.length) return { candidates, fused, valid, rows, walk };
    const next = fused.slice(taken, taken + request.limit);
    taken += next.length;
    for (const [key, found] of await hydrate(running, next)) hydrated.set(key, found);
    candidates = [...candidates, ...next];
  }
}
