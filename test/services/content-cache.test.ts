// Content cache: it returns exactly the requested version, and never exceeds its size.

import { describe, expect, test } from "bun:test";
import type { MemoryKey } from "../../src/domain/ids.ts";
import { ContentCache } from "../../src/services/content-cache.ts";
import { seeded } from "../support/seeded.ts";

const of = (key: number, version = 1) => ({ key: BigInt(key) as MemoryKey, version });

describe("the content cache", () => {
  test("returns a content for its memory and version only", () => {
    const cache = new ContentCache(1_000);
    cache.put(of(1, 2), "text");
    expect(cache.get(of(1, 2))).toBe("text");
    expect([cache.get(of(1, 1)), cache.get(of(1, 3)), cache.get(of(2, 2))]).toEqual([null, null, null]);
    cache.put(of(1, 3), "newer");
    expect([cache.get(of(1, 2)), cache.get(of(1, 3))]).toEqual([null, "newer"]);
  });

  test("distinguishes an empty content from a missing one", () => {
    const cache = new ContentCache(1_000);
    cache.put(of(1), "");
    expect([cache.get(of(1)), cache.get(of(2))]).toEqual(["", null]);
  });

  test("evicts the least recently used content if it is full", () => {
    const cache = new ContentCache(160);
    for (const key of [1, 2, 3, 4, 5, 6, 7, 8]) cache.put(of(key), "x".repeat(10));
    cache.get(of(1));
    cache.put(of(9), "x".repeat(10));
    expect([cache.get(of(1)), cache.get(of(2)), cache.get(of(3))]).toEqual(["x".repeat(10), null, "x".repeat(10)]);
  });

  test("rejects a content larger than an eighth of its size, and drops the older version of it", () => {
    const cache = new ContentCache(160);
    cache.put(of(1, 1), "x".repeat(10));
    cache.put(of(1, 2), "x".repeat(11));
    expect([cache.get(of(1, 1)), cache.get(of(1, 2)), cache.bytes]).toEqual([null, null, 0]);
  });

  test("forgets on demand", () => {
    const cache = new ContentCache(1_000);
    cache.put(of(1), "text");
    cache.forget(of(1).key);
    cache.forget(of(2).key);
    expect([cache.get(of(1)), cache.bytes]).toEqual([null, 0]);
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_127);
  test(`never exceeds its size and never returns a wrong content in 5000 random steps (seed ${seed})`, () => {
    const random = seeded(seed);
    const integer = (below: number) => Math.floor(random() * below);
    const cache = new ContentCache(2_000);
    for (let step = 0; step < 5_000; step++) {
      const identity = of(integer(30), 1 + integer(3));
      const content = `${identity.key}.${identity.version}.`.padEnd(4 + ((Number(identity.key) * 7) % 150), "x");
      if (random() < 0.5) cache.put(identity, content);
      else if (random() < 0.1) cache.forget(identity.key);
      else expect([content, null]).toContain(cache.get(identity));
      expect(cache.bytes).toBeLessThanOrEqual(2_000);
    }
  });
});
