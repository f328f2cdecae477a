// Pseudo-random vectors in clusters, which replace those of an embedder.

import { gaussians } from "./gaussians.ts";
import { seeded } from "./seeded.ts";

/**
 * Dimensions of the space in which the vectors are drawn, about the intrinsic dimension that the literature reports for
 * sentence embeddings; number of clusters; and deviation of a vector from the centre of its cluster.
 */
const [LATENT_DIMENSIONS, CLUSTERS, DEVIATION] = [32, 2_000, 0.7];
/** Noise in all dimensions, as a share of the length of a vector. */
const NOISE = 0.1;

/** Draws the next vectors, row-major unit vectors. */
export type Draw = (rows: number) => Float32Array;

/** A function that returns the next vectors, row-major unit vectors in clusters. */
export function vectorSource(seed: number, dimensions: number): Draw {
  const random = seeded(seed);
  return clustersOf(random, dimensions)(random);
}

/**
 * Clusters of vectors from which any part of a sequence can be drawn again: vectors of part `part` depend only on the
 * seed and on `part`.
 */
export function vectorParts(seed: number, dimensions: number): (rows: number, part: number) => Float32Array {
  const draw = clustersOf(seeded(seed), dimensions);
  return (rows, part) => draw(partRandom(seed, part))(rows);
}

/** Random numbers of one part of a sequence. */
export function partRandom(seed: number, part: number): () => number {
  // The first number of a generator depends on its seed only a little, so it makes the seed of another one.
  return seeded(Math.floor(seeded(seed + part)() * 2 ** 32) ^ part);
}

function clustersOf(random: () => number, dimensions: number): (random: () => number) => Draw {
  const gaussian = gaussians(random);
  const map = Float32Array.from({ length: LATENT_DIMENSIONS * dimensions }, gaussian);
  const centres = Float32Array.from({ length: CLUSTERS * LATENT_DIMENSIONS }, gaussian);
  // A component has this deviation before the noise is added; uniform noise of a range r has deviation r / sqrt(12).
  const deviation = Math.sqrt(LATENT_DIMENSIONS * (1 + DEVIATION ** 2));
  const noiseRange = NOISE * deviation * Math.sqrt(12);
  return (drawn) => {
    const drawnGaussian = gaussians(drawn);
    return (rows) => {
      const vectors = new Float32Array(rows * dimensions);
      for (let row = 0; row < rows; row += 1) {
        const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
        const centre = Math.floor(drawn() * CLUSTERS) * LATENT_DIMENSIONS;
        for (let latent = 0; latent < LATENT_DIMENSIONS; latent += 1) {
          const component = (centres[centre + latent] ?? 0) + DEVIATION * drawnGaussian();
          const from = map.subarray(latent * dimensions, (latent + 1) * dimensions);
          for (let at = 0; at < dimensions; at += 1) vector[at] = (vector[at] ?? 0) + component * (from[at] ?? 0);
        }
        for (let at = 0; at < dimensions; at += 1) vector[at] = (vector[at] ?? 0) + noiseRange * (drawn() - 0.5);
        toUnit(vector);
      }
      return vectors;
    };
  };
}

/** Gives a vector the length 1. */
export function toUnit(vector: Float32Array): void {
  let square = 0;
  for (const component of vector) square += component ** 2;
  const length = Math.sqrt(square);
  for (let at = 0; at < vector.length; at += 1) vector[at] = (vector[at] ?? 0) / length;
}
