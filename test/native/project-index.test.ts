// Tests the native core through the addon: visibility, replacement, keys, refusals, repairs. Tests in the Rust code
// check the scores; random histories and crashes have their own files in this folder.

import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NativeError } from "../../src/adapters/native/addon.ts";
import type { Hits, NativeIndex, ProjectIndexOptions } from "../../src/adapters/native/addon-types.ts";
import { filterJson } from "../../src/adapters/native/filter-json.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import {
  chunkKeysOf,
  DIMENSIONS,
  FINGERPRINT,
  live,
  MODEL,
  openIndex,
  publication,
  publish,
  vectorOf,
} from "./corpus.ts";

/** A filter that every memory matches. */
const ANYTHING = filterJson(parseFilter({}));

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function folder(): string {
  const { path, remove } = temporaryFolder();
  cleanups.push(remove);
  return path;
}

async function open(directory: string, options: Partial<ProjectIndexOptions> = {}): Promise<NativeIndex> {
  const opened = await openIndex({
    directory,
    newModel: MODEL,
    ...options,
  });
  expect(opened.repairs).toEqual([]);
  cleanups.push(() => Promise.try(() => opened.index.close()).catch(wasClosedAlready));
  return opened.index;
}

// Accepts the error of closing an index that the test itself has closed before.
function wasClosedAlready(cause: unknown): void {
  expect(codeOf(cause)).toBe("closed");
}

function codeOf(cause: unknown): string {
  expect(cause).toBeInstanceOf(NativeError);
  return cause instanceof NativeError ? cause.code : "";
}

async function refusal(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (cause) {
    return codeOf(cause);
  }
  return "accepted";
}

const keys = (...values: bigint[]) => BigUint64Array.from(values);

/** Publishes memories of one chunk each and shows them to a user. */
async function published(index: NativeIndex, memoryKeys: bigint[], userKey = 0n, expiresAtMs = 0): Promise<void> {
  const { chunks, vectors } = publication(memoryKeys, 1, 1);
  await publish(index, keys(...memoryKeys), chunks, live(vectors));
  show(index, memoryKeys, userKey, expiresAtMs);
}

function show(index: NativeIndex, memoryKeys: bigint[], userKey = 0n, expiresAtMs = 0): void {
  const length = memoryKeys.length;
  index.show(keys(...memoryKeys), new BigUint64Array(length).fill(userKey), new Float64Array(length).fill(expiresAtMs));
}

/** The memories that vector search finds. Checks that full-text search finds the same ones. */
async function found(index: NativeIndex, userKey: bigint | null = null, nowMs = 1, filter?: string): Promise<bigint[]> {
  const within = filter === undefined ? index.admit(userKey, nowMs) : await index.admitWithin(userKey, nowMs, filter);
  const near = await index.searchVectors(FINGERPRINT, vectorOf(1n), within, 1_000);
  const matching = await index.searchText("of", within, 1_000);
  const sorted = (memoryKeys: BigUint64Array) => [...memoryKeys].sort((a, b) => (a < b ? -1 : 1));
  expect(sorted(matching.memoryKeys)).toEqual(sorted(near.memoryKeys));
  expect(within.memories).toBe(near.memoryKeys.length);
  return sorted(near.memoryKeys);
}

describe("visibility", () => {
  test("a published memory is found once it is shown, and not before", async () => {
    const index = await open(folder());
    const { memoryKeys, chunks, vectors } = publication([1n], 1, 1);
    await publish(index, memoryKeys, chunks, live(vectors));
    expect(await found(index)).toEqual([]);
    show(index, [1n]);
    expect(await found(index)).toEqual([1n]);
  });

  test("a user's search sees only that user's memories, a project's search all", async () => {
    const index = await open(folder());
    await published(index, [1n, 2n], 7n);
    await published(index, [3n], 8n);
    await published(index, [4n]);
    expect(await found(index, 7n)).toEqual([1n, 2n]);
    expect(await found(index, 8n)).toEqual([3n]);
    expect(await found(index, 9n)).toEqual([]);
    expect(await found(index)).toEqual([1n, 2n, 3n, 4n]);
  });

  test("a search with a filter sees the memories of its scope that match, by vectors and by text", async () => {
    const index = await open(folder());
    await published(index, [1n, 2n, 3n], 7n);
    await published(index, [4n], 8n);
    await published(index, [5n], 7n, 1_000);
    const describe = (memoryKey: bigint, n: number) =>
      index.describe(keys(memoryKey), [JSON.stringify({ metadata: { n } })]);
    for (const memoryKey of [1n, 2n, 3n, 4n, 5n]) await describe(memoryKey, Number(memoryKey));
    index.hide(keys(3n));
    const asked = (userKey: bigint | null, ...numbers: number[]) =>
      found(index, userKey, 1_000, filterJson(parseFilter({ "metadata.n": { $in: numbers } })));
    expect(await asked(7n, 5, 4, 3, 2, 2, 99)).toEqual([2n]);
    expect(await asked(null, 4, 1)).toEqual([1n, 4n]);
    expect(await asked(null)).toEqual([]);
    expect(await asked(9n, 1)).toEqual([]);
    await describe(1n, 40);
    expect(await asked(null, 1, 2)).toEqual([2n]);
    expect(await asked(null, 40)).toEqual([1n]);
    expect(await found(index, null, 1_000)).toEqual([1n, 2n, 4n]);
  });

  test("a memory is invisible from the millisecond of its expiry on", async () => {
    const index = await open(folder());
    await published(index, [1n], 0n, 1_000);
    await published(index, [2n]);
    expect(await found(index, null, 999)).toEqual([1n, 2n]);
    expect(await found(index, null, 1_000)).toEqual([2n]);
    show(index, [1n], 0n, 2_000);
    expect(await found(index, null, 1_000)).toEqual([1n, 2n]);
  });

  test("a hidden memory is invisible to admissible sets that were made before", async () => {
    const index = await open(folder());
    await published(index, [1n, 2n]);
    const within = index.admit(null, 1);
    index.hide(keys(1n));
    expect([...(await index.searchVectors(FINGERPRINT, vectorOf(1n), within, 10)).memoryKeys]).toEqual([2n]);
    expect([...(await index.searchText("of", within, 10)).memoryKeys]).toEqual([2n]);
  });

  test("nothing is visible after reopening until it is shown again", async () => {
    const directory = folder();
    const first = await open(directory);
    await published(first, [1n]);
    await first.close();
    const second = await open(directory);
    expect(await found(second)).toEqual([]);
    show(second, [1n]);
    expect(await found(second)).toEqual([1n]);
  });
});

describe("contents", () => {
  test("publishing again replaces what a memory had, and repeating it changes nothing", async () => {
    const index = await open(folder());
    const versions = [publication([1n], 1, 3), publication([1n], 2, 2), publication([1n], 2, 2)];
    show(index, [1n]);
    for (const { memoryKeys, chunks, vectors } of versions) await publish(index, memoryKeys, chunks, live(vectors));
    const [one = 0n, two = 0n] = chunkKeysOf(1n, 2, 2);
    const hits = await index.searchVectors(FINGERPRINT, vectorOf(two), index.admit(null, 1), 10);
    expect([...hits.chunkKeys]).toEqual([two, one]);
    expect(hits.scores[0]).toBeCloseTo(1, 2);
    expect([...(await index.searchText("of", index.admit(null, 1), 10)).chunkKeys].sort()).toEqual([one, two]);
    expect((await index.searchText(`c${chunkKeysOf(1n, 1, 1)[0]}`, index.admit(null, 1), 10)).chunkKeys).toHaveLength(
      0,
    );
  });

  test("publishing without chunks removes the chunks of a memory", async () => {
    const index = await open(folder());
    await published(index, [1n, 2n]);
    await publish(index, keys(1n), [], live(new Float32Array(0)));
    expect([...(await index.searchVectors(FINGERPRINT, vectorOf(1n), index.admit(null, 1), 10)).memoryKeys]).toEqual([
      2n,
    ]);
    expect(index.stats().chunks).toBe(1);
  });

  test("keys above 2^53 are returned unchanged", async () => {
    const index = await open(folder());
    const memoryKey = 2n ** 64n - 2n;
    const chunkKeys = [2n ** 53n + 1n, 2n ** 63n + 3n, 2n ** 64n - 2n];
    const chunks = chunkKeys.map((chunkKey) => ({
      ...{ chunkKey, memoryKey, own: `c${chunkKey}`, context: null, language: "und" },
      ...{ passage: `p${chunkKey}`, place: `at ${chunkKey}` },
    }));
    const vectors = new Float32Array(chunkKeys.flatMap((key) => [...vectorOf(key)]));
    await publish(index, keys(memoryKey), chunks, live(vectors));
    show(index, [memoryKey], 2n ** 60n + 1n);
    const within = index.admit(2n ** 60n + 1n, 1);
    for (const chunkKey of chunkKeys) {
      for (const hits of [
        await index.searchVectors(FINGERPRINT, vectorOf(chunkKey), within, 1),
        await index.searchText(`c${chunkKey}`, within, 1),
      ]) {
        expect([...hits.chunkKeys]).toEqual([chunkKey]);
        expect([...hits.memoryKeys]).toEqual([memoryKey]);
      }
    }
    expect(await index.passages(keys(...chunkKeys))).toEqual(
      chunkKeys.map((key) => ({ text: `p${key}`, place: `at ${key}` })),
    );
    expect(index.admit(2n ** 60n, 1).memories).toBe(0);
  });

  test("passages and BM25 scores keep the requested order, with duplicates and unknown chunks", async () => {
    const index = await open(folder());
    await published(index, [1n, 2n]);
    const [one = 0n] = chunkKeysOf(1n, 1, 1);
    const [two = 0n] = chunkKeysOf(2n, 1, 1);
    const asked = keys(two, 5n, one, two);
    const passages = await index.passages(asked);
    expect(passages.map((passage) => passage?.text ?? null)).toEqual([
      `passage ${two}`,
      null,
      `passage ${one}`,
      `passage ${two}`,
    ]);
    const [atTwo, stranger, atOne, again] = await index.scoreText(`c${two}`, asked);
    expect([stranger, atOne]).toEqual([0, 0]);
    expect(atTwo).toBeGreaterThan(0.1);
    expect(again).toBe(atTwo ?? Number.NaN);
    const best = await index.searchText(`c${two}`, index.admit(null, 1), 10);
    expect(best.scores[0]).toBe(atTwo ?? Number.NaN);
  });

  test("cosine similarities equal those of a search, in the requested order; unknown chunks have none", async () => {
    const index = await open(folder());
    await published(index, [1n, 2n, 3n]);
    const [one = 0n, two = 0n, three = 0n] = [1n, 2n, 3n].flatMap((memoryKey) => chunkKeysOf(memoryKey, 1, 1));
    await index.remove(keys(3n));
    const query = vectorOf(77n);
    const asked = [
      [two, 2n],
      [one, 2n],
      [one, 1n],
      [two, 2n],
      [three, 3n],
      [9n, 99n],
    ] as const;
    const similarities = await index.scoreVectors(
      FINGERPRINT,
      query,
      keys(...asked.map(([chunkKey]) => chunkKey)),
      keys(...asked.map(([, memoryKey]) => memoryKey)),
    );
    const near = await index.searchVectors(FINGERPRINT, query, index.admit(null, 1), 10);
    const byChunk = new Map([...near.chunkKeys].map((chunkKey, at) => [chunkKey, near.scores[at]]));
    const [atTwo, atOne] = [byChunk.get(two) ?? 0, byChunk.get(one) ?? 0];
    expect([...similarities]).toEqual([atTwo, Number.NaN, atOne, atTwo, Number.NaN, Number.NaN]);
    expect(await index.scoreVectors(FINGERPRINT, query, keys(), keys())).toHaveLength(0);
    expect(index.stats().memories).toBe(3);
  });

  test("any string can be indexed and searched", async () => {
    const index = await open(folder());
    const texts = [
      "",
      " ",
      "\0",
      "\ud800 lone",
      "a".repeat(200_000),
      "ไทย 中文 हिन्दी 🙂",
      "\u202e\ufeff",
      '"quoted" AND (x OR -y)',
    ];
    const chunks = texts.map((text, at) => ({
      ...{
        chunkKey: BigInt(at + 1),
        memoryKey: 1n,
        own: text,
        context: at % 2 ? text : null,
        language: text,
        passage: text,
        place: "",
      },
    }));
    const vectors = new Float32Array(chunks.flatMap(({ chunkKey }) => [...vectorOf(chunkKey)]));
    await publish(index, keys(1n), chunks, live(vectors));
    show(index, [1n]);
    for (const text of texts) await index.searchText(text, index.admit(null, 1), 10);
    const [thai] = await index.passages(keys(6n));
    expect(thai?.text).toBe(texts[5] ?? "");
    expect((await index.searchText("中文", index.admit(null, 1), 10)).chunkKeys[0]).toBe(6n);
  });

  test("reconcile reports missing and extra vectors and postings separately", async () => {
    const directory = folder();
    const first = await open(directory);
    await published(first, [1n, 2n]);
    await first.close();
    rmSync(join(directory, "text"), { recursive: true });
    const index = await open(directory);
    const [one = 0n] = chunkKeysOf(1n, 1, 1);
    const [two = 0n] = chunkKeysOf(2n, 1, 1);
    const differences = await index.reconcile(keys(one, 77n));
    expect([...differences.missingVectors]).toEqual([77n]);
    expect([...differences.missingPostings]).toEqual([77n, one]);
    expect([...differences.extraVectors]).toEqual([two]);
    expect([...differences.extraPostings]).toEqual([]);
    expect([...differences.surplusMemories]).toEqual([2n]);
  });

  test("removed memories stay removed, and the log is rewritten when a quarter of it is dead", async () => {
    const directory = folder();
    const index = await open(directory);
    const memoryKeys = Array.from({ length: 1_000 }, (_, at) => BigInt(at + 1));
    await published(index, memoryKeys);
    expect(await index.compactIfNeeded()).toBe(false);
    const before = index.stats();
    await index.remove(keys(...memoryKeys.slice(0, 400)));
    expect(await index.compactIfNeeded()).toBe(true);
    const after = index.stats();
    expect([after.chunks, after.deadChunks]).toEqual([600, 0]);
    expect(after.logBytes).toBeLessThan(before.logBytes);
    await index.close();
    const reopened = await open(directory);
    show(reopened, memoryKeys);
    const near = await reopened.searchVectors(FINGERPRINT, vectorOf(1n), reopened.admit(null, 1), 1_000);
    expect(near.memoryKeys).toHaveLength(600);
    expect(near.memoryKeys.every((key) => key > 400n)).toBe(true);
  });
});

describe("a publication so large that it is passed to the core in slices", () => {
  const LARGE = 1_000;

  test("arrives complete, each text with its chunk", async () => {
    const index = await open(folder());
    const { memoryKeys, chunks, vectors } = publication([1n], 1, LARGE);
    await publish(index, memoryKeys, chunks, live(vectors));
    expect(await index.passages(BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey))).toEqual(
      chunks.map(({ passage, place }) => ({ text: passage, place })),
    );
    expect(index.stats().chunks).toBe(LARGE);
  });
});

describe("refusals", () => {
  test("a bad publication is refused as a whole, and nothing changes", async () => {
    const index = await open(folder());
    await published(index, [1n]);
    const good = publication([2n, 3n], 1, 1);
    const [first, second] = good.chunks;
    if (first === undefined || second === undefined) throw new Error("two chunks were made");
    const withVector = (change: (vectors: Float32Array) => void) => {
      const vectors = good.vectors.slice();
      change(vectors);
      return vectors;
    };
    const bad: [string, BigUint64Array, typeof good.chunks, Float32Array][] = [
      [
        "NaN",
        good.memoryKeys,
        good.chunks,
        withVector((vectors) => vectors.fill(Number.NaN, DIMENSIONS, DIMENSIONS + 1)),
      ],
      ["zero", good.memoryKeys, good.chunks, withVector((vectors) => vectors.fill(0, 0, DIMENSIONS))],
      ["too long", good.memoryKeys, good.chunks, good.vectors.map((component) => component * 1.02)],
      ["a component missing", good.memoryKeys, good.chunks, good.vectors.slice(1)],
      ["a chunk too many", good.memoryKeys, good.chunks.slice(1), good.vectors],
      ["a chunk key twice", good.memoryKeys, [first, { ...second, chunkKey: first.chunkKey }], good.vectors],
      ["a memory key twice", keys(2n, 2n, 3n), good.chunks, good.vectors],
      ["a chunk of a memory not given", keys(2n), good.chunks, good.vectors],
      ["a reserved memory key", keys(2n, 3n, 0n), good.chunks, good.vectors],
      ["the other reserved memory key", keys(2n, 3n, 2n ** 64n - 1n), good.chunks, good.vectors],
      ["a reserved chunk key", good.memoryKeys, [first, { ...second, chunkKey: 0n }], good.vectors],
      ["the other reserved chunk key", good.memoryKeys, [first, { ...second, chunkKey: 2n ** 64n - 1n }], good.vectors],
    ];
    for (const [what, memoryKeys, chunks, vectors] of bad) {
      expect([what, await refusal(() => publish(index, memoryKeys, chunks, live(vectors)))]).toEqual([what, "invalid"]);
    }
    expect(index.stats().chunks).toBe(1);
    expect((await index.reconcile(keys())).extraPostings).toHaveLength(1);
  });

  test("bad searches are refused", async () => {
    const index = await open(folder());
    const other = await open(folder());
    await published(index, [1n]);
    const within = index.admit(null, 1);
    const hybrid = (textHits: Partial<Hits>) =>
      index.searchHybrid(
        { text: "kite", fingerprint: FINGERPRINT, vector: query },
        { chunkKeys: keys(), memoryKeys: keys(), scores: Float32Array.of(0.5, 0.25), ...textHits },
        within,
        10,
      );
    const query = vectorOf(1n);
    const bad: [string, () => unknown][] = [
      ["a set of another project, nearest", () => index.searchVectors(FINGERPRINT, query, other.admit(null, 1), 10)],
      ["a set of another project, match", () => index.searchText("of", other.admit(null, 1), 10)],
      ["no hits", () => index.searchVectors(FINGERPRINT, query, within, 0)],
      ["too many hits", () => index.searchText("of", within, 2_001)],
      ["a zero vector", () => index.searchVectors(FINGERPRINT, new Float32Array(DIMENSIONS), within, 10)],
      [
        "a NaN vector",
        () => index.searchVectors(FINGERPRINT, new Float32Array(DIMENSIONS).fill(Number.NaN), within, 10),
      ],
      ["a short vector", () => index.searchVectors(FINGERPRINT, query.slice(1), within, 10)],
      ["user 0", () => index.admit(0n, 1)],
      ["a negative user", () => index.admit(-1n, 1)],
      ["a user beyond 64 bits", () => index.admit(2n ** 64n, 1)],
      ["no moment", () => index.admit(null, Number.NaN)],
      ["chunks without their memories", () => index.scoreVectors(FINGERPRINT, query, keys(1n, 2n), keys(1n))],
      [
        "similarities to a zero vector",
        () => index.scoreVectors(FINGERPRINT, new Float32Array(DIMENSIONS), keys(), keys()),
      ],
      ["text hits without their memories", () => hybrid({ chunkKeys: keys(1n, 2n), memoryKeys: keys(1n) })],
      ["text hits without their scores", () => hybrid({ chunkKeys: keys(1n), memoryKeys: keys(1n) })],
      [
        "too many text hits",
        () => {
          const many = new BigUint64Array(2_001).fill(1n);
          return hybrid({ chunkKeys: many, memoryKeys: many, scores: new Float32Array(many.length) });
        },
      ],
      ["chunks to compare without their memories", () => index.compareVectors(keys(1n, 2n), keys(1n))],
      [
        "too many chunks to compare",
        () => index.compareVectors(new BigUint64Array(257).fill(1n), new BigUint64Array(257).fill(1n)),
      ],
      ["arrays of different lengths", () => index.show(keys(1n), keys(), new Float64Array(1))],
      ["a negative expiry", () => index.show(keys(1n), keys(0n), new Float64Array([-1]))],
      ["a reserved memory key", () => index.show(keys(0n), keys(0n), new Float64Array(1))],
      ["a reserved memory key, described", () => index.describe(keys(0n), ["{}"])],
      ["too few attributes", () => index.describe(keys(1n, 2n), ["{}"])],
      ["too many attributes", () => index.show(keys(1n), keys(0n), new Float64Array(1), ["{}", "{}"])],
      ["attributes that are no JSON", () => index.show(keys(1n), keys(0n), new Float64Array(1), ["{"])],
      ["attributes that are no object", () => index.describe(keys(1n), ["[]"])],
      ["a filter that is none", () => index.admitWithin(null, 1, '{"kind":"xor"}')],
      ["a filter for user 0", () => index.admitWithin(0n, 1, ANYTHING)],
      ["a filter at no moment", () => index.admitWithin(null, -1, ANYTHING)],
    ];
    for (const [what, call] of bad) expect([what, await refusal(call)]).toEqual([what, "invalid"]);
    expect((await index.searchVectors(FINGERPRINT, query, within, 2_000)).chunkKeys).toHaveLength(1);
  });

  test("values of the wrong kind are errors, not aborts", async () => {
    const index = await open(folder());
    const wrong: [string, () => unknown][] = [
      ["keys as numbers", () => index.hide([1, 2] as unknown as BigUint64Array)],
      ["a query that is no string", () => index.searchText(7 as unknown as string, index.admit(null, 1), 10)],
      ["attributes that are no texts", () => index.describe(keys(1n), [{}] as unknown as string[])],
      ["a filter that is no text", () => index.admitWithin(null, 1, {} as unknown as string)],
      ["a set that is none", () => index.searchText("of", {} as unknown as { memories: number }, 10)],
      ["chunks that are none", () => publish(index, keys(1n), [{}] as never, live(new Float32Array(DIMENSIONS)))],
      ["nothing at all", () => index.passages(undefined as unknown as BigUint64Array)],
    ];
    for (const [what, call] of wrong) {
      const code = await refusal(call).catch((cause) => String(cause));
      expect([what, code === "accepted"]).toEqual([what, false]);
    }
    expect(index.stats().chunks).toBe(0);
  });

  test("a project keeps its model when it is opened with another, and refuses vectors of the other, naming both", async () => {
    const directory = folder();
    const first = await open(directory);
    await published(first, [1n]);
    await first.close();
    const index = await open(directory, { newModel: { fingerprint: "model-b", dimensions: 25 } });
    expect(index.models()).toEqual({ live: MODEL, building: null, previous: null });
    const within = index.admit(null, 1);
    const { memoryKeys, chunks, vectors } = publication([1n], 2, 1);
    const calls = [
      () => index.searchVectors("model-b", vectorOf(1n), within, 1),
      () => index.scoreVectors("model-b", vectorOf(1n), keys(1n), keys(1n)),
      () => publish(index, memoryKeys, chunks, [{ fingerprint: "model-b", vectors }]),
      () => publish(index, memoryKeys, chunks, []),
    ];
    for (const call of calls) {
      const cause = await Promise.try<unknown, []>(call).catch((thrown: unknown) => thrown);
      expect(codeOf(cause)).toBe("other_model");
      expect(String(cause)).toContain("model-a");
    }
    expect(index.stats().chunks).toBe(1);
  });

  test("a project of an impossible model is refused", async () => {
    for (const model of [
      { fingerprint: "x", dimensions: 0 },
      { fingerprint: "x", dimensions: 4_097 },
      { fingerprint: "two\nlines", dimensions: DIMENSIONS },
      { fingerprint: "", dimensions: DIMENSIONS },
    ]) {
      const opening = () => openIndex({ directory: folder(), newModel: model });
      expect(await refusal(opening)).toBe("invalid");
    }
  });

  test("every call on a closed index is refused, and closing lets the same process open it again", async () => {
    const directory = folder();
    const index = await open(directory);
    await published(index, [1n]);
    const within = index.admit(null, 1);
    const underWay = [index.searchText("of", within, 10), index.searchVectors(FINGERPRINT, vectorOf(1n), within, 10)];
    await index.close();
    for (const search of underWay) expect((await search).chunkKeys).toHaveLength(1);
    const calls = [
      () => index.hide(keys(1n)),
      () => index.admit(null, 1),
      () => index.admitWithin(null, 1, ANYTHING),
      () => index.describe(keys(1n), ["{}"]),
      () => index.scoreVectors(FINGERPRINT, vectorOf(1n), keys(1n), keys(1n)),
      () => index.searchText("of", within, 10),
      () => index.remove(keys(1n)),
      () => index.stats(),
      () => index.close(),
    ];
    for (const call of calls) expect(await refusal(call)).toBe("closed");
    const again = await open(directory);
    await published(again, [2n]);
    expect(again.stats().chunks).toBe(2);
  });

  test("a folder that cannot be written is an io error", async () => {
    const directory = folder();
    writeFileSync(join(directory, "file"), "");
    const opening = openIndex({
      directory: join(directory, "file"),
      newModel: { fingerprint: "x", dimensions: 4 },
    });
    expect(await refusal(() => opening)).toBe("io");
  });
});

describe("damage", () => {
  /** Publishes three memories, closes the index, and lets a test damage the files. */
  async function damagedIndex(
    damage: (directory: string) => void,
  ): Promise<{ index: NativeIndex; repairs: readonly string[] }> {
    const directory = folder();
    const index = await open(directory);
    await published(index, [1n, 2n, 3n]);
    await index.close();
    damage(directory);
    const opened = await openIndex({
      directory,
      newModel: MODEL,
    });
    cleanups.push(() => opened.index.close());
    return opened;
  }

  function flip(path: string, at: (length: number) => number): void {
    const bytes = readFileSync(path);
    const position = at(bytes.length);
    bytes[position] = (bytes[position] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  }

  test("a flipped bit in the vector log costs one chunk, which reconcile reports", async () => {
    const { index, repairs } = await damagedIndex((directory) =>
      flip(join(directory, "vectors/vectors.log"), (length) => Math.floor(512 + (length - 512) / 2)),
    );
    expect(repairs).toHaveLength(1);
    const expected = [1n, 2n, 3n].flatMap((key) => chunkKeysOf(key, 1, 1));
    const { missingVectors, missingPostings } = await index.reconcile(keys(...expected));
    expect([...missingVectors]).toEqual(chunkKeysOf(2n, 1, 1));
    expect(missingPostings).toHaveLength(0);
  });

  test("a damaged log header or text index is set aside and reported, and can be published again", async () => {
    const { index, repairs } = await damagedIndex((directory) => {
      flip(join(directory, "vectors/vectors.log"), () => 10);
      const text = join(directory, "text");
      const store = readdirSync(text).find((name) => name.endsWith(".store")) ?? "";
      flip(join(text, store), (length) => Math.floor(length / 2));
    });
    expect(repairs).toHaveLength(2);
    expect(repairs.every((sentence) => sentence.includes("set aside"))).toBe(true);
    expect(index.stats().chunks).toBe(0);
    await published(index, [1n, 2n, 3n]);
    expect(await found(index)).toEqual([1n, 2n, 3n]);
  });
});
