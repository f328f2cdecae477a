// How well scores separate and predict relevance. metrics.ts has the metrics of rankings. Pure.

/**
 * Area under the ROC curve: the probability that a random value of `positives` is higher than one of `negatives`. A tie
 * counts as half. NaN if one of the lists is empty.
 */
export function areaUnderRoc(positives: readonly number[], negatives: readonly number[]): number {
  if (positives.length === 0 || negatives.length === 0) return Number.NaN;
  const sorted = [
    ...positives.map((value) => ({ value, isPositive: true })),
    ...negatives.map((value) => ({ value, isPositive: false })),
  ].sort((left, right) => left.value - right.value);
  let wins = 0;
  let negativesBelow = 0;
  for (let start = 0; start < sorted.length; ) {
    let end = start;
    let [tiedPositives, tiedNegatives] = [0, 0];
    for (; end < sorted.length && sorted[end]?.value === sorted[start]?.value; end++) {
      if (sorted[end]?.isPositive) tiedPositives++;
      else tiedNegatives++;
    }
    wins += tiedPositives * (negativesBelow + tiedNegatives / 2);
    negativesBelow += tiedNegatives;
    start = end;
  }
  return wins / (positives.length * negatives.length);
}

/** A predicted probability and what was observed. */
export interface Prediction {
  /** Probability, 0..1. */
  readonly score: number;
  readonly isRelevant: boolean;
}

/**
 * Expected calibration error, 0..1 (Naeini et al. 2015): the predictions are sorted by score and cut into bins of equal
 * size; the result is the mean distance of a bin's mean score from its observed share, weighted by bin size. NaN for no
 * predictions.
 */
export function calibrationError(predictions: readonly Prediction[], bins: number): number {
  const sorted = [...predictions].sort((left, right) => left.score - right.score);
  let error = 0;
  for (let bin = 0; bin < bins; bin++) {
    const from = Math.floor((bin * sorted.length) / bins);
    const part = sorted.slice(from, Math.floor(((bin + 1) * sorted.length) / bins));
    const difference = part.reduce((sum, { score, isRelevant }) => sum + score - Number(isRelevant), 0);
    error += Math.abs(difference);
  }
  return error / sorted.length;
}
