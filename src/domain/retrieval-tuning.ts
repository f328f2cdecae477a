// How the search scores of one embedding model are made: weights of the signals and calibration curves. Vectors of
// another model need other values. The values are in the model's manifest (data/models/README.md).

import type { Calibration } from "./calibration.ts";
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

/**
 * Probability that a passage that was read answers: as `EvidenceCurve`, with answerSlope * logit of the reader in
 * addition.
 */
export interface ReadEvidenceCurve extends EvidenceCurve {
  readonly answerSlope: number;
}

/** Everything about evidence that depends on the reader. */
export interface ReaderTuning {
  readonly evidence: ReadEvidenceCurve;
  /** Default of the evidence below which a question is not answered, 0..1, by mode of the search. */
  readonly evidenceMin: Readonly<Record<ModeName, number>>;
}

/** A linear probe: its logit is the dot product of a vector of unit length and `weights`, plus `bias`. */
export interface LinearProbe {
  readonly weights: Float32Array;
  readonly bias: number;
}

/** Features of two notes that answer a question. They predict whether the newer one has replaced the older one. */
export const REPLACEMENT_SIGNS = [
  "olderCosine",
  "newerCosine",
  "pairCosine",
  "newerRank",
  "sharedWords",
  "sharedShare",
  "changesInNewer",
  "changesInOlder",
  "asksNow",
  "newerLength",
  "lackingNames",
  "saysChange",
  "isEvent",
  "isReplaced",
] as const;

/** A feature of two notes. */
export type SignName = (typeof REPLACEMENT_SIGNS)[number];

/**
 * Minimum logit of the event probe for a note that tells of an event. Of the replaced notes in the data with which the
 * probe was fitted, 2 % reach it.
 */
export const EVENT_LOGIT_MIN = 0.4;

/** Slopes of a logistic regression. */
export interface SignSlopes {
  readonly slopes: Readonly<Record<SignName | "bias", number>>;
}

/** A unit: the weighted sum of the signs plus `bias`, at least 0, multiplied by `output`. */
export interface HiddenUnit {
  /** In the order of `REPLACEMENT_SIGNS`. */
  readonly weights: readonly number[];
  readonly bias: number;
  readonly output: number;
}

/** A network with one hidden layer. Its logit is the sum of what the units give, plus `bias`. */
export interface SignNetwork {
  readonly units: readonly HiddenUnit[];
  readonly bias: number;
}

/**
 * How to tell that a newer note has replaced an older one: `weights` of signs of both. `changeProbe`
 * reads from a vector whether its text says that something has changed, `eventProbe` whether it tells of an event,
 * which nothing replaces. `replacedProbe` reads from the difference of both vectors, the newer minus the older one,
 * whether the newer note replaced the older one; without it, that sign is 0.
 */
export interface ReplacementTuning {
  readonly changeProbe: LinearProbe;
  readonly eventProbe: LinearProbe;
  readonly replacedProbe: LinearProbe | null;
  readonly weights: SignSlopes | SignNetwork;
  /** If the older note's cosine with the question is lower than the newer's by more than this, it is not replaced. */
  readonly cosineGapMax: number;
}

/** Everything about search scores that depends on the embedding model. */
export interface RetrievalTuning {
  readonly calibration: Calibration;
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
  /** null if it was not fitted: then words alone show a replacement. */
  readonly replacement: ReplacementTuning | null;
  /** Default of the evidence below which a question is not answered, 0..1, by mode of the search. */
  readonly evidenceMin: Readonly<Record<ModeName, number>>;
}
