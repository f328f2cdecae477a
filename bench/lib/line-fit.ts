// Fits a line to values over time, to see whether something grows. Pure.

import { mean as meanOf } from "./metrics.ts";

/** A fitted line. */
export interface LineFit {
  /** Change of the value per unit of time. */
  readonly slope: number;
  /** Half of the 95 % interval of the slope. NaN for fewer than three points. */
  readonly slopeError: number;
  readonly mean: number;
}

/** Quantile of the normal distribution for a 95 % interval. */
const Z = 1.96;

/**
 * Fits a line to points (time, value) by least squares. Errors of neighbouring points are alike, which makes the
 * interval of plain least squares too narrow: it is widened for a first-order autocorrelation of the residuals.
 */
export function fitLine(points: readonly (readonly [time: number, value: number])[]): LineFit {
  const count = points.length;
  const centre = meanOf(points.map(([time]) => time));
  const mean = meanOf(points.map(([, value]) => value));
  const spread = points.reduce((sum, [time]) => sum + (time - centre) ** 2, 0);
  const slope = points.reduce((sum, [time, value]) => sum + (time - centre) * (value - mean), 0) / spread;
  const residuals = points.map(([time, value]) => value - mean - slope * (time - centre));
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0);
  const neighbours = residuals.slice(1).reduce((sum, residual, at) => sum + residual * (residuals[at] ?? 0), 0);
  const correlation = squares === 0 ? 0 : Math.min(0.95, Math.max(0, neighbours / squares));
  const widening = Math.sqrt((1 + correlation) / (1 - correlation));
  const slopeError = count < 3 ? Number.NaN : Z * Math.sqrt(squares / (count - 2) / spread) * widening;
  return { slope, slopeError, mean };
}
