// The probability that a logistic regression gives.

/** 1 / (1 + exp(-logit)), where the logit is the bias and the weighted sum of the features. */
export function logisticProbability<Weights extends { readonly bias: number }>(
  { bias, ...weights }: Weights & Readonly<Record<string, number>>,
  features: Readonly<Record<Exclude<keyof Weights, "bias">, number>>,
): number {
  let logit = bias;
  for (const [name, weight] of Object.entries<number>(weights)) {
    logit += weight * features[name as Exclude<keyof Weights, "bias">];
  }
  return 1 / (1 + Math.exp(-logit));
}
