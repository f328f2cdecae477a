// Scoring sentences with the reranker: logits become scores, and an answer neither waits nor fails if there are no
// scores.

import { describe, expect, test } from "bun:test";
import { rerankerSentenceScorer } from "../../src/answer/sentence-relevance.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Reranker } from "../../src/ports/models.ts";

const UNBOUND = new AbortController().signal;

function reading(score: Reranker["score"], language = "en", deadlineMs = 60_000) {
  const reranker = { languages: ["en"], score };
  return rerankerSentenceScorer({ reranker, languageOf: () => language, rerankDeadlineMs: deadlineMs });
}
const unexpected = () => Promise.reject(new Error("the model must not be called"));
/** A reranker that scores nothing before its deadline and rejects when it is aborted, like a lane. */
const never: Reranker["score"] = (_, passages, { signal, deadlineMs } = {}) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (deadlineMs !== undefined) AbortSignal.timeout(deadlineMs).onabort = () => resolve(noScores(passages.length));
  });
const noScores = (count: number) => new Float32Array(count).fill(Number.NaN);

test("any logits become scores of -1..1, in the order of the sentences", async () => {
  const score = reading(async () => Float32Array.from([4, -8, 100, -Infinity]));
  expect(await score("Who?", ["a", "b", "c", "d"], UNBOUND)).toEqual([0.5, -1, 1, -1]);
});

test("a question in an unsupported language gets no scores", async () => {
  expect(await reading(unexpected, "de")("Wer hat das gesagt?", ["Ada."], UNBOUND)).toBeNull();
  expect(await reading(unexpected, "und")("谁说的？", ["Ada."], UNBOUND)).toBeNull();
});

describe("there are no scores", () => {
  test("without a reranker", async () => {
    const score = rerankerSentenceScorer({ reranker: null, languageOf: () => "en", rerankDeadlineMs: 60_000 });
    expect(await score("Who?", ["Ada."], UNBOUND)).toBeNull();
  });

  test("when the deadline passes", async () => {
    expect(await reading(never, "en", 1)("Who?", ["Ada."], UNBOUND)).toBeNull();
    const half = reading(async () => Float32Array.from([4, Number.NaN]));
    expect(await half("Who?", ["Ada.", "Bo."], UNBOUND)).toBeNull();
  });
  for (const code of ["model_unavailable", "overloaded"] as const) {
    test(`when the model is not available: ${code}`, async () => {
      expect(await reading(() => Promise.reject(new Fault(code, "No.")))("Who?", ["Ada."], UNBOUND)).toBeNull();
    });
  }
});

describe("the error", () => {
  test("is the caller's abort reason, before and during scoring", async () => {
    const gone = new AbortController();
    const answer = reading(never)("Who?", ["Ada."], gone.signal);
    gone.abort(new Error("hung up"));
    await expect(answer).rejects.toThrow("hung up");
    await expect(reading(unexpected)("Who?", ["Ada."], gone.signal)).rejects.toThrow("hung up");
  });
  test("is any other failure, so that a bug is not hidden", async () => {
    await expect(reading(unexpected)("Who?", ["Ada."], UNBOUND)).rejects.toThrow("the model must not be called");
  });
});
