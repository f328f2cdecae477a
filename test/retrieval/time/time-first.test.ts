// Passages of the named time come before a passage of another time that answers about equally well. Each place keeps
// its score, and nothing is left out.

import { describe, expect, test } from "bun:test";
import type { Candidate, Hydrated } from "../../../src/retrieval/candidate.ts";
import { resolveTime } from "../../../src/retrieval/time/resolve-time.ts";
import { timeFirst } from "../../../src/retrieval/time/time-first.ts";
import { passage } from "../../answer/passages.ts";

const AS_OF = Date.parse("2026-11-23T12:00:00Z");
/** One unit of final score is ten logits, so that passages within .2 may be about equal. */
const CURVE = { slope: 8, gapSlope: 2, sizeSlope: 0, offset: 0 };

type Row = readonly [score: number, time: number | null, text: string];

function ordered(query: string, rows: readonly Row[], language = "en") {
  const hydrated = new Map<bigint, Hydrated>();
  const candidates = rows.map(([score, time, text]): Candidate => {
    const { memory, place } = passage(text);
    const chunkKey = BigInt(memory.key) as Candidate["chunkKey"];
    hydrated.set(chunkKey, { memory, passage: { text, place } as Hydrated["passage"] });
    const signals = time === null ? {} : { time: { rank: 1, score: time } };
    return { chunkKey, memoryKey: memory.key, signals, hybridScore: score, finalScore: score };
  });
  const time = resolveTime(query, AS_OF, language);
  const asked = { text: query, language, time: time === null ? null : { ...time, zone: "UTC" } };
  const order = timeFirst(asked, candidates, hydrated, CURVE);
  return {
    texts: order.map(({ chunkKey }) => hydrated.get(chunkKey)?.passage.text),
    scores: order.map(({ finalScore }) => finalScore),
  };
}

const LESSONS: readonly Row[] = [
  [0.9, 0.7, "Piano lesson: practised Satie."],
  [0.8, 1, "Piano lesson: Bach."],
  [0.79, 0.5, "Piano lesson: practised Chopin."],
  [0.75, 1, "Piano lesson: Clementi."],
];

describe("passages of the named time", () => {
  test("come first in their order, and each place keeps its score", () => {
    const { texts, scores } = ordered("What did I practise at the piano lesson last month?", LESSONS);
    expect(texts).toEqual([LESSONS[1]?.[2], LESSONS[3]?.[2], LESSONS[0]?.[2], LESSONS[2]?.[2]]);
    expect(scores).toEqual([0.9, 0.8, 0.79, 0.75]);
  });

  test("stay behind if the best one is of that time already", () => {
    const rows = LESSONS.toSpliced(0, 1, [0.9, 1, "Piano lesson: practised Satie."]);
    expect(ordered("piano lesson last month", rows).texts).toEqual(rows.map(([, , text]) => text));
  });

  test("stay behind if their scores are far lower", () => {
    const rows = LESSONS.map(([score, time, text], at): Row => [at === 0 ? 0.97 : score - 0.04, time, text]);
    expect(ordered("piano lesson last month", rows).texts[0]).toBe(LESSONS[0]?.[2]);
  });

  test("stay behind if the question's words point elsewhere", () => {
    const rows: readonly Row[] = [
      [0.9, 0.2, "The drive to the piano shop took fifty minutes."],
      [0.85, 1, "Piano lesson: Bach."],
    ];
    expect(ordered("How long did the drive to the piano shop take last month?", rows).texts[0]).toBe(rows[0]?.[2]);
  });

  test("stay behind a passage in which the year is written that the question names", () => {
    const rows: readonly Row[] = [
      [0.9, 0.2, "Read the 2024 report."],
      [0.89, 1, "Read a report."],
    ];
    expect(ordered("report of 2024", rows).texts[0]).toBe(rows[0]?.[2]);
    expect(ordered("report of 2023", rows).texts[0]).toBe(rows[1]?.[2]);
  });

  test("stay behind if the question names no time, or an event", () => {
    for (const query of ["piano lesson", "what did I practise before the concert"]) {
      expect(ordered(query, LESSONS).texts).toEqual(LESSONS.map(([, , text]) => text));
    }
    expect(ordered("piano lesson last month", []).texts).toEqual([]);
  });
});
