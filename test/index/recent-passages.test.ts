// The cache of passages: it returns what is stored, for each project its own, and stays within its size.

import { expect, test } from "bun:test";
import { RecentPassages } from "../../src/adapters/embedded/recent-passages.ts";
import type { ChunkKey, ProjectId } from "../../src/domain/ids.ts";
import type { Passage } from "../../src/ports/chunk-index.ts";
import { seeded } from "../support/seeded.ts";

const [FIRST, SECOND] = ["prj_1", "prj_2"] as [ProjectId, ProjectId];
const SEED = 20_261_127;

function passage(key: bigint, text: string): Passage {
  return { chunkKey: key as ChunkKey, text, place: { ordinal: 0, start: 0, end: text.length, headings: [] } };
}

/** A cache before passages that `textOf` computes; null if there is none. `reads` has the keys that were not cached. */
function cached(textOf: (key: bigint) => string | null) {
  const recent = new RecentPassages();
  const reads: bigint[] = [];
  const read = (projectId: ProjectId, keys: readonly bigint[]) =>
    recent.read(projectId, BigUint64Array.from(keys), async (missing) => {
      reads.push(...missing);
      return Array.from(missing, (key) => {
        const text = textOf(key);
        return text === null ? null : passage(key, `${projectId} ${text}`);
      });
    });
  return { recent, reads, read };
}

test("reads a stored passage once, and asks again for a missing one", async () => {
  console.log(`seed ${SEED}`);
  const random = seeded(SEED);
  const below = (bound: number) => Math.floor(random() * bound);
  const { reads, read } = cached((key) => (key % 7n === 0n ? null : `text ${key}`));
  for (let round = 0; round < 300; round++) {
    const keys = Array.from({ length: below(12) }, () => BigInt(below(60)));
    const expected = keys.map((key) => (key % 7n === 0n ? null : `${FIRST} text ${key}`));
    const found = await read(FIRST, keys);
    expect(found.map((each) => each?.text ?? null)).toEqual(expected);
    expect(found.map((each) => each?.chunkKey ?? null)).toEqual(
      keys.map((key) => (key % 7n === 0n ? null : (key as ChunkKey))),
    );
  }
  const existing = reads.filter((key) => key % 7n !== 0n);
  // within one call, a key that is given twice is read twice
  expect(new Set(existing).size).toBeGreaterThan(40);
  expect(existing.length).toBeLessThan(2 * new Set(existing).size);
  const before = reads.length;
  await read(FIRST, [7n, 7n]);
  expect(reads.length).toBe(before + 2);
});

test("never gives a project the passage of another one with the same key", async () => {
  const { read } = cached((key) => `text ${key}`);
  expect((await read(FIRST, [1n]))[0]?.text).toBe(`${FIRST} text 1`);
  expect((await read(SECOND, [1n]))[0]?.text).toBe(`${SECOND} text 1`);
  expect((await read(FIRST, [1n]))[0]?.text).toBe(`${FIRST} text 1`);
});

test("forgets the passages of one project", async () => {
  const { recent, reads, read } = cached((key) => `text ${key}`);
  await read(FIRST, [1n, 2n]);
  await read(SECOND, [3n]);
  recent.forget(FIRST);
  reads.length = 0;
  await read(SECOND, [3n]);
  await read(FIRST, [1n, 2n]);
  expect(reads).toEqual([1n, 2n]);
});

test("forgets what was not read for long, and keeps what is read again and again", async () => {
  const { reads, read } = cached(() => "x".repeat(100_000));
  await read(FIRST, [0n]);
  for (let key = 1n; key <= 300n; key++) await read(FIRST, [0n, key]); // 60 MB
  expect(reads.filter((key) => key === 0n)).toHaveLength(1);
  reads.length = 0;
  await read(FIRST, [300n, 1n]);
  expect(reads).toEqual([1n]);
});

test("does not keep a passage whose project changed while it was read", async () => {
  const recent = new RecentPassages();
  const keys = BigUint64Array.of(1n);
  const { promise: stored, resolve } = Promise.withResolvers<readonly Passage[]>();
  const reading = recent.read(FIRST, keys, () => stored);
  recent.forget(FIRST);
  resolve([passage(1n, "old")]);
  expect((await reading)[0]?.text).toBe("old");
  expect(await recent.read(FIRST, keys, async () => [null])).toEqual([null]);
});

test("counts headings as part of a passage's size", async () => {
  const recent = new RecentPassages();
  const reads: bigint[] = [];
  const read = (key: bigint) =>
    recent.read(FIRST, BigUint64Array.of(key), async () => {
      reads.push(key);
      const { place, ...rest } = passage(key, "short");
      return [{ ...rest, place: { ...place, headings: ["x".repeat(100_000)] } }];
    });
  for (let key = 1n; key <= 300n; key++) await read(key); // 60 MB
  reads.length = 0;
  await read(1n);
  expect(reads).toEqual([1n]);
});

test("a failed read fails the call and caches nothing", async () => {
  const recent = new RecentPassages();
  const failure = new Error("the disk is gone");
  const keys = BigUint64Array.of(1n);
  const failing = () => recent.read(FIRST, keys, () => Promise.reject(failure));
  await expect(failing()).rejects.toBe(failure);
  const found = await recent.read(FIRST, keys, async () => [passage(1n, "text")]);
  expect(found[0]?.text).toBe("text");
});
