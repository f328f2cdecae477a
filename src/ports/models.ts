// What retrieval and ingest need of models: vectors for texts, scores for pairs. Implemented by adapters/inference.
//
// Owed by an implementation: vectors are unit length and equal for equal text, whatever else is in the batch; texts
// beyond the model's limit are truncated; work that does not fit the bounded queue is refused with Fault
// `overloaded`; when no model can answer, Fault `model_unavailable`. A caller that aborts is not computed for. `onBegin` is
// called once, when the call leaves the queue: what went before was waiting for others.

/** Who waits: a person (`query`) goes before a batch job (`ingest`). */
export type Priority = "query" | "ingest";

/** Texts to vectors. */
export interface Embedder {
  readonly dimensions: number;
  /** Identifies the model file; an index made with another one is never mixed with it. */
  readonly fingerprint: string;
  /** Tokens that the model reads of a text, specials included; the rest is cut. */
  readonly tokensMax: number;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  /** Vectors of `texts`, `[n, dimensions]` row by row. */
  embed(
    texts: readonly string[],
    priority: Priority,
    signal?: AbortSignal,
    onBegin?: () => void,
  ): Promise<Float32Array>;
}

/** What lets a reranker read only the better passages of a list to the end; the logits of the others are then estimates. */
export interface Contest {
  /** What each passage is worth beside its logit, in the same unit. */
  readonly headStarts: readonly number[];
  /** Tokens that are read to the end, about: of the better passages, as many as fit; of all, where they seem to have no more. */
  readonly tokensMax: number;
}

/** (query, passage) pairs to relevance. */
export interface Reranker {
  /**
   * One logit per passage, in their order, unbounded; larger is more relevant.
   * @param contest makes estimates of some logits good enough, where they are cheaper
   */
  score(
    query: string,
    passages: readonly string[],
    signal?: AbortSignal,
    onBegin?: () => void,
    contest?: Contest,
  ): Promise<Float32Array>;
}
