// Tests the set of keys that starts and checks of large projects use.

import { describe, expect, test } from "bun:test";
import { seeded } from "../../bench/lib/seeded.ts";
import { SortedKeys } from "../../src/adapters/embedded/sorted-keys.ts";

const LARGEST = 2n ** 64n - 2n;

describe("sorted keys", () => {
  test("find the keys of all parts, in whatever order they come", () => {
    const keys = new SortedKeys([BigUint64Array.of(9n, 3n), BigUint64Array.of(), BigUint64Array.of(LARGEST, 1n)]);
    expect(keys.size).toBe(4);
    expect([1n, 3n, 9n, LARGEST].map((key) => keys.positionOf(key))).toEqual([0, 1, 2, 3]);
    expect([0n, 2n, 10n, LARGEST + 1n].map((key) => keys.has(key))).toEqual([false, false, false, false]);
    expect(keys.at(2)).toBe(9n);
  });

  test("of nothing have no key, not even 0", () => {
    const keys = new SortedKeys([]);
    expect([keys.size, keys.has(0n), keys.positionOf(5n, 7)]).toEqual([0, false, -1]);
  });

  test("agree with a set for random keys and guesses (seed 5)", () => {
    const random = seeded(5);
    const drawn = () => BigInt(Math.floor(random() * 500));
    const all = new Set(Array.from({ length: 200 }, drawn));
    const keys = new SortedKeys([BigUint64Array.from(all)]);
    const sorted = [...all].sort((one, other) => (one < other ? -1 : 1));
    for (let n = 0; n < 2_000; n++) {
      const key = drawn();
      expect(keys.positionOf(key, Math.floor(random() * 300))).toBe(sorted.indexOf(key));
    }
  });
});
