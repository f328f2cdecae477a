// Fits logistic regressions for the curves of scores and of evidence, and computes the inverse of a curve of scores.

import type { Curve } from "../domain/retrieval-tuning.ts";
import { probabilityOf } from "../kit/logistic.ts";

/** Maximum number of steps of Newton's method. It usually ends after ten. */
const NEWTON_STEPS = 50;

/**
 * Inverse of the calibration curve: the final scores for the calibrated scores of a list, best first. The scores must
 * be between 0 and 1, both excluded.
 * @param memories number of memories that the search could find
 */
export function finalScores(
  calibrated: readonly number[],
  { slope, gapSlope, sizeSlope, offset }: Curve,
  memories: number,
): number[] {
  const base = offset - sizeSlope * Math.log(memories);
  const logits = calibrated.map((score) => Math.log(score / (1 - score)) - base);
  const best = (logits[0] ?? 0) / slope;
  return logits.map((logit) => (logit + gapSlope * best) / (slope + gapSlope));
}

/** An observation to which a logistic regression is fitted. */
export interface Observation {
  readonly features: readonly number[];
  readonly isRelevant: boolean;
  /** How much the observation counts. */
  readonly weight: number;
}

/** A fitted regression: probability = 1 / (1 + exp(-(sum of coefficient * feature + offset))). */
export interface Regression {
  /** One coefficient per feature; none is negative. */
  readonly coefficients: readonly number[];
  readonly offset: number;
}

/** Weight of the penalty on squared coefficients of standardised features. It matters only if classes are separable. */
const RIDGE = 1e-4;

/**
 * Fits a logistic regression whose coefficients are not negative, so that the probability rises with every feature. A
 * feature with a negative coefficient is left out, most negative first, and the rest is fitted again.
 */
export function fitRegression(observations: readonly Observation[]): Regression {
  const count = observations[0]?.features.length ?? 0;
  let used = Array.from({ length: count }, (_, at) => at);
  for (;;) {
    const { coefficients, offset } = fitUnbounded(observations, used);
    const lowest = coefficients.indexOf(Math.min(...coefficients));
    if (used.length > 0 && (coefficients[lowest] ?? 0) < 0) {
      used = used.filter((_, at) => at !== lowest);
      continue;
    }
    const all = Array.from({ length: count }, (_, at) => coefficients[used.indexOf(at)] ?? 0);
    return { coefficients: all, offset };
  }
}

// Newton's method on standardised features. The last column is the constant 1.
function fitUnbounded(observations: readonly Observation[], used: readonly number[]): Regression {
  const weightSum = observations.reduce((sum, { weight }) => sum + weight, 0);
  const mean = (value: (observation: Observation) => number) =>
    observations.reduce((sum, observation) => sum + observation.weight * value(observation), 0) / weightSum;
  const scales = used.map((feature) => {
    const centre = mean(({ features }) => features[feature] ?? 0);
    const variance = mean(({ features }) => ((features[feature] ?? 0) - centre) ** 2);
    return { feature, centre, deviation: Math.sqrt(variance) || 1 };
  });
  const rows = observations.map(({ features, isRelevant, weight }) => ({
    values: [...scales.map(({ feature, centre, deviation }) => ((features[feature] ?? 0) - centre) / deviation), 1],
    label: Number(isRelevant),
    weight: weight / weightSum,
  }));
  const size = used.length + 1;
  let found = new Array<number>(size).fill(0);
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const gradient = found.map((coefficient, at) => (at === size - 1 ? 0 : -RIDGE * coefficient));
    const curvature: number[][] = found.map((_, row) => found.map((_, column) => (row === column ? RIDGE : 0)));
    for (const { values, label, weight } of rows) {
      const predicted = probabilityOf(values.reduce((sum, value, at) => sum + value * (found[at] ?? 0), 0));
      const spread = weight * predicted * (1 - predicted);
      for (const [row, value] of values.entries()) {
        gradient[row] = (gradient[row] ?? 0) + weight * (label - predicted) * value;
        const line = curvature[row] ?? [];
        for (const [column, other] of values.entries()) line[column] = (line[column] ?? 0) + spread * value * other;
      }
    }
    const change = solve(curvature, gradient);
    found = found.map((coefficient, at) => coefficient + (change[at] ?? 0));
    if (Math.max(...change.map(Math.abs)) < 1e-8) break;
  }
  const coefficients = scales.map(({ deviation }, at) => (found[at] ?? 0) / deviation);
  const shift = scales.reduce((sum, { centre }, at) => sum + centre * (coefficients[at] ?? 0), 0);
  return { coefficients, offset: (found[size - 1] ?? 0) - shift };
}

// Solves a symmetric, positive definite system of linear equations by Gaussian elimination.
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, at) => [...row, right[at] ?? 0]);
  for (const [pivot, row] of rows.entries()) {
    for (const other of rows.slice(pivot + 1)) {
      const factor = (other[pivot] ?? 0) / (row[pivot] ?? 1);
      for (let at = pivot; at < other.length; at++) other[at] = (other[at] ?? 0) - factor * (row[at] ?? 0);
    }
  }
  const found = new Array<number>(rows.length).fill(0);
  for (let pivot = rows.length - 1; pivot >= 0; pivot--) {
    const row = rows[pivot] ?? [];
    let rest = row[rows.length] ?? 0;
    for (let at = pivot + 1; at < rows.length; at++) rest -= (row[at] ?? 0) * (found[at] ?? 0);
    found[pivot] = rest / (row[pivot] ?? 1);
  }
  return found;
}
