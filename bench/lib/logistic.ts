// Logistic regression for calibration curves: fits the curve from final score to probability of relevance, and
// evaluates and inverts it. Pure.

import type { Curve } from "../../src/domain/retrieval-tuning.ts";

/** A result: its final score before calibration, and whether it is relevant. */
export interface Sample {
  readonly score: number;
  readonly isRelevant: boolean;
}

const NEWTON_STEPS = 50;

/** Inverse of the calibration curve: the final score for a calibrated score between 0 and 1, both excluded. */
export function finalScore(calibrated: number, { slope, offset }: Curve): number {
  return (Math.log(calibrated / (1 - calibrated)) - offset) / slope;
}

/** The calibration curve: the probability of relevance of a final score. */
export function probability(score: number, { slope, offset }: Curve): number {
  return 1 / (1 + Math.exp(-(slope * score + offset)));
}

/**
 * Fits the curve by maximum likelihood with Newton's method. If all samples are relevant, or none is, the fit stops
 * early.
 */
export function fitLogistic(samples: readonly Sample[]): Curve {
  let slope = 1;
  let offset = 0;
  for (let step = 0; step < NEWTON_STEPS; step++) {
    let [gradientSlope, gradientOffset, curvatureSlope, curvatureMixed, curvatureOffset] = [0, 0, 0, 0, 0];
    for (const { score, isRelevant } of samples) {
      const predicted = probability(score, { slope, offset });
      const error = Number(isRelevant) - predicted;
      const weight = predicted * (1 - predicted);
      gradientSlope += error * score;
      gradientOffset += error;
      curvatureSlope += weight * score * score;
      curvatureMixed += weight * score;
      curvatureOffset += weight;
    }
    const determinant = curvatureSlope * curvatureOffset - curvatureMixed ** 2;
    if (!(determinant > 0)) break; // all samples are of one kind: there is no curve to fit
    slope += (curvatureOffset * gradientSlope - curvatureMixed * gradientOffset) / determinant;
    offset += (curvatureSlope * gradientOffset - curvatureMixed * gradientSlope) / determinant;
  }
  return { slope, offset };
}
