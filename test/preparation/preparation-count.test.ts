// Tests how many preparation processes there may be.

import { expect, test } from "bun:test";
import { preparationCountFor } from "../../src/adapters/preparation/preparation-count.ts";

const GIB = 2 ** 30;

test.each([
  [1, 0.5, 1],
  [2, 8, 1],
  [7, 64, 1],
  [8, 64, 2],
  [16, 126, 4],
  [16, 8, 2],
  [64, 512, 4],
])("%p cores and %p GiB have up to %p preparation processes", (cores, gib, processes) => {
  expect(preparationCountFor({ cores, memoryBytes: gib * GIB })).toBe(processes);
});
