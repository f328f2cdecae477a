// What a search gives back: ranked passages, the signals behind each, and the record of how they came about.

import type { ChunkPlace } from "./chunk.ts";
import type { ChunkKey } from "./ids.ts";
import type { Memory } from "./memory.ts";

/** The modes that a request can name. */
export const MODE_NAMES = ["fast", "balanced", "precise"] as const;
/** One of the modes that a request can name. */
export type ModeName = (typeof MODE_NAMES)[number];

/** A passage's place (from 1) and score in one leg. */
export interface Signal {
  readonly rank: number;
  readonly score: number;
}

/** A passage's place and score in the graph, and the strongest way to it. */
export interface GraphSignal extends Signal {
  /** Names and ids of passages by turns, from a name of the question or from one of its best passages to this passage. */
  readonly path: readonly string[];
}

/** What the legs said of a passage; a leg that took no part is absent. */
export interface Signals {
  /** Cosine similarity to the query. */
  readonly vector?: Signal;
  /** Words score, 0..1. */
  readonly text?: Signal;
  /** What the graph leads to, 0..1. */
  readonly graph?: Signal;
  /** Squashed logit of the reranker, -1..1. */
  readonly rerank?: Signal;
}

/** One ranked passage with all that a result shows. */
export interface RankedPassage {
  readonly chunkKey: ChunkKey;
  readonly memory: Memory;
  readonly text: string;
  readonly place: ChunkPlace;
  /** 0..1, falling down the list. */
  readonly score: number;
  readonly signals: Omit<Signals, "graph"> & { readonly graph?: GraphSignal };
  /** Place in the first stage, from 1. */
  readonly fusedRank: number;
}

/** The stages that `explain` can show; a search shows those that it went through, in the order in which it did. */
export const STAGE_NAMES = [
  "queue",
  "embed",
  "filter",
  "vector",
  "text",
  "graph",
  "fuse",
  "rerank",
  "hydrate",
] as const;

/** What a stage took and how many candidates left it. */
export interface StageRecord {
  readonly name: (typeof STAGE_NAMES)[number];
  readonly ms: number;
  readonly candidates: number;
}

/** A ranked list and the record of how it came about. */
export interface Ranking {
  readonly results: readonly RankedPassage[];
  readonly stages: readonly StageRecord[];
  /** Memories that scope and filters admit. */
  readonly admissible: number;
}
