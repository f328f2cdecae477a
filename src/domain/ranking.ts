// Search results: ranked passages with their signals, and timings of the search stages.

import type { Calibration } from "./calibration.ts";
import type { ChunkPlace } from "./chunk.ts";
import type { ChunkId, MemoryId } from "./ids.ts";
import type { Memory } from "./memory.ts";
import { SEARCH_LEGS, type Signal, type Signals } from "./signals.ts";

/** Search modes of the API, fastest first. */
export const MODE_NAMES = ["fast", "hybrid", "balanced", "precise"] as const;
/** A search mode of the API. */
export type ModeName = (typeof MODE_NAMES)[number];

/** A passage's signal from graph search, with the strongest path that leads to the passage. */
export interface GraphSignal extends Signal {
  /**
   * The path: entities and passage ids in turn, from an entity of the query or from one of the best passages to this
   * passage.
   */
  readonly path: readonly string[];
}

/** What in a passage applies to later requests on any subject: how to answer them, or what its author likes. */
export type Standing = "instruction" | "preference";

/** Words of a passage that answer the question, `[start, end)` in code points of its text. */
export interface AnswerSpan {
  readonly start: number;
  readonly end: number;
  /** Probability, 0..1, that they answer: the evidence of the part of the passage in which the reader found them. */
  readonly score: number;
}

/** One ranked passage with everything that a result shows. */
export interface RankedPassage {
  readonly chunkId: ChunkId;
  readonly memory: Memory;
  readonly text: string;
  readonly place: ChunkPlace;
  /** Score in 0..1, descending within a result list. */
  readonly score: number;
  readonly signals: Omit<Signals, "graph"> & { readonly graph?: GraphSignal };
  /** Rank by hybrid score, before the reranker; from 1. */
  readonly fusedRank: number;
  /** The newest memory that supersedes this passage; null if it is current. */
  readonly supersededBy: MemoryId | null;
  /** `supersededBy`, otherwise a newer memory among the candidates that seems to contradict this passage. */
  readonly outdatedBy: MemoryId | null;
  readonly standing: Standing | null;
  /** The words that answer, in order; empty if a reader found none; absent if it has not read the passage. */
  readonly answerSpans?: readonly AnswerSpan[];
}

/**
 * Stages that `explain` can show; a search lists those that it ran, in the order in which they ended. Full-text search
 * runs while the query is embedded, and `text` is the time that the search waits for it afterwards. With full text,
 * `vector` includes the time to give each hit the score of the other leg.
 */
export const STAGE_NAMES = ["queue", "embed", "filter", ...SEARCH_LEGS, "fuse", "rerank", "hydrate", "read"] as const;

/** Duration of a stage, and its number of candidates. */
export interface StageRecord {
  readonly name: (typeof STAGE_NAMES)[number];
  readonly ms: number;
  /**
   * `queue`, `embed`: 1. `filter`: memories in the admissible set. `text`: hits of full-text search. `vector`: hits of
   * both searches. `graph`: passages that graph search scored. `fuse`: the best candidates, which later stages may use.
   * `hydrate`: candidates whose rows were fetched. `rerank`, `read`: passages that the model scored or read.
   */
  readonly candidates: number;
  /** Number of candidates that the stage left out because its deadline passed; absent if there are none. */
  readonly skipped?: number;
}

/** The time that a query names. The preference for it is soft: it filters nothing. */
export interface NamedTime {
  /** Unix milliseconds; null if the time is open on this side. The end is exclusive. */
  readonly from: number | null;
  readonly to: number | null;
  /** The words of the query, such as `last week`. */
  readonly expression: string;
}

/** A ranked list with the timings of its stages. */
export interface Ranking {
  /** The mode that the search used. */
  readonly mode: ModeName;
  readonly results: readonly RankedPassage[];
  readonly stages: readonly StageRecord[];
  /** Number of memories in the admissible set. */
  readonly admissible: number;
  /** Time at which the query was asked, Unix milliseconds. */
  readonly asOf: number;
  /** The time that the query names; null if it names none. */
  readonly time: NamedTime | null;
  /** Probability, 0..1, that the best passages answer the question; null if there are none, or nobody asked for it. */
  readonly evidence: number | null;
  /**
   * Logits of the reader that the first results answer, best result first; null for one that was not read in time.
   * Absent if nothing was read.
   */
  readonly answers?: readonly (number | null)[];
  /** Where the curves of scores and evidence come from; `none`: they are no probabilities. */
  readonly calibration: Calibration;
  /**
   * Default evidence, 0..1, below which a question is not answered, for this mode, the index's model and, if passages
   * were read, the reader.
   */
  readonly evidenceMin: number;
  /** Score, 0..1, below which a passage alone is no reason to answer, for this mode and the index's model. */
  readonly relevantMin: number;
  /** Why the search could not use vectors; null if it used them. */
  readonly degraded: "embedder_unavailable" | null;
}
