// Who reads sentences: what a model's word becomes, and that an answer never waits or fails for want of it.

import { describe, expect, test } from "bun:test";
import { readByReranker } from "../../src/answer/relevance.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Reranker } from "../../src/ports/models.ts";

const UNBOUND = new AbortController().signal;
const ENGLISH = { languages: ["en"] };

function reading(score: Reranker["score"], language = "en", deadlineMs = 60_000) {
  return readByReranker({ reranker: { score }, embedder: ENGLISH, languageOf: () => language, deadlineMs });
}
const unexpected = () => Promise.reject(new Error("nobody was to be asked"));
/** As a lane does: settles when it is told to stop. */
const never: Reranker["score"] = (_, __, signal) =>
  new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

test("logits become -1..1 in the order of the sentences, whatever they are", async () => {
  const score = reading(async () => Float32Array.from([4, -8, 100, -Infinity, Number.NaN]));
  expect(await score("Who?", ["a", "b", "c", "d", "e"], UNBOUND)).toEqual([0.5, -1, 1, -1, -1]);
});

test("a question in a language that the model does not read is left to words", async () => {
  expect(await reading(unexpected, "de")("Wer hat das gesagt?", ["Ada."], UNBOUND)).toBeNull();
  expect(await reading(unexpected, "und")("谁说的？", ["Ada."], UNBOUND)).toBeNull();
});

describe("words decide alone", () => {
  test("when the deadline passes", async () => {
    expect(await reading(never, "en", 1)("Who?", ["Ada."], UNBOUND)).toBeNull();
  });
  for (const code of ["model_unavailable", "overloaded"] as const) {
    test(`when the model is not to be had: ${code}`, async () => {
      expect(await reading(() => Promise.reject(new Fault(code, "No.")))("Who?", ["Ada."], UNBOUND)).toBeNull();
    });
  }
});

describe("what is thrown", () => {
  test("is the caller's abort, before and while sentences are read", async () => {
    const gone = new AbortController();
    const answer = reading(never)("Who?", ["Ada."], gone.signal);
    gone.abort(new Error("hung up"));
    await expect(answer).rejects.toThrow("hung up");
    await expect(reading(unexpected)("Who?", ["Ada."], gone.signal)).rejects.toThrow("hung up");
  });
  test("is whatever else goes wrong: a bug is not hidden behind words", async () => {
    await expect(reading(unexpected)("Who?", ["Ada."], UNBOUND)).rejects.toThrow("nobody was to be asked");
  });
});
