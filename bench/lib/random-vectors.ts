// Pseudo-random vectors for benches that need no model.

/** Unit vectors with uniformly distributed components, `[count, dimensions]`, row-major. */
export function randomVectors(random: () => number, count: number, dimensions: number): Float32Array {
  const vectors = Float32Array.from({ length: count * dimensions }, () => random() - 0.5);
  for (let row = 0; row < count; row++) {
    const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
    const length = Math.hypot(...vector);
    for (let at = 0; at < dimensions; at++) vector[at] = (vector[at] ?? 0) / length;
  }
  return vectors;
}
