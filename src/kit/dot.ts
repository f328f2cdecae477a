// Dot products: the cosine of unit vectors and, with an offset, the logit of a linear probe.

/** The dot product of two vectors of the same length. */
export function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < left.length; at += 1) sum += (left[at] ?? 0) * (right[at] ?? 0);
  return sum;
}

/** The logit of a linear probe on a vector of unit length. */
export function probeLogit(
  { weights, bias }: { readonly weights: Float32Array; readonly bias: number },
  vector: Float32Array,
): number {
  return dot(weights, vector) + bias;
}

/** The logit of a linear probe on the difference of two vectors of unit length. */
export function differenceLogit(
  { weights, bias }: { readonly weights: Float32Array; readonly bias: number },
  vector: Float32Array,
  subtracted: Float32Array,
): number {
  return dot(weights, vector) - dot(weights, subtracted) + bias;
}
