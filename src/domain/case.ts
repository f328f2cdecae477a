// Cases: questions with what a search should find, and runs, which search for all of them and measure how well it did.

import { DAY_MS } from "../kit/clock.ts";
import type { CaseId, CaseRunId, MemoryId } from "./ids.ts";
import type { Superseding } from "./project.ts";
import type { ModeName } from "./ranking.ts";

/** Number of results of a search that are looked at. */
export const CASE_RESULTS = 10;
/** How long a run that has ended can be read, in milliseconds. */
export const CASE_RUNS_KEPT_MS = 30 * DAY_MS;

/** Input for a new case. */
export interface CaseDraft {
  readonly query: string;
  /** The user whose memories are searched; null: all memories of the project. */
  readonly userId: string | null;
  /** Mode of a run that names no modes; null: the project's `default_mode`. */
  readonly mode: ModeName | null;
  /** The memories that a search should find; null: nothing should be found. */
  readonly memoryIds: readonly MemoryId[] | null;
}

/** A question with what a search should find. */
export interface SearchCase extends CaseDraft {
  readonly id: CaseId;
  /** Unix milliseconds. The question is asked as of this time. */
  readonly createdAt: number;
}

/** Sums over the cases of one mode. */
export interface CaseSums {
  readonly mode: ModeName;
  /** Numbers of measured cases: with memories to find, and where nothing should be found. */
  readonly findable: number;
  readonly unfindable: number;
  /** Sum of nDCG@10 over the findable cases. */
  readonly ndcg10: number;
  /** Number of findable cases whose first result is of a memory that should be found. */
  readonly first: number;
  /** Number of unfindable cases whose question would not be answered. */
  readonly refused: number;
}

/** What a search did for one case. */
export interface CaseOutcome {
  /** Memories of the results, best first. A memory with several passages is there several times. */
  readonly found: readonly MemoryId[];
  /** Whether the question would be answered from the results. */
  readonly isAnswerable: boolean;
}

/** What decided how a run searched, so that two runs can be told apart. The names are those of the API. */
export interface CaseSetup {
  /** Id of the embedding model. */
  readonly embedder: string;
  /** Id of the reranker that was chosen for the project; null: the one that belongs to the embedding model. */
  readonly reranker: string | null;
  readonly default_mode: ModeName;
  /** The number in force when the run began. */
  readonly min_evidence: number;
  readonly superseding: Superseding;
}

/** A run over all cases of a project. */
export interface CaseRun {
  readonly id: CaseRunId;
  /** The modes of all searches; null: each case is searched in its own. */
  readonly modes: readonly ModeName[] | null;
  readonly status: "processing" | "completed" | "failed";
  /** null: the run began in an earlier version, which did not store it. */
  readonly setup: CaseSetup | null;
  /** Numbers of searches: done, skipped, and all. */
  readonly done: number;
  readonly skipped: number;
  readonly total: number;
  readonly sums: readonly CaseSums[];
  /** Why it failed, as one public sentence; null unless it failed. */
  readonly error: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

const NOTHING: Omit<CaseSums, "mode"> = { findable: 0, unfindable: 0, ndcg10: 0, first: 0, refused: 0 };

/** The sums with one more case. @param expected the memories that should be found; null: none */
export function withOutcome(
  sums: readonly CaseSums[],
  mode: ModeName,
  expected: ReadonlySet<MemoryId> | null,
  { found, isAnswerable }: CaseOutcome,
): readonly CaseSums[] {
  const known = sums.find((each) => each.mode === mode) ?? { mode, ...NOTHING };
  const changed: CaseSums =
    expected === null
      ? { ...known, unfindable: known.unfindable + 1, refused: known.refused + Number(!isAnswerable) }
      : {
          ...known,
          findable: known.findable + 1,
          ndcg10: known.ndcg10 + ndcg10(found, expected),
          first: known.first + Number(found[0] !== undefined && expected.has(found[0])),
        };
  return [...sums.filter((each) => each.mode !== mode), changed];
}

/**
 * nDCG@10 of memories, each either expected or not. Of several results of one memory only the first counts, and the
 * others take no rank.
 */
export function ndcg10(found: readonly MemoryId[], expected: ReadonlySet<MemoryId>): number {
  const gain = (rank: number) => 1 / Math.log2(rank + 1);
  const ranked = [...new Set(found)].slice(0, CASE_RESULTS);
  const reached = ranked.reduce((sum, id, at) => sum + (expected.has(id) ? gain(at + 1) : 0), 0);
  let best = 0;
  for (let rank = 1; rank <= Math.min(expected.size, CASE_RESULTS); rank++) best += gain(rank);
  return best === 0 ? 0 : reached / best;
}
