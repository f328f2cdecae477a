// Metrics of rankings and times. Pure.

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
  return sum(values) / values.length;
}

/** The sum; 0 for no values. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0);
}
