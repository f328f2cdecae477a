// The verdict on what was found: when a reader reads, what it reads, and what happens without it.

import { describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { NEUTRAL_TUNING } from "../../src/domain/neutral-tuning.ts";
import type { ModeName, RankedPassage } from "../../src/domain/ranking.ts";
import type { ReaderTuning } from "../../src/domain/retrieval-tuning.ts";
import { READING, READING_WIDTH, type Reader } from "../../src/ports/models.ts";
import type { SearchRequest } from "../../src/retrieval/request.ts";
import { Stopwatch } from "../../src/retrieval/stopwatch.ts";
import { type Judged, verdictOn } from "../../src/retrieval/verdict.ts";
import { passage } from "../answer/passages.ts";

const TUNING: ReaderTuning = {
  evidence: { scoreSlope: 1, codesSlope: 4, namesSlope: 1, answerSlope: 1, offset: 0 },
  evidenceMin: { fast: 0.1, hybrid: 0.2, balanced: 0.3, precise: 0.4 },
};
const QUESTION = "Where is the spare key?";

/** A reader that gives each passage the logit of its first word, and what it was asked. */
function readerOf(answerOf: (passage: string, at: number) => number, languages: readonly string[] = []) {
  const calls: { question: string; passages: readonly string[]; deadlineMs: number | undefined }[] = [];
  const read: Reader["read"] = async (question, passages, { deadlineMs } = {}) => {
    calls.push({ question, passages, deadlineMs });
    const readings = new Float32Array(passages.length * READING_WIDTH);
    for (const [at, text] of passages.entries()) {
      const row = readings.subarray(at * READING_WIDTH, (at + 1) * READING_WIDTH);
      const answer = answerOf(text, at);
      if (Number.isNaN(answer)) row.fill(Number.NaN);
      else row[READING.answer] = answer;
    }
    return readings;
  };
  return { reader: { id: "reader", languages, tuning: TUNING, read } satisfies Reader, calls };
}

interface Options {
  readonly reader: Reader | null;
  readonly mode?: ModeName;
  readonly request?: Partial<SearchRequest>;
  readonly hasVectors?: boolean;
  readonly language?: string;
}

function verdict(results: readonly RankedPassage[], options: Options) {
  const { reader, mode = "fast", request = { mayRead: true }, hasVectors = true, language = "en" } = options;
  const watch = new Stopwatch();
  const judged = {
    parts: { rerankDeadlineMs: 1_234 },
    request: { query: QUESTION, mode, wantsEvidence: true, ...request },
    embedder: { tuning: NEUTRAL_TUNING, reader },
    tuning: NEUTRAL_TUNING,
    ...{ watch, language, hasVectors },
  } as unknown as Judged;
  return verdictOn(judged, results).then((found) => ({ ...found, stages: watch.stages }));
}

const FOUND = [passage("The spare key is under the pot.", 0.5), passage("Ana has a bike.", 0.4)];
const withoutReader = async (results: readonly RankedPassage[]) => (await verdict(results, { reader: null })).evidence;

describe("the reader", () => {
  test("raises and lowers the evidence, in every mode, with its own threshold", async () => {
    for (const mode of ["fast", "hybrid", "balanced", "precise"] as const) {
      const sure = await verdict(FOUND, { reader: readerOf(() => 4).reader, mode });
      const unsure = await verdict(FOUND, { reader: readerOf(() => -4).reader, mode });
      expect(sure.evidence).toBeCloseTo(1 / (1 + Math.exp(-4)), 5);
      expect(unsure.evidence).toBeCloseTo(1 / (1 + Math.exp(4)), 5);
      expect(sure.evidenceMin).toBe(TUNING.evidenceMin[mode]);
      expect(sure.answers).toEqual([4, 4]);
      expect(sure.stages).toMatchObject([{ name: "read", candidates: 2 }]);
    }
  });

  test("reads the first five passages with the question, until the deadline of a reranker", async () => {
    const { reader, calls } = readerOf(() => 0);
    const found = Array.from({ length: 9 }, (_, at) => passage(`Note ${at}.`, 0.5));
    const { answers } = await verdict(found, { reader });
    expect(calls).toEqual([
      { question: QUESTION, passages: found.slice(0, 5).map(({ text }) => text), deadlineMs: 1_234 },
    ]);
    expect(answers).toHaveLength(5);
  });

  test("reads of long passages the windows with the words of the question, and the best one counts", async () => {
    const filler = "Nothing of interest happened on that long day at the office. ".repeat(12);
    const long = passage(`${filler}The spare key is under the pot. ${filler}`, 0.5);
    const { reader, calls } = readerOf((text) => (text.includes("under the pot") ? 3 : -3));
    const { answers } = await verdict([long, ...FOUND], { reader });
    expect(answers).toEqual([3, 3, -3]);
    const [{ passages } = { passages: [] }] = calls;
    expect(passages).toHaveLength(4);
    expect(passages[0]).toContain("under the pot");
    expect(Math.max(...passages.map(({ length }) => length))).toBeLessThanOrEqual(420);
  });

  test("reads a bounded amount of passages without words, of one word, and of no sentence", async () => {
    const { reader, calls } = readerOf(() => 0);
    const odd = ["x".repeat(100_000), "🎾".repeat(3_000), "鍵".repeat(5_000), "a ".repeat(50_000), " "];
    await verdict(
      odd.map((text) => passage(text, 0.5)),
      { reader },
    );
    const [{ passages } = { passages: [] }] = calls;
    expect(passages.length).toBeLessThanOrEqual(8);
    for (const text of passages) {
      expect(text.length).toBeLessThanOrEqual(421);
      expect(text.isWellFormed()).toBe(true);
    }
  });

  test("leaves passages out that it has not read in time", async () => {
    const found = [passage("Ana has a bike.", 0.9), passage("The spare key is under the pot.", 0.5)];
    const { reader } = readerOf((_, at) => (at === 0 ? Number.NaN : 2));
    const { evidence, answers, stages } = await verdict(found, { reader });
    expect(answers).toEqual([null, 2]);
    expect(evidence).toBeCloseTo(1 / (1 + Math.exp(-2)), 5);
    expect(stages).toMatchObject([{ name: "read", candidates: 1, skipped: 1 }]);
  });
});

describe("the words that answer", () => {
  /** A reader that finds `words` wherever they are. */
  const finder = (words: string, answer = 3): Reader => ({
    ...readerOf(() => 0).reader,
    read: async (_, passages) => {
      const rows = passages.map((text) => {
        const begin = text.indexOf(words);
        return begin < 0 ? [0, -2, 0, 1, 0] : [0, answer, begin, begin + words.length, 5];
      });
      return Float32Array.from(rows.flat());
    },
  });
  const textsOf = (results: readonly RankedPassage[]) =>
    results.map(({ text, answerSpans }) => answerSpans?.map(({ start, end }) => [...text].slice(start, end).join("")));

  test("are shown in code points of the passage, also behind emoji, and none where nothing answers", async () => {
    const found = [passage("🎾🎾 The key is under the pot.", 0.5), passage("Ana has a bike.", 0.4)];
    const { results } = await verdict(found, { reader: finder("under the pot") });
    expect(textsOf(results)).toEqual([["under the pot"], []]);
    const [span] = results[0]?.answerSpans ?? [];
    expect(span).toMatchObject({ start: 14 });
    expect(span?.score).toBeCloseTo(1 / (1 + Math.exp(-3)), 6);
  });

  test("are those of each window of a long passage, in order, and never those of its title", async () => {
    const filler = "Nothing of interest happened on that long day at the office. ".repeat(8);
    const text = `The spare key is green. ${filler}The spare key is green.`;
    const long = passage(text, 0.5);
    const titled = { ...long, memory: { ...long.memory, title: "The spare key is green again" } };
    const { results } = await verdict([long, { ...titled, text: "See above." }], {
      reader: finder("spare key is green"),
    });
    expect(textsOf(results)).toEqual([["spare key is green", "spare key is green"], []]);
    const starts = results[0]?.answerSpans?.map(({ start }) => start) ?? [];
    expect(starts).toEqual([4, text.lastIndexOf("spare")]);
  });

  test("are not shown where the evidence is below the threshold", async () => {
    const { results } = await verdict(FOUND, { reader: finder("under the pot", -3) });
    expect(textsOf(results)).toEqual([[], []]);
  });

  test("are absent where nothing was read, and behind the fifth passage", async () => {
    const found = Array.from({ length: 7 }, () => passage("It is under the pot.", 0.5));
    const { results } = await verdict(found, { reader: finder("under the pot") });
    expect(textsOf(results)).toEqual([...Array(5).fill(["under the pot"]), undefined, undefined]);
    const { results: unread } = await verdict(found, { reader: null });
    expect(unread).toEqual(found);
  });
});

describe("today's evidence stays", () => {
  const failing = (error: unknown): Reader => ({ ...readerOf(() => 0).reader, read: () => Promise.reject(error) });

  test("if the reader is late; explain shows it", async () => {
    const { evidence, evidenceMin, answers, stages } = await verdict(FOUND, {
      reader: readerOf(() => Number.NaN).reader,
    });
    expect(evidence).toBe(await withoutReader(FOUND));
    expect([evidenceMin, answers]).toEqual([undefined, undefined]);
    expect(stages).toMatchObject([{ name: "read", candidates: 0, skipped: 2 }]);
  });

  test.each(["model_unavailable", "overloaded", "internal_error"] as const)(
    "if the reader fails with %s",
    async (code) => {
      const { evidence, answers, stages } = await verdict(FOUND, { reader: failing(new Fault(code, "It is out.")) });
      expect(evidence).toBe(await withoutReader(FOUND));
      expect(answers).toBeUndefined();
      expect(stages).toMatchObject([{ name: "read", candidates: 0, skipped: 2 }]);
    },
  );

  const WITHOUT: readonly (readonly [string, Partial<Options> & { readonly languages?: readonly string[] }])[] = [
    ["there is no reader", { reader: null }],
    ["it may not read", { request: { mayRead: false } }],
    ["nobody says whether it may read", { request: {} }],
    ["vectors are missing", { hasVectors: false }],
    [
      "the reader does not know the language",
      { language: "ja", languages: ["en"], request: { mayRead: true, query: "鍵はどこ" } },
    ],
  ];
  test.each(WITHOUT)("if %s: the reader is not called", async (_, { languages = [], ...options }) => {
    const { reader, calls } = readerOf(() => 9, languages);
    const { answers, stages } = await verdict(FOUND, { reader, ...options });
    expect(calls).toEqual([]);
    expect([answers, stages]).toEqual([undefined, []]);
  });

  test("if nothing was found: it is null, and the reader is not called", async () => {
    const { reader, calls } = readerOf(() => 9);
    expect((await verdict([], { reader })).evidence).toBeNull();
    expect(calls).toEqual([]);
  });
});

test("a search that asks for no evidence has none and reads nothing", async () => {
  const { reader, calls } = readerOf(() => 9);
  const { evidence, stages } = await verdict(FOUND, { reader, request: { wantsEvidence: false, mayRead: true } });
  expect([evidence, stages, calls]).toEqual([null, [], []]);
});

test("a caller that has gone away gets no verdict, and a bug in the reader is thrown", async () => {
  const controller = new AbortController();
  const { reader } = readerOf(() => 0);
  const gone: Reader = {
    ...reader,
    read: async () => {
      controller.abort(new Error("gone"));
      throw new Fault("model_unavailable", "It is out.");
    },
  };
  expect(verdict(FOUND, { reader: gone, request: { mayRead: true, signal: controller.signal } })).rejects.toThrow(
    "gone",
  );
  const broken: Reader = { ...reader, read: () => Promise.reject(new Error("a bug")) };
  expect(verdict(FOUND, { reader: broken })).rejects.toThrow("a bug");
});
