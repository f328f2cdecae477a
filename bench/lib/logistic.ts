// What does a score mean? Fits the curve that turns a final score into the probability that a result is relevant, and
// goes back along such a curve. Pure.

import type { Curve } from "../../src/retrieval/modes.ts";

/** A result: its final score before calibration, and whether it is relevant. */
export interface Sample {
  readonly score: number;
  readonly isRelevant: boolean;
}

const NEWTON_STEPS = 50;

/** The final score that a calibrated one (0..1, both excluded) was made of. */
export function finalScore(calibrated: number, { slope, offset }: Curve): number {
  return (Math.log(calibrated / (1 - calibrated)) - offset) / slope;
}

/** The probability of relevance of a final score. */
export function probability(score: number, { slope, offset }: Curve): number {
  return 1 / (1 + Math.exp(-(slope * score + offset)));
}

/** The curve of maximum likelihood, by Newton's method. Where every result is of one kind there is none to fit. */
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
    if (!(determinant > 0)) break; // every result is of one kind: there is no curve to fit
    slope += (curvatureOffset * gradientSlope - curvatureMixed * gradientOffset) / determinant;
    offset += (curvatureSlope * gradientOffset - curvatureMixed * gradientSlope) / determinant;
  }
  return { slope, offset };
}
