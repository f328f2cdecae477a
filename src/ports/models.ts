// Interfaces of the models: the embedder computes vectors for texts, the reranker scores pairs of query and passage.
// Implemented by adapters/inference.
//
// Obligations of an implementation:
// - Vectors have unit length. Equal texts have equal vectors, whatever other texts are in the same call.
// - Texts that are longer than the model's limit are truncated.
// - The queue is bounded. Work that does not fit is refused with Fault `overloaded`.
// - If no model can answer, the call fails with Fault `model_unavailable`.
// - If a call is aborted, the part of its work that has not begun is not computed.
// - `onBegin` is called once, when the call leaves the queue. The time before counts as waiting time.

/** Who waits for the result. `query`: a person. `ingest`: a batch job, which comes after queries. */
export type Priority = "query" | "ingest";

/** Computes vectors for texts. */
export interface Embedder {
  readonly dimensions: number;
  /**
   * Identifies everything that determines a vector: model, tokeniser and truncation. Vectors with different
   * fingerprints are never mixed in one index.
   */
  readonly fingerprint: string;
  /**
   * Maximum number of tokens that the model reads of a text, special tokens included. The rest of the text is cut off.
   */
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

/** Scores the relevance of (query, passage) pairs. */
export interface Reranker {
  /**
   * Returns one logit per passage, in the order of the passages. Logits are unbounded; a larger one means more
   * relevant.
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
