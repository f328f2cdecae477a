// The models that retrieval and ingest use: an embedder (texts to vectors) and a reranker (pairs to scores).
// Implemented by adapters/inference.
//
// An implementation owes:
// - Vectors have unit length. Equal texts have equal vectors, whatever else is in the batch.
// - Texts that are longer than the model's limit are truncated.
// - The queue is bounded. Work that does not fit is refused with Fault `overloaded`.
// - If no model can answer, the call fails with Fault `model_unavailable`.
// - Work of a call that was aborted and has not started is not computed.
// - `onBegin` is called once, when the call leaves the queue. The time before is waiting time.

/** Who waits for the result. A person (`query`) goes before a batch job (`ingest`). */
export type Priority = "query" | "ingest";

/** Texts to vectors. */
export interface Embedder {
  readonly dimensions: number;
  /** Identifies the model file. Vectors of models with different fingerprints are never mixed in one index. */
  readonly fingerprint: string;
  /** Tokens that the model reads of a text, special tokens included; the rest is cut. */
  readonly tokensMax: number;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  /** Vectors of `texts`, row-major `[n, dimensions]`. */
  embed(
    texts: readonly string[],
    priority: Priority,
    signal?: AbortSignal,
    onBegin?: () => void,
  ): Promise<Float32Array>;
}

/**
 * Lets a reranker stop after its first layers on the passages of a list that are unlikely to rank high. Their logits
 * are then estimates.
 */
export interface EarlyExit {
  /** One per passage: its score before reranking, in the unit of the logits. */
  readonly priorScores: readonly number[];
  /**
   * Tokens of pairs that are read by all layers, about. The passages with the best sum of prior score and estimated
   * logit come first. If all pairs have no more tokens than this, all of them are read by all layers.
   */
  readonly fullTokensMax: number;
}

/** Scores the relevance of (query, passage) pairs. */
export interface Reranker {
  /**
   * One logit per passage, in their order, unbounded; larger is more relevant.
   * @param earlyExit allows estimates instead of logits for some passages; an implementation may ignore it
   */
  score(
    query: string,
    passages: readonly string[],
    signal?: AbortSignal,
    onBegin?: () => void,
    earlyExit?: EarlyExit,
  ): Promise<Float32Array>;
}
