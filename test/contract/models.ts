// Contract of Embedder and Reranker (src/ports/models.ts). Every implementation must pass it; `open` creates the one to
// test. The quality of vectors and logits is measured by the implementation's own tests and the benches.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Embedder, Reranker } from "../../src/ports/models.ts";
import { codeOf, errorOf } from "./stores.ts";

/** An embedder and a reranker whose calls wait in the same queue. */
export interface OpenedModels {
  readonly models: Embedder & Reranker;
  close(): Promise<void>;
}

/** Opens models. `callsMax` is the maximum number of query calls that run or wait. */
export type OpenModels = (options: { readonly callsMax?: number }) => Promise<OpenedModels>;

const TEXTS = [
  "The heron waits beside the river.",
  "A train leaves Köln at seven.",
  "Remember to buy oat milk on Tuesday",
  "🙂 naïve café, Straße",
  "中文也可以",
];
const QUERY = "When does the train leave Köln?";
/** Maximum difference between components of two vectors that count as equal. */
const VECTOR_TOLERANCE = 1e-6;
/** Maximum difference between two logits that count as equal. */
const LOGIT_TOLERANCE = 1e-3;

/** Runs the contracts against the models that `open` makes. */
export function modelContracts(implementation: string, open: OpenModels): void {
  let opened: OpenedModels;
  let models: Embedder & Reranker;
  beforeAll(async () => {
    opened = await open({});
    ({ models } = opened);
  });
  afterAll(() => opened.close());

  const vectorAt = (vectors: Float32Array, at: number) =>
    vectors.subarray(at * models.dimensions, (at + 1) * models.dimensions);

  describe(`${implementation} as Embedder`, () => {
    test("describes its model", () => {
      expect(models.dimensions).toBeGreaterThan(1);
      expect(models.tokensMax).toBeGreaterThan(1);
      expect(models.fingerprint).not.toBe("");
      expect(models.languages.length).toBeGreaterThan(0);
    });

    test("returns one vector of unit length per text, in their order", async () => {
      const vectors = await models.embed(TEXTS, "ingest");
      expect(vectors).toHaveLength(TEXTS.length * models.dimensions);
      for (const [at, text] of TEXTS.entries()) {
        expect(Math.hypot(...vectorAt(vectors, at))).toBeCloseTo(1, 3);
        expectSameVector(vectorAt(vectors, at), await models.embed([text], "query"));
      }
    });

    test("returns the same vector for a text in any batch", async () => {
      const alone = await models.embed([TEXTS[0] ?? ""], "query");
      const batch = ["x", TEXTS[0] ?? "", "Retrieval finds what was stored. ".repeat(40), ...TEXTS];
      const together = await models.embed(batch, "ingest");
      expectSameVector(vectorAt(together, 1), alone);
      expectSameVector(vectorAt(together, 3), alone);
    });

    test("returns different vectors for different texts", async () => {
      const vectors = await models.embed(TEXTS.slice(0, 3), "query");
      for (const [a, b] of [
        [0, 1],
        [1, 2],
        [0, 2],
      ] as const) {
        expect(largestDifference(vectorAt(vectors, a), vectorAt(vectors, b))).toBeGreaterThan(0.01);
      }
    });

    test("ignores text beyond the model's limit", async () => {
      const long = "memory ".repeat(models.tokensMax);
      const vectors = await models.embed([long, `${long} and something else`], "ingest");
      expectSameVector(vectorAt(vectors, 0), vectorAt(vectors, 1));
    });

    test("accepts no texts, empty ones and malformed ones", async () => {
      expect(await models.embed([], "query")).toHaveLength(0);
      const texts = ["", " \n", "\ud800", "\0"];
      const vectors = await models.embed(texts, "ingest");
      for (const at of texts.keys()) expect(Math.hypot(...vectorAt(vectors, at))).toBeCloseTo(1, 3);
    });
  });

  describe(`${implementation} as Reranker`, () => {
    test("returns one logit per passage, larger for more relevant passages", async () => {
      const logits = await models.score(QUERY, TEXTS);
      expect(logits).toHaveLength(TEXTS.length);
      expect(logits.every(Number.isFinite)).toBe(true);
      expect(logits.indexOf(Math.max(...logits))).toBe(1);
    });

    test("returns the same logit for a passage with any other passages, in any order", async () => {
      const logits = await models.score(QUERY, TEXTS);
      expectSameLogits(await models.score(QUERY, TEXTS.toReversed()), logits.toReversed());
      expectSameLogits(await models.score(QUERY, [TEXTS[1] ?? ""]), logits.slice(1, 2));
    });

    test("accepts no passages, empty ones and malformed ones", async () => {
      expect(await models.score(QUERY, [])).toHaveLength(0);
      expect(await models.score("", ["", "\ud800", "a".repeat(20_000)])).toHaveLength(3);
    });

    test("is not affected by an early exit that has room for all passages", async () => {
      const earlyExit = { priorScores: TEXTS.map((_, at) => at), fullTokensMax: 1_000_000 };
      const logits = await models.score(QUERY, TEXTS, undefined, undefined, earlyExit);
      expectSameLogits(logits, await models.score(QUERY, TEXTS));
    });

    test("returns one logit per passage with an early exit, too", async () => {
      const earlyExit = { priorScores: TEXTS.map(() => 0), fullTokensMax: 1 };
      const logits = await models.score(QUERY, TEXTS, undefined, undefined, earlyExit);
      expect(logits).toHaveLength(TEXTS.length);
      expect(logits.every(Number.isFinite)).toBe(true);
    });
  });

  describe(`${implementation}: the queue of the models`, () => {
    test("calls onBegin once per call, before the result", async () => {
      const events: string[] = [];
      await models.embed(TEXTS, "query", undefined, () => events.push("embed begins"));
      events.push("embedded");
      await models.score(QUERY, TEXTS, undefined, () => events.push("score begins"));
      expect(events).toEqual(["embed begins", "embedded", "score begins"]);
    });

    test("rejects an aborted call with the reason, and does not start it", async () => {
      const reason = new Error("the caller left");
      const events: string[] = [];
      const gone = AbortSignal.abort(reason);
      expect(await errorOf(() => models.embed(TEXTS, "query", gone, () => events.push("begun")))).toBe(reason);
      expect(await errorOf(() => models.score(QUERY, TEXTS, gone, () => events.push("begun")))).toBe(reason);
      const busy = Array.from({ length: 8 }, () => models.embed(["Retrieval finds. ".repeat(200)], "query"));
      const stop = new AbortController();
      const waiting = models.embed(TEXTS, "query", stop.signal, () => events.push("begun"));
      stop.abort(reason);
      expect(await errorOf(() => waiting)).toBe(reason);
      await Promise.all(busy);
      expect(events).toEqual([]);
    });

    test("refuses calls beyond its limit, and has room again after an answer", async () => {
      const small = await open({ callsMax: 2 });
      try {
        const waiting = [small.models.embed(["a"], "query"), small.models.score("b", ["c"])];
        expect(await codeOf(() => small.models.embed(["d"], "query"))).toBe("overloaded");
        await Promise.all(waiting);
        expect(await small.models.embed(["d"], "query")).toHaveLength(small.models.dimensions);
      } finally {
        await small.close();
      }
    });
  });
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return a.reduce((largest, value, at) => Math.max(largest, Math.abs(value - (b[at] ?? 0))), 0);
}

function expectSameVector(a: Float32Array, b: Float32Array): void {
  expect(largestDifference(a, b)).toBeLessThan(VECTOR_TOLERANCE);
}

function expectSameLogits(a: Float32Array, b: Float32Array): void {
  expect(largestDifference(a, b)).toBeLessThan(LOGIT_TOLERANCE);
}
