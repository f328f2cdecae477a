// Interfaces of the models: an embedder computes vectors for texts, a reranker scores pairs of query and passage.
// Implemented by adapters/inference.
//
// Obligations of an implementation:
// - Vectors have unit length and no NaN; anything else fails the call. Equal texts with equal purposes have equal
//   vectors, whatever other texts are in the same call.
// - Texts that are longer than the model's limit are truncated.
// - The queue, which all models share, is bounded. Work that does not fit is refused with Fault `overloaded`, unless it
//   has a turn: then the queue that gave the turn bounds it.
// - If a model cannot answer, the call fails with Fault `model_unavailable`. Other models still answer.
// - If a call is aborted, the part of its work that has not begun is not computed.
// - Ingest work of different shares takes turns. Within a share, calls with fewer tokens left go first, but none waits
//   forever.
// - `onBegin` is called once, when the call leaves the queue. The time before counts as waiting time.

import type { RetrievalTuning } from "../domain/retrieval-tuning.ts";

/** Who waits for the result. `query`: a person. `ingest`: a batch job, which comes after queries. */
export type Priority = "query" | "ingest";

/** What a text is to an embedder: something that is searched for, or something that can be found. */
export type Purpose = "query" | "passage";

/** How to embed texts. */
export interface EmbedOptions {
  readonly purpose: Purpose;
  readonly priority: Priority;
  /** Whose ingest work this is: usually a project id. Default: one share for all calls without it. */
  readonly share?: string | undefined;
  /** Number of tokens that the whole job still has to embed, this call included. Default: unknown, so goes last. */
  readonly tokensLeft?: number | undefined;
  /** Whether a queue before this one bounds such calls. Default: no. */
  readonly hasTurn?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onBegin?: (() => void) | undefined;
}

/** Computes vectors for texts. */
export interface Embedder {
  /** Id of the model: the name of its folder. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * Identifies everything that determines a vector: model, tokeniser, truncation and prefixes. Vectors with different
   * fingerprints are never mixed in one index.
   */
  readonly fingerprint: string;
  /**
   * Maximum number of tokens that the model reads of a text, special tokens included. The rest of the text is cut off.
   */
  readonly tokensMax: number;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  /** Weights and curves for search scores with vectors of this model. */
  readonly tuning: RetrievalTuning;
  /** Vectors of `texts`, row-major `[n, dimensions]`. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array>;
  /**
   * Number of tokens of each text with the prefix of its purpose, special tokens included, before truncation. The call
   * waits in the same queue as `embed`.
   */
  countTokens(texts: readonly string[], options: EmbedOptions): Promise<readonly number[]>;
}

/** The installed embedders. */
export interface Embedders {
  /** The embedder of new projects. */
  readonly default: Embedder;
  /** Ids of all embedders, in ascending order. */
  readonly ids: readonly string[];
  /** @throws Fault `invalid_request` that lists the ids if there is no such embedder */
  get(id: string): Embedder;
  /** The embedder whose vectors an index has; null if it is not installed. */
  withFingerprint(fingerprint: string): Embedder | null;
}

/** What tells an embedder from others. */
export type EmbedderIdentity = Pick<Embedder, "id" | "dimensions" | "fingerprint">;

/** The installed embedders, for those who compute no vectors. */
export interface InstalledEmbedders {
  readonly default: EmbedderIdentity;
  readonly ids: Embedders["ids"];
  get(id: string): EmbedderIdentity;
  withFingerprint(fingerprint: string): EmbedderIdentity | null;
}

/** Id of the model with this fingerprint; the fingerprint itself if the model is not installed. */
export function modelIdOf(embedders: Pick<InstalledEmbedders, "withFingerprint">, fingerprint: string): string {
  return embedders.withFingerprint(fingerprint)?.id ?? fingerprint;
}

/**
 * Lets a reranker run only its first layers on passages that are unlikely to rank high. Their logits are then
 * estimates.
 */
export interface EarlyExit {
  /** Prior score of each passage: its hybrid score, scaled so that it can be added to a logit. */
  readonly priorScores: readonly number[];
  /**
   * Approximate number of tokens that pass through all layers. The pairs with the highest sum of prior score and
   * estimated logit are chosen for that. If all pairs together have no more tokens, all of them pass through all
   * layers.
   */
  readonly fullTokensMax: number;
}

/** How to score passages. */
export interface ScoreOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onBegin?: (() => void) | undefined;
  /** Allows estimates instead of logits for some passages; an implementation may ignore it. */
  readonly earlyExit?: EarlyExit | undefined;
  /**
   * Deadline in milliseconds from the call. After it, passages that are not scored yet get NaN. Infinity: none, which
   * is the default.
   */
  readonly deadlineMs?: number | undefined;
}

/** Scores the relevance of (query, passage) pairs. */
export interface Reranker {
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  /**
   * Returns one logit per passage, in the order of the passages. Logits are unbounded; a larger one means more
   * relevant.
   */
  score(query: string, passages: readonly string[], options?: ScoreOptions): Promise<Float32Array>;
}

/** The installed rerankers. */
export interface Rerankers {
  /** The reranker for passages that this embedder finds; null if it has none. */
  for(embedder: Pick<Embedder, "id">): Reranker | null;
}
