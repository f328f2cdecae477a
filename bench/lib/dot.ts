// The dot product, which is the cosine of unit vectors.

/** The dot product of two vectors of the same length. */
export function dot(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < left.length; at += 1) sum += (left[at] ?? 0) * (right[at] ?? 0);
  return sum;
}
