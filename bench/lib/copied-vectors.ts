// Vectors of real texts, and as many copies that differ from them as are wanted: a large collection with the structure
// of a small one.

import { dot } from "../../src/kit/dot.ts";
import { partRandom, toUnit } from "./drawn-vectors.ts";
import { gaussians } from "./gaussians.ts";

/** Mean and deviation of the cosine of a copy to its original, and how many deviations it may differ. */
const [COPY_COSINE, COPY_DEVIATION, DEVIATIONS_MAX] = [0.8, 0.05, 3];

/**
 * Returns a function that makes part of the collection: `rows` unit vectors (row-major), from number `first` on. The
 * collection begins with the originals; copies of random ones follow. `part` is the number of the part and selects its
 * random numbers, so the same seed gives the same vectors if the parts have the same sizes.
 */
export function copiedVectors(
  originals: Float32Array,
  dimensions: number,
  seed: number,
): (rows: number, part: number, first: number) => Float32Array {
  const count = originals.length / dimensions;
  return (rows, part, first) => {
    const random = partRandom(seed, part);
    const gaussian = gaussians(random);
    const vectors = new Float32Array(rows * dimensions);
    for (let row = 0; row < rows; row += 1) {
      const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
      const isOriginal = first + row < count;
      const from = isOriginal ? first + row : Math.floor(random() * count);
      const original = originals.subarray(from * dimensions, (from + 1) * dimensions);
      if (isOriginal) {
        vector.set(original);
        continue;
      }
      const away = Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, gaussian()));
      copyAt(vector, original, COPY_COSINE + COPY_DEVIATION * away, gaussian);
    }
    return vectors;
  };
}

/** Makes `vector` a unit vector in a random direction with this cosine to a unit vector. */
function copyAt(vector: Float32Array, original: Float32Array, cosine: number, gaussian: () => number): void {
  for (let at = 0; at < vector.length; at += 1) vector[at] = gaussian();
  const along = dot(vector, original);
  for (let at = 0; at < vector.length; at += 1) vector[at] = (vector[at] ?? 0) - along * (original[at] ?? 0);
  toUnit(vector);
  const sine = Math.sqrt(1 - cosine ** 2);
  for (let at = 0; at < vector.length; at += 1) {
    vector[at] = cosine * (original[at] ?? 0) + sine * (vector[at] ?? 0);
  }
}
