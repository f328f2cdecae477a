// Pseudo-random vectors in clusters, which resemble those of an embedder without one.

import { seeded } from "./seeded.ts";

/**
 * Dimensions of the space in which the vectors are drawn, about the intrinsic dimension that the literature reports for
 * sentence embeddings; number of clusters; and deviation of a vector from the centre of its cluster.
 */
const [LATENT_DIMENSIONS, CLUSTERS, DEVIATION] = [32, 2_000, 0.7];
/** Noise in all dimensions, as a share of the length of a vector. */
const NOISE = 0.1;

/** A function that returns the next vectors, row-major unit vectors in clusters. */
export function vectorSource(seed: number, dimensions: number): (rows: number) => Float32Array {
  const random = seeded(seed);
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const map = Float32Array.from({ length: LATENT_DIMENSIONS * dimensions }, gaussian);
  const centres = Float32Array.from({ length: CLUSTERS * LATENT_DIMENSIONS }, gaussian);
  // A component has this deviation before the noise is added; uniform noise of a range r has deviation r / sqrt(12).
  const deviation = Math.sqrt(LATENT_DIMENSIONS * (1 + DEVIATION ** 2));
  const noiseRange = NOISE * deviation * Math.sqrt(12);
  return (rows) => {
    const vectors = new Float32Array(rows * dimensions);
    for (let row = 0; row < rows; row += 1) {
      const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
      const centre = Math.floor(random() * CLUSTERS) * LATENT_DIMENSIONS;
      for (let latent = 0; latent < LATENT_DIMENSIONS; latent += 1) {
        const component = (centres[centre + latent] ?? 0) + DEVIATION * gaussian();
        const from = map.subarray(latent * dimensions, (latent + 1) * dimensions);
        for (let at = 0; at < dimensions; at += 1) vector[at] = (vector[at] ?? 0) + component * (from[at] ?? 0);
      }
      let square = 0;
      for (let at = 0; at < dimensions; at += 1) {
        const component = (vector[at] ?? 0) + noiseRange * (random() - 0.5);
        vector[at] = component;
        square += component ** 2;
      }
      const length = Math.sqrt(square);
      for (let at = 0; at < dimensions; at += 1) vector[at] = (vector[at] ?? 0) / length;
    }
    return vectors;
  };
}
