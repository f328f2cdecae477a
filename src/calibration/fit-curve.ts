// Fits the curve that turns final scores into probabilities of relevance.

import type { Curve } from "../domain/retrieval-tuning.ts";
import { fitRegression, type Observation } from "./regression.ts";

/** The results of one search with a known set of relevant texts. */
export interface CurveSample {
  /** Kind of the store, such as `one text`. */
  readonly kind: string;
  /** Number of memories that the search could find. */
  readonly admissible: number;
  /** Best first, with their final scores before calibration. */
  readonly results: readonly { readonly final: number; readonly isRelevant: boolean }[];
}

/**
 * Weight of the best result of a search, where each other one has weight 1: as much as the nine others together,
 * because thresholds are compared with the best score.
 */
const BEST_WEIGHT = 9;

/**
 * Fits a curve. Every kind of store counts the same, however many questions it has.
 * @param samples of one combination of signals
 */
export function fitCurve(samples: readonly CurveSample[]): Curve {
  const kinds = Map.groupBy(samples, ({ kind }) => kind);
  const observations = samples.flatMap(({ results, admissible, kind }): Observation[] => {
    const best = results[0]?.final ?? 0;
    const weight = 1 / (kinds.get(kind)?.length ?? 1);
    return results.map(({ final, isRelevant }, at) => ({
      features: [final, Math.min(0, final - best), -Math.log(admissible)],
      isRelevant,
      weight: at === 0 ? BEST_WEIGHT * weight : weight,
    }));
  });
  const { coefficients, offset } = fitRegression(observations);
  const [slope = 0, gapSlope = 0, sizeSlope = 0] = coefficients;
  return { slope, gapSlope, sizeSlope, offset };
}
