// The signals of a ranking by their roles. Weights, manifests of models, calibration, `explain` and the API read these
// lists, so that a new signal is named here only.

/** The search legs, in the order in which `explain` can show their stages. Each leg has a stage and a signal. */
export const SEARCH_LEGS = ["text", "vector", "graph"] as const;
/** A search leg. */
export type SearchLeg = (typeof SEARCH_LEGS)[number];

/**
 * The signals that are summed to a final score, each with a weight:
 * - `vector`: cosine similarity to the query
 * - `text`: BM25 score, 0..1
 * - `graph`: score from graph search, 0..1
 * - `rerank`: squashed logit of the reranker, -1..1
 */
export const WEIGHTED_SIGNALS = ["vector", "text", "graph", "rerank"] as const;
/** A signal with a weight. */
export type WeightedSignal = (typeof WEIGHTED_SIGNALS)[number];

/** The combinations of signals that a final score can have. The reranker never runs without full text. */
export const SIGNAL_COMBINATIONS = [
  "vector",
  "vector graph",
  "vector text",
  "vector text graph",
  "vector text rerank",
  "vector text graph rerank",
] as const;
/** One of `SIGNAL_COMBINATIONS`. */
export type SignalCombination = (typeof SIGNAL_COMBINATIONS)[number];

/**
 * All signals, in the order of the API. Besides the weighted ones:
 * - `time`: how well the day of the passage fits the time that the query names, 0..1
 * - `neighbours`: what the final score gained because similar passages of other memories score higher, in units of that
 *   score
 */
export const SIGNAL_NAMES = [...WEIGHTED_SIGNALS, "time", "neighbours"] as const;
/** A signal. */
export type SignalName = (typeof SIGNAL_NAMES)[number];

/** Rank (from 1) and score of a passage in one signal. */
export interface Signal {
  readonly rank: number;
  readonly score: number;
}

/** Signals of a passage; a search leg that did not take part is absent. */
export type Signals = { readonly [Name in SignalName]?: Signal };

/** Weights of the signals in the score of a passage, such as `textWeight`. */
export type SignalWeights = { readonly [Name in WeightedSignal as `${Name}Weight`]: number };

/** A value for each weighted signal, under the name of its weight. */
export function weightsOf(weightOf: (signal: WeightedSignal) => number): SignalWeights {
  const weights = WEIGHTED_SIGNALS.map((name) => [`${name}Weight`, weightOf(name)]);
  return Object.fromEntries(weights) as SignalWeights;
}
