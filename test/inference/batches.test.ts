// Packing inputs into batches: no input is lost or repeated, and no batch is larger than the limit.

import { expect, test } from "bun:test";
import { packRuns } from "../../src/adapters/inference/batches.ts";
import { seeded } from "../support/seeded.ts";

test("every input is in one run within the limit, padded to the longest input", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seeded(seed);
    const lengths = Array.from({ length: Math.floor(random() * 60) }, () => 2 + Math.floor(random() * 255));
    const runs = packRuns(lengths, 512);
    const order = (a: number, b: number) => a - b;
    expect(runs.flatMap((run) => run.indices).sort(order), `seed ${seed}`).toEqual(lengths.map((_, index) => index));
    for (const { indices, length } of runs) {
      expect(length, `seed ${seed}`).toBe(Math.max(...indices.map((index) => lengths[index] ?? 0)));
      expect(indices.length * length, `seed ${seed}`).toBeLessThanOrEqual(512);
    }
  }
});

test("an input beyond the limit runs alone", () => {
  expect(packRuns([3, 600, 4], 512)).toEqual([
    { indices: [0, 2], length: 4 },
    { indices: [1], length: 600 },
  ]);
});

test("inputs of similar length run together", () => {
  expect(packRuns([250, 10, 240, 12], 512).map((run) => run.indices)).toEqual([
    [1, 3],
    [2, 0],
  ]);
});
