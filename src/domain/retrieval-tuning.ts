// How the search scores of one embedding model are made: weights of the signals and calibration curves. Vectors of
// another model need other values. They are in the model's manifest (data/models/README.md).

import type { ModeName } from "./ranking.ts";
import type { SignalCombination, SignalWeights } from "./signals.ts";

/**
 * Calibration curve: probability of relevance = 1 / (1 + exp(-logit)), logit = slope * score + gapSlope * gap -
 * sizeSlope * ln(memories) + offset. The probability rises with the score, so it keeps the order.
 *
 * `gap` is the score minus the best score of the search: 0 for the best passage, otherwise negative. Scores of
 * different queries are less comparable than those of one query; with `gapSlope` 0, the curve would be too flat
 * within a list, and too low for the best passage.
 *
 * `memories` is the number of memories that the search could find. The best of many unrelated passages scores higher
 * than the best of few, so the same score says less in a large store.
 */
export interface Curve {
  readonly slope: number;
  readonly gapSlope: number;
  readonly sizeSlope: number;
  readonly offset: number;
}

/**
 * Probability that a passage answers = 1 / (1 + exp(-logit)), logit = scoreSlope * logit of its score - codesSlope *
 * share of the question's numbers and codes that it lacks - namesSlope * share of the names + offset. Of the first
 * passages, the one with the highest probability counts.
 */
export interface EvidenceCurve {
  readonly scoreSlope: number;
  readonly codesSlope: number;
  readonly namesSlope: number;
  readonly offset: number;
}

/** Everything about search scores that depends on the embedding model. */
export interface RetrievalTuning {
  /** If the weight of full text is 0 in a mode, full text is not used. */
  readonly weights: Readonly<Record<ModeName, SignalWeights>>;
  /**
   * Weights for queries in a script that the model does not know. The vector weight is so small that it only breaks
   * ties of BM25 scores. The graph weighs less, because capital letters do not help to recognise entities there.
   */
  readonly unsupportedScript: Pick<SignalWeights, "vectorWeight" | "graphWeight">;
  /**
   * Typical cosine of a relevant passage. It replaces the part of the cosine that a vector weight below 1 removes, so
   * that hybrid scores keep their magnitude: vectorWeight * cosine + (1 - vectorWeight) * typicalCosine.
   */
  readonly typicalCosine: number;
  /** One curve for each combination of signals, shared by all modes. */
  readonly curves: Readonly<Record<SignalCombination, Curve>>;
  readonly evidence: EvidenceCurve;
  /** Default of the evidence below which a question is not answered, 0..1, by mode of the search. */
  readonly evidenceMin: Readonly<Record<ModeName, number>>;
}
