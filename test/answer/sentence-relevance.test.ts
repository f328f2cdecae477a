// Scoring sentences: similarity and the reranker become a relevance, and an answer does not fail if a model is missing.

import { describe, expect, test } from "bun:test";
import { type SentenceToScore, sentenceScorer } from "../../src/answer/sentence-relevance.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Embedder, Reranker } from "../../src/ports/models.ts";
import { ENGLISH_TUNING } from "../support/shipped-models.ts";

const UNBOUND = new AbortController().signal;

/** An embedder with two dimensions. The cosine of a question and a sentence is the number in the sentence. */
const reads: Embedder["embed"] = async (texts, { purpose }) =>
  Float32Array.from(texts.flatMap((text) => (purpose === "query" ? [1, 0] : [Number(text), 0])));

interface Setup {
  readonly embed?: Embedder["embed"];
  readonly score?: Reranker["score"] | null;
  readonly language?: string;
  readonly deadlineMs?: number;
}

function scorer({ embed = reads, score = null, language = "en", deadlineMs = 60_000 }: Setup = {}) {
  const tuning = { ...ENGLISH_TUNING, typicalCosine: 0.8 };
  return sentenceScorer({
    embedder: { languages: ["en", "de"], dimensions: 2, tuning, embed },
    reranker: score && { languages: ["en"], score },
    languageOf: () => language,
    rerankDeadlineMs: deadlineMs,
  });
}

const sentences = (...texts: readonly string[]): SentenceToScore[] => texts.map((text) => ({ text, cosine: null }));
const unexpected = () => Promise.reject(new Error("the model must not be called"));
/** A reranker that scores nothing before its deadline and rejects when it is aborted, like a lane. */
const never: Reranker["score"] = (_, passages, { signal, deadlineMs } = {}) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (deadlineMs !== undefined) AbortSignal.timeout(deadlineMs).onabort = () => resolve(noScores(passages.length));
  });
const noScores = (count: number) => new Float32Array(count).fill(Number.NaN);
const rounded = (values: readonly number[] | null) => values?.map((value) => Math.round(value * 100) / 100);

describe("the embedder", () => {
  test("gives the most similar sentence 1, others less, down to -1", async () => {
    expect(rounded(await scorer()("Who?", sentences("0.8", "0.83", "0.815", "0.1"), UNBOUND))).toEqual([0, 1, 0.5, -1]);
  });

  test("does not read sentences whose cosine is known", async () => {
    const known = [0.83, 0.8].map((cosine) => ({ text: "x", cosine }));
    expect(rounded(await scorer({ embed: unexpected })("Who?", known, UNBOUND))).toEqual([1, 0]);
    const mixed = [{ text: "x", cosine: 0.83 }, ...sentences("0.8")];
    expect(rounded(await scorer()("Who?", mixed, UNBOUND))).toEqual([1, 0]);
  });

  test("is not asked about a language that it does not support", async () => {
    expect(await scorer({ embed: unexpected, language: "xx" })("谁说的？", sentences("a"), UNBOUND)).toBeNull();
  });

  for (const code of ["model_unavailable", "overloaded"] as const) {
    test(`gives no scores when it is not available: ${code}`, async () => {
      const embed = () => Promise.reject(new Fault(code, "No."));
      expect(await scorer({ embed })("Who?", sentences("0.8"), UNBOUND)).toBeNull();
    });
  }
});

describe("the reranker", () => {
  const alike = sentences("0.8", "0.8");

  test("decides between sentences that are about equally similar", async () => {
    expect(rounded(await scorer({ score: async () => Float32Array.from([0, 4]) })("Who?", alike, UNBOUND))).toEqual([
      0.17, 1,
    ]);
  });

  test("reads the eight most similar ones", async () => {
    const read: string[] = [];
    const score: Reranker["score"] = async (_, passages) => {
      read.push(...passages);
      return Float32Array.from(passages, () => 0);
    };
    const many = Array.from({ length: 12 }, (_, at) => `0.${80 + at}`);
    await scorer({ score })("Who?", sentences(...many), UNBOUND);
    expect(read).toEqual(many.slice(4).reverse());
  });

  test("does not read a language that it does not support", async () => {
    const score = scorer({ score: unexpected, language: "de" });
    expect(rounded(await score("Wer hat das gesagt?", sentences("0.83", "0.8"), UNBOUND))).toEqual([1, 0]);
  });

  const outages: readonly (readonly [string, Setup])[] = [
    ["is absent", { score: null }],
    ["misses its deadline", { score: never, deadlineMs: 1 }],
    ["misses its deadline for some", { score: async () => Float32Array.from([4, Number.NaN]) }],
    ["is not available", { score: () => Promise.reject(new Fault("model_unavailable", "No.")) }],
    ["has too much to do", { score: () => Promise.reject(new Fault("overloaded", "No.")) }],
  ];
  for (const [name, setup] of outages) {
    test(`leaves the scores to the embedder if it ${name}`, async () => {
      expect(rounded(await scorer(setup)("Who?", sentences("0.83", "0.8"), UNBOUND))).toEqual([1, 0]);
    });
  }
});

describe("the error", () => {
  test("is the caller's abort reason, before and during scoring", async () => {
    const gone = new AbortController();
    const answer = scorer({ score: never })("Who?", sentences("0.8"), gone.signal);
    gone.abort(new Error("hung up"));
    await expect(answer).rejects.toThrow("hung up");
    await expect(scorer({ embed: unexpected })("Who?", sentences("0.8"), gone.signal)).rejects.toThrow("hung up");
  });
  test("is any other failure, so that a bug is not hidden", async () => {
    await expect(scorer({ embed: unexpected })("Who?", sentences("0.8"), UNBOUND)).rejects.toThrow(
      "the model must not be called",
    );
  });
});
