// The soft preference for the time that a question names: its score, the days of a passage, events, and its bound.

import { describe, expect, test } from "bun:test";
import type { ChunkKey } from "../../../src/domain/ids.ts";
import type { Candidate, Hydrated } from "../../../src/retrieval/candidate.ts";
import { preferTime } from "../../../src/retrieval/time/prefer-time.ts";
import { resolveTime } from "../../../src/retrieval/time/resolve-time.ts";
import { daysOfPassage, timeScore } from "../../../src/retrieval/time/time-preference.ts";
import type { ZonedTime } from "../../../src/retrieval/time/zoned-time.ts";
import { passage } from "../../answer/passages.ts";

const at = (day: string) => Date.parse(day);
const span = (from: string | null, to: string | null) => ({
  from: from === null ? null : at(from),
  to: to === null ? null : at(to),
});
const dayOf = (day: string) => [{ from: at(day), to: at(day) + 86_400_000 }];

describe("the time score", () => {
  const week = span("2024-05-06", "2024-05-13");

  test("is 1 inside, to the edges", () => {
    for (const day of ["2024-05-06", "2024-05-12"]) expect(timeScore(week, dayOf(day))).toBe(1);
    expect(timeScore(week, dayOf("2024-05-05"))).toBeLessThan(1);
    expect(timeScore(week, dayOf("2024-05-13"))).toBeLessThan(1);
  });

  test("fades outside over the length of the span, with bounds", () => {
    expect(timeScore(week, dayOf("2024-05-20"))).toBeCloseTo(Math.exp(-1), 2);
    expect(timeScore(span("2024-05-06", "2024-05-07"), dayOf("2024-05-10"))).toBeCloseTo(Math.exp(-1), 2);
    expect(timeScore(span("2014-01-01", "2024-01-01"), dayOf("2025-01-01"))).toBeCloseTo(Math.exp(-366 / 365), 2);
    expect(timeScore(week, dayOf("2034-05-20"))).toBeLessThan(1e-9);
  });

  test("has no end on an open side", () => {
    expect(timeScore(span(null, "2020-01-01"), dayOf("1920-01-01"))).toBe(1);
    expect(timeScore(span("2020-01-01", null), dayOf("2999-01-01"))).toBe(1);
    expect(timeScore(span(null, "2020-01-01"), dayOf("2020-03-31"))).toBeCloseTo(Math.exp(-1), 1);
  });

  test("is that of the best day, and 0 without days", () => {
    expect(timeScore(week, [...dayOf("1999-01-01"), ...dayOf("2024-05-07")])).toBe(1);
    expect(timeScore(week, [])).toBe(0);
  });
});

describe("the days of a passage", () => {
  const createdAt = at("2026-01-02T10:00:00Z");
  const days = (of: { occurredAt?: string; text?: string; turnDay?: string }, readsText = true) =>
    daysOfPassage(
      {
        memory: { createdAt, occurredAt: of.occurredAt === undefined ? null : at(of.occurredAt) },
        text: of.text ?? "Nothing.",
        turnDay: of.turnDay ?? null,
      },
      readsText,
    ).map(({ from }) => new Date(from).toISOString().slice(0, 10));

  test("are the day of the turn, else the dates in the text and occurred_at, else created_at", () => {
    const all = { occurredAt: "2024-05-03", text: "On 5 June 2023.", turnDay: "8 May 2022" };
    expect(days(all)).toEqual(["2022-05-08"]);
    expect(days({ ...all, turnDay: "unknown" })).toEqual(["2023-06-05", "2024-05-03"]);
    expect(days({ text: "On 5 June 2023." })).toEqual(["2023-06-05"]);
    expect(days({ occurredAt: "2024-05-03" })).toEqual(["2024-05-03"]);
    expect(days({})).toEqual(["2026-01-02"]);
  });

  test("leave out the dates in the text if asked to", () => {
    expect(days({ text: "On 5 June 2023." }, false)).toEqual(["2026-01-02"]);
  });

  test("of a turn that has only the day of storing are those of occurred_at, once it is set", () => {
    expect(days({ turnDay: "2 January 2026" })).toEqual(["2026-01-02"]);
    expect(days({ turnDay: "2 January 2026", occurredAt: "2024-05-03" })).toEqual(["2024-05-03"]);
  });
});

describe("the preference", () => {
  const AS_OF = at("2026-11-23T12:00:00Z");
  /** Candidates with these scores, best first, and their passages. */
  const ranked = (...items: readonly (readonly [score: number, text: string, occurredAt: string])[]) => {
    const candidates: Candidate[] = [];
    const hydrated = new Map<bigint, Hydrated>();
    for (const [position, [score, text, occurredAt]] of items.entries()) {
      const { memory, place } = passage(text);
      const chunkKey = BigInt(memory.key) as ChunkKey;
      const signals = { vector: { rank: position + 1, score } };
      candidates.push({ chunkKey, memoryKey: memory.key, signals, hybridScore: score, finalScore: score });
      hydrated.set(chunkKey, {
        memory: { ...memory, occurredAt: at(occurredAt) },
        passage: { text, place } as Hydrated["passage"],
      });
    }
    return { candidates, hydrated };
  };
  const texts = (list: readonly Candidate[], hydrated: ReadonlyMap<bigint, Hydrated>) =>
    list.map(({ chunkKey }) => hydrated.get(chunkKey)?.passage.text);
  const asked = (question: string): ZonedTime | null => {
    const time = resolveTime(question, AS_OF, "en");
    return time === null ? null : { ...time, zone: "UTC" };
  };

  test("moves passages of the named time up, and says so in the signals", () => {
    const { candidates, hydrated } = ranked(
      [0.8, "old", "2020-01-01"],
      [0.79, "of the week", "2026-11-18"],
      [0.4, "other", "2021-01-01"],
      [0.3, "worst", "2026-11-19"],
    );
    const { candidates: timed, span: found } = preferTime(candidates, hydrated, asked("what was it last week"));
    expect(texts(timed, hydrated)).toEqual(["of the week", "old", "worst", "other"]);
    expect(found).toEqual(span("2026-11-16", "2026-11-23"));
    expect(timed[0]?.signals.time).toEqual({ rank: 1, score: 1 });
    expect(timed.find(({ chunkKey }) => chunkKey === candidates[0]?.chunkKey)?.signals.time?.score).toBeLessThan(0.01);
    expect(timed[0]?.finalScore).toBe(timed[0]?.hybridScore ?? Number.NaN);
  });

  test("never lifts a passage from the reference rank above the best one, and leaves none out", () => {
    const { candidates, hydrated } = ranked(
      [0.9, "best", "2001-01-01"],
      [0.5, "b", "2001-01-01"],
      ...Array.from({ length: 22 }, (_, at) => [0.5 - at / 100, `c${at}`, "2001-01-01"] as const),
      [0.2, "the 25th", "2026-11-18"],
      [0.1, "the 26th", "2026-11-18"],
    );
    const { candidates: timed } = preferTime(candidates, hydrated, asked("last week"));
    expect(texts(timed, hydrated).slice(0, 3)).toEqual(["best", "the 25th", "the 26th"]);
    expect(timed).toHaveLength(26);
  });

  test("changes nothing if the question names no time, or there is no candidate", () => {
    const { candidates, hydrated } = ranked([0.9, "best", "2001-01-01"], [0.5, "b", "2026-11-18"]);
    expect(preferTime(candidates, hydrated, asked("where is the key"))).toEqual({ candidates, span: null });
    expect(preferTime([], new Map(), asked("last week"))).toEqual({ candidates: [], span: null });
  });

  test("finds the day of an event in the passage that has its words", () => {
    const { candidates, hydrated } = ranked(
      [0.8, "Ada lives in Berlin.", "2024-02-01"],
      [0.79, "Ada lives in Rome.", "2019-02-01"],
      [0.6, "The big move to Berlin was today.", "2023-06-01"],
      [0.5, "Bob likes cheese.", "2018-01-01"],
      [0.4, "Bob likes bread.", "2025-01-01"],
    );
    const before = preferTime(candidates, hydrated, asked("where did Ada live before the move"));
    expect(before.span).toEqual(span(null, "2023-06-01"));
    expect(texts(before.candidates, hydrated)[0]).toBe("Ada lives in Rome.");
    const after = preferTime(candidates, hydrated, asked("where did Ada live after the move"));
    expect(after.span).toEqual(span("2023-06-01", null));
    expect(texts(after.candidates, hydrated)[0]).toBe("Ada lives in Berlin.");
    expect(preferTime(candidates, hydrated, asked("where did Ada live before the earthquake")).span).toBeNull();
  });

  test("of equal days keeps the order", () => {
    const { candidates, hydrated } = ranked(
      [0.9, "a", "2026-11-18"],
      [0.9, "b", "2026-11-18"],
      [0.2, "c", "2026-11-18"],
    );
    expect(texts(preferTime(candidates, hydrated, asked("last week")).candidates, hydrated)).toEqual(["a", "b", "c"]);
  });
});
