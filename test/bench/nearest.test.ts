// The exact search of `mneme bench filtered`.

import { expect, test } from "bun:test";
import { nearestPassages } from "../../bench/command/filtered.ts";

test("passages are ranked by their nearest chunk, within the filter, at most ten", () => {
  const vectors = [
    [1, 0],
    [0, 1],
    [0.6, 0.8],
    [-1, 0],
  ].map((vector) => Float32Array.from(vector));
  const chunks = { vectors, passageOf: [0, 0, 1, 2] };
  const question = Float32Array.from([0, 1]);
  expect(nearestPassages(chunks, question, () => true)).toEqual([0, 1, 2]);
  expect(nearestPassages(chunks, question, (position) => position !== 0)).toEqual([1, 2]);
  const many = Array.from({ length: 12 }, () => Float32Array.from([1, 0]));
  expect(nearestPassages({ vectors: many, passageOf: [...many.keys()] }, question, () => true)).toHaveLength(10);
});
