// Contract of Embedder and Reranker (src/ports/models.ts). Every implementation must pass it; `open` creates the one to
// test. The quality of vectors and logits is measured by the implementation's own tests and the benches.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Embedder, Embedders, Reranker, Rerankers } from "../../src/ports/models.ts";
import { codeOf, errorOf } from "./stores.ts";

/** Embedders and rerankers whose calls wait in the same queue. The default embedder has a reranker. */
export interface OpenedModels {
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
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
/** Options for a call at low and at high priority. */
const LATER = { purpose: "passage", priority: "ingest" } as const;
const NOW = { purpose: "passage", priority: "query" } as const;
const QUERY = "When does the train leave Köln?";
/** Maximum difference between components of two vectors that count as equal. */
const VECTOR_TOLERANCE = 1e-6;
/** Maximum difference between two logits that count as equal. */
const LOGIT_TOLERANCE = 1e-3;

/** Runs the contracts against the models that `open` makes. */
export function modelContracts(implementation: string, open: OpenModels): void {
  let opened: OpenedModels;
  let embedder: Embedder;
  let reranker: Reranker;
  const defaultOf = ({ embedders, rerankers }: OpenedModels) => {
    const found = rerankers.for(embedders.default);
    if (found === null) throw new Error("the default embedder has no reranker");
    return { embedder: embedders.default, reranker: found };
  };
  beforeAll(async () => {
    opened = await open({});
    ({ embedder, reranker } = defaultOf(opened));
  });
  afterAll(() => opened.close());

  const vectorAt = (vectors: Float32Array, at: number) =>
    vectors.subarray(at * embedder.dimensions, (at + 1) * embedder.dimensions);

  describe(`${implementation} as Embedder`, () => {
    test("describes its model", () => {
      expect(embedder.id).not.toBe("");
      for (const evidenceMin of Object.values(embedder.tuning.evidenceMin)) expect(evidenceMin).toBeWithin(0, 1);
      expect(embedder.dimensions).toBeGreaterThan(1);
      expect(embedder.tokensMax).toBeGreaterThan(1);
      expect(embedder.fingerprint).not.toBe("");
      expect(embedder.languages.length).toBeGreaterThan(0);
    });

    test("returns one vector of unit length per text, in their order", async () => {
      const vectors = await embedder.embed(TEXTS, LATER);
      expect(vectors).toHaveLength(TEXTS.length * embedder.dimensions);
      for (const [at, text] of TEXTS.entries()) {
        expect(Math.hypot(...vectorAt(vectors, at))).toBeCloseTo(1, 3);
        expectSameVector(vectorAt(vectors, at), await embedder.embed([text], NOW));
      }
    });

    test("returns the same vector for a text in any batch", async () => {
      const alone = await embedder.embed([TEXTS[0] ?? ""], NOW);
      const batch = ["x", TEXTS[0] ?? "", "Retrieval finds what was stored. ".repeat(40), ...TEXTS];
      const together = await embedder.embed(batch, LATER);
      expectSameVector(vectorAt(together, 1), alone);
      expectSameVector(vectorAt(together, 3), alone);
    });

    test("returns different vectors for different texts", async () => {
      const vectors = await embedder.embed(TEXTS.slice(0, 3), NOW);
      for (const [a, b] of [
        [0, 1],
        [1, 2],
        [0, 2],
      ] as const) {
        expect(largestDifference(vectorAt(vectors, a), vectorAt(vectors, b))).toBeGreaterThan(0.01);
      }
    });

    test("ignores text beyond the model's limit", async () => {
      const long = "memory ".repeat(embedder.tokensMax);
      const vectors = await embedder.embed([long, `${long} and something else`], LATER);
      expectSameVector(vectorAt(vectors, 0), vectorAt(vectors, 1));
    });

    test("counts the tokens of each text, which decide what is cut off", async () => {
      const short = "The heron waits.";
      expect(await embedder.countTokens([], NOW)).toEqual([]);
      const [empty = 0, one = 0, again = 0, other = 0] = await embedder.countTokens(
        ["", short, short, TEXTS[1] ?? ""],
        LATER,
      );
      expect(empty).toBeGreaterThanOrEqual(1);
      expect(one).toBeGreaterThan(empty);
      expect([again, other > empty]).toEqual([one, true]);
      expect(await embedder.countTokens([short], NOW)).toEqual([one]);
      // as many words of one token each as fit, and one more
      const [step = 0] = await embedder.countTokens(["memory memory"], NOW);
      const [single = 0] = await embedder.countTokens(["memory"], NOW);
      const words = Math.floor((embedder.tokensMax - single) / (step - single)) + 1;
      const texts = [words - 1, words, words + 1].map((count) => Array(count).fill("memory").join(" "));
      const [, fits = 0, over = 0] = await embedder.countTokens(texts, LATER);
      expect(fits).toBeLessThanOrEqual(embedder.tokensMax);
      expect(over).toBeGreaterThan(embedder.tokensMax);
      const vectors = await embedder.embed(texts, LATER);
      expect(largestDifference(vectorAt(vectors, 0), vectorAt(vectors, 1))).toBeGreaterThan(0);
      expectSameVector(vectorAt(vectors, 1), vectorAt(vectors, 2));
    });

    test("accepts no texts, empty ones and malformed ones", async () => {
      expect(await embedder.embed([], NOW)).toHaveLength(0);
      const texts = ["", " \n", "\ud800", "\0"];
      const vectors = await embedder.embed(texts, LATER);
      for (const at of texts.keys()) expect(Math.hypot(...vectorAt(vectors, at))).toBeCloseTo(1, 3);
    });
  });

  describe(`${implementation} as Embedders`, () => {
    test("finds each embedder by its id and by its fingerprint", () => {
      const { embedders } = opened;
      expect(embedders.ids).toContain(embedders.default.id);
      expect(embedders.ids).toEqual([...embedders.ids].sort());
      for (const id of embedders.ids) {
        expect(embedders.get(id).id).toBe(id);
        expect(embedders.withFingerprint(embedders.get(id).fingerprint)).toBe(embedders.get(id));
      }
      expect(embedders.get(embedders.default.id)).toBe(embedders.default);
    });

    test("refuses an unknown id and lists the known ones; an unknown fingerprint has no embedder", async () => {
      const error = await errorOf(() => opened.embedders.get("of-a-stranger"));
      expect(error).toMatchObject({ code: "invalid_request" });
      for (const id of opened.embedders.ids) expect(String(error)).toContain(id);
      expect(opened.embedders.withFingerprint("of a stranger")).toBeNull();
    });
  });

  describe(`${implementation} as Reranker`, () => {
    test("names its languages", () => expect(reranker.languages.length).toBeGreaterThan(0));

    test("returns one logit per passage, larger for more relevant passages", async () => {
      const logits = await reranker.score(QUERY, TEXTS);
      expect(logits).toHaveLength(TEXTS.length);
      expect(logits.every(Number.isFinite)).toBe(true);
      expect(logits.indexOf(Math.max(...logits))).toBe(1);
    });

    test("returns the same logit for a passage with any other passages, in any order", async () => {
      const logits = await reranker.score(QUERY, TEXTS);
      expectSameLogits(await reranker.score(QUERY, TEXTS.toReversed()), logits.toReversed());
      expectSameLogits(await reranker.score(QUERY, [TEXTS[1] ?? ""]), logits.slice(1, 2));
    });

    test("accepts no passages, empty ones and malformed ones", async () => {
      expect(await reranker.score(QUERY, [])).toHaveLength(0);
      expect(await reranker.score("", ["", "\ud800", "a".repeat(20_000)])).toHaveLength(3);
    });

    test("is not affected by an early exit that has room for all passages", async () => {
      const earlyExit = { priorScores: TEXTS.map((_, at) => at), fullTokensMax: 1_000_000 };
      const logits = await reranker.score(QUERY, TEXTS, { earlyExit });
      expectSameLogits(logits, await reranker.score(QUERY, TEXTS));
    });

    test("returns one logit per passage with an early exit, too", async () => {
      const earlyExit = { priorScores: TEXTS.map(() => 0), fullTokensMax: 1 };
      const logits = await reranker.score(QUERY, TEXTS, { earlyExit });
      expect(logits).toHaveLength(TEXTS.length);
      expect(logits.every(Number.isFinite)).toBe(true);
    });
  });

  describe(`${implementation} as Reranker with a deadline`, () => {
    const many = Array.from({ length: 200 }, (_, at) => `${"The tide turns twice a day. ".repeat(20)} ${at}`);

    test("returns NaN for all passages if none is scored in time, and has room for others at once", async () => {
      const logits = await reranker.score(QUERY, many, { deadlineMs: 0 });
      expect([logits.length, logits.every(Number.isNaN)]).toEqual([many.length, true]);
      expect((await reranker.score(QUERY, TEXTS)).every(Number.isFinite)).toBe(true);
    });

    test("returns all logits if there is time for all", async () => {
      expectSameLogits(await reranker.score(QUERY, TEXTS, { deadlineMs: 60_000 }), await reranker.score(QUERY, TEXTS));
    });
  });

  describe(`${implementation}: the queue of the models`, () => {
    test("calls onBegin once per call, before the result", async () => {
      const events: string[] = [];
      await embedder.embed(TEXTS, { ...NOW, onBegin: () => events.push("embed begins") });
      events.push("embedded");
      await reranker.score(QUERY, TEXTS, { onBegin: () => events.push("score begins") });
      expect(events).toEqual(["embed begins", "embedded", "score begins"]);
    });

    test("rejects an aborted call with the reason, and does not start it", async () => {
      const reason = new Error("the caller left");
      const events: string[] = [];
      const onBegin = () => events.push("begun");
      const gone = AbortSignal.abort(reason);
      expect(await errorOf(() => embedder.embed(TEXTS, { ...NOW, signal: gone, onBegin }))).toBe(reason);
      expect(await errorOf(() => reranker.score(QUERY, TEXTS, { signal: gone, onBegin }))).toBe(reason);
      const busy = Array.from({ length: 8 }, () => embedder.embed(["Retrieval finds. ".repeat(200)], NOW));
      const stop = new AbortController();
      const waiting = embedder.embed(TEXTS, { ...NOW, signal: stop.signal, onBegin });
      stop.abort(reason);
      expect(await errorOf(() => waiting)).toBe(reason);
      await Promise.all(busy);
      expect(events).toEqual([]);
    });

    test("refuses calls beyond its limit, and has room again after an answer", async () => {
      const small = await open({ callsMax: 2 });
      const { embedder, reranker } = defaultOf(small);
      try {
        const waiting = [embedder.embed(["a"], NOW), reranker.score("b", ["c"])];
        expect(await codeOf(() => embedder.embed(["d"], NOW))).toBe("overloaded");
        await Promise.all(waiting);
        expect(await embedder.embed(["d"], NOW)).toHaveLength(embedder.dimensions);
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
