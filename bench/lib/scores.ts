// Scores of a set of rankings: the figures that every quality bench prints.

import type { JudgedQuery } from "./beir.ts";
import { type Interval, meanInterval } from "./intervals.ts";
import { mean, ndcgAt, recallAt } from "./metrics.ts";

/** Depths at which recall is computed. */
const RECALL_DEPTHS = [2, 5, 10, 100] as const;

/** Scores of one ranking method over all questions. */
export interface Scores {
  /** nDCG@10 of each question, in the order of the questions, for paired comparison with another method. */
  readonly ndcg: readonly number[];
  readonly mean: number;
  readonly interval: Interval;
  /** Mean recall by `R@2`, `R@5`, `R@10`, `R@100`. */
  readonly recalls: Readonly<Record<string, number>>;
}

/** The scores as columns of a row, rounded to four digits, which is enough for a thousand questions. */
export type ScoreColumns = Readonly<Record<string, number>>;

/**
 * Computes the scores of rankings.
 * @param rankings one list of documents per question, best first
 */
export function scoresOf(queries: readonly JudgedQuery[], rankings: readonly (readonly string[])[]): Scores {
  const each = (score: (ranking: readonly string[], query: JudgedQuery) => number) =>
    queries.map((query, at) => score(rankings[at] ?? [], query));
  const ndcg = each((ranking, query) => ndcgAt(10, ranking, query.judgements));
  const recalls = RECALL_DEPTHS.map((depth) => [
    `R@${depth}`,
    mean(each((ranking, query) => recallAt(depth, ranking, query.judgements))),
  ]);
  return { ndcg, mean: mean(ndcg), interval: meanInterval(ndcg), recalls: Object.fromEntries(recalls) };
}

/** Columns `nDCG@10`, `low` and `high` (bounds of its interval), and the recalls. */
export function scoreColumns({ mean: ndcg, interval, recalls }: Scores): ScoreColumns {
  const columns = { "nDCG@10": ndcg, low: interval.low, high: interval.high, ...recalls };
  return Object.fromEntries(Object.entries(columns).map(([name, value]) => [name, rounded(value, 4)]));
}

/** Rounds a figure to `digits` decimal places. */
export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** A share without the leading zero: `.731`, `-.004`. */
export function shortFigure(value: number, digits = 3): string {
  return value.toFixed(digits).replace(/^(-?)0\./, "$1.");
}

/** A difference with its sign: `+.012`, `-.004`. */
export function signed(value: number, digits = 3): string {
  const text = shortFigure(value, digits);
  return text.startsWith("-") ? text : `+${text}`;
}

/** The share of true values, with the numbers that it is made of: `0.950 (19 of 20)`. */
export function countedShare(values: readonly boolean[]): string {
  const count = values.filter((value) => value).length;
  return `${(count / Math.max(1, values.length)).toFixed(3)} (${count} of ${values.length})`;
}
