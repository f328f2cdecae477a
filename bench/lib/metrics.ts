// Metrics of rankings and times for the benches. Pure.

/** Relevance judgements of one query: document id to grade. Absent ids and grade 0 are not relevant. */
export type Judgements = ReadonlyMap<string, number>;

/**
 * Normalised discounted cumulative gain of the first `depth` ids, 0..1, with linear gains and log2 discounts like in
 * trec_eval and BEIR (Järvelin & Kekäläinen 2002). 0 if no document is relevant.
 */
export function ndcgAt(depth: number, ranking: readonly string[], judgements: Judgements): number {
  const gains = ranking.slice(0, depth).map((id) => judgements.get(id) ?? 0);
  const ideal = [...judgements.values()].sort((left, right) => right - left).slice(0, depth);
  const best = discounted(ideal);
  return best === 0 ? 0 : discounted(gains) / best;
}

/** Share of the relevant documents that are among the first `depth` ids, 0..1. 0 if no document is relevant. */
export function recallAt(depth: number, ranking: readonly string[], judgements: Judgements): number {
  const relevant = [...judgements].filter(([, grade]) => grade > 0);
  if (relevant.length === 0) return 0;
  const found = new Set(ranking.slice(0, depth));
  return relevant.filter(([id]) => found.has(id)).length / relevant.length;
}

/** 1 / rank of the first relevant id, 0..1; 0 if no relevant id is ranked. The mean over questions is the MRR. */
export function reciprocalRank(ranking: readonly string[], judgements: Judgements): number {
  const first = ranking.findIndex((id) => (judgements.get(id) ?? 0) > 0);
  return first === -1 ? 0 : 1 / (first + 1);
}

/** The percentile `share` (0..1) of the values, by nearest rank. NaN for no values. */
export function percentile(share: number, values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Arithmetic mean; NaN for no values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

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

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}
