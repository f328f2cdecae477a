// Logistic functions: the probability of a logit (log-odds), its inverse, and the output of a logistic regression.

/** The probability, 0..1, of a logit. */
export function probabilityOf(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

/**
 * The logit of a probability, 0..1.
 * @param margin the probability counts as at least `margin` and at most 1 - `margin`, so that the logit is finite
 */
export function logitOf(probability: number, margin: number): number {
  const inside = Math.min(1 - margin, Math.max(margin, probability));
  return Math.log(inside / (1 - inside));
}

/** The probability that a logistic regression gives: that of the bias plus the weighted sum of the features. */
export function regressionProbability<Weights extends { readonly bias: number }>(
  { bias, ...weights }: Weights & Readonly<Record<string, number>>,
  features: Readonly<Record<Exclude<keyof Weights, "bias">, number>>,
): number {
  let logit = bias;
  for (const [name, weight] of Object.entries<number>(weights)) {
    logit += weight * features[name as Exclude<keyof Weights, "bias">];
  }
  return probabilityOf(logit);
}
