// Builds the list of results: calibrates the scores, and shows signals and paths.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import { invariant } from "../domain/fault.ts";
import type { MemoryKey } from "../domain/ids.ts";
import { type Memory, supersederOf } from "../domain/memory.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { Curve } from "../domain/retrieval-tuning.ts";
import { WEIGHTED_SIGNALS, type WeightedSignal } from "../domain/signals.ts";
import { probabilityOf } from "../kit/logistic.ts";
import type { Candidate, Hydrated } from "./candidate.ts";
import type { GraphWalk } from "./graph-walk.ts";
import { calibrationCurve } from "./modes.ts";
import type { Search } from "./request.ts";
import { standingOfPassage } from "./standing.ts";

/** Candidates at the end of a search, with their rows, passages and graph paths. */
export interface FinalCandidates {
  /** In their final order. */
  readonly candidates: readonly Candidate[];
  /** All candidates in the order of fusion. */
  readonly fused: readonly Candidate[];
  /** Those that may be shown, by chunk key, with their current rows. */
  readonly valid: ReadonlyMap<bigint, Hydrated>;
  /** Current rows of all candidates that may be shown, and of memories on graph paths. */
  readonly rows: ReadonlyMap<MemoryKey, Memory>;
  readonly walk: GraphWalk;
}

/** The results of a search, best first. */
export function resultsOf(
  { request, tuning, within }: Search,
  { candidates, fused, valid, rows, walk }: FinalCandidates,
  chunkIds: ChunkIds,
): readonly RankedPassage[] {
  const fusedRanks = new Map(fused.map((candidate, position) => [candidate.chunkKey, position + 1]));
  const curve = curveOf({ tuning }, candidates, walk);
  const shown = candidates.filter((candidate) => valid.has(candidate.chunkKey));
  const scores = calibrate(shown, curve, within.memories);
  const results: RankedPassage[] = [];
  for (const [position, candidate] of shown.entries()) {
    const score = scores[position] ?? 0;
    if (results.length === request.limit || score < request.scoreMin) break;
    const found = valid.get(candidate.chunkKey);
    invariant(found, "a ranked passage has its text");
    const supersededBy = supersederOf(found.memory, found.passage.place.ordinal);
    results.push({
      chunkId: chunkIds.of(candidate.chunkKey),
      signals: shownSignals(candidate, walk, chunkIds, (memoryKey) => rows.has(memoryKey)),
      memory: found.memory,
      text: found.passage.text,
      place: found.passage.place,
      score,
      fusedRank: fusedRanks.get(candidate.chunkKey) ?? 0,
      supersededBy,
      outdatedBy: supersededBy ?? valid.get(candidate.supersededBy ?? 0n)?.memory.id ?? null,
      standing: standingOfPassage(found),
    });
  }
  return results;
}

/** The curve that calibrates the final scores of these candidates. */
export function curveOf(
  { tuning }: Pick<Search, "tuning">,
  candidates: readonly Candidate[],
  { certainty }: Pick<GraphWalk, "certainty">,
): Curve {
  // the graph takes part even if none of its passages is among the best
  const takesPart = (name: WeightedSignal) =>
    name === "graph" ? certainty > 0 : candidates.some(({ signals }) => signals[name] !== undefined);
  return calibrationCurve(new Set(WEIGHTED_SIGNALS.filter(takesPart)), tuning);
}

function shownSignals(
  { signals: { graph, ...others } }: Candidate,
  walk: GraphWalk,
  chunkIds: ChunkIds,
  isShown: (memoryKey: MemoryKey) => boolean,
): RankedPassage["signals"] {
  return graph === undefined ? others : { ...others, graph: { ...graph, path: walk.path(graph, chunkIds, isShown) } };
}

/**
 * Turns final scores into probabilities of relevance, 0..1. Down the list, they stay equal or fall, even if a candidate
 * behind the reranked head has a higher final score than the head.
 * @param memories number of memories that the search could find, at least 1
 * @returns one per candidate, in their order
 */
export function calibrate(
  candidates: readonly Pick<Candidate, "finalScore">[],
  { slope, gapSlope, sizeSlope, offset }: Curve,
  memories: number,
): number[] {
  const best = candidates[0]?.finalScore ?? 0;
  const base = offset - sizeSlope * Math.log(memories);
  let ceiling = 1;
  return candidates.map(({ finalScore }) => {
    const gap = Math.min(0, finalScore - best);
    ceiling = Math.min(ceiling, probabilityOf(slope * finalScore + gapSlope * gap + base));
    return ceiling;
  });
}
