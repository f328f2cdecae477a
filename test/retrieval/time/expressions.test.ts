// Measures how many times in questions resolve to the right days: those that the grammar was written with, and those
// that it was not looked at with.

import { describe, expect, test } from "bun:test";
import { resolveTime } from "../../../src/retrieval/time/resolve-time.ts";
import heldOut from "./expressions/held-out.txt" with { type: "text" };
import tuned from "./expressions/tuned.txt" with { type: "text" };

/** Monday, 23 November 2026, noon. */
const AS_OF = Date.UTC(2026, 10, 23, 12);
/** Minimum share of questions that resolve as expected, and maximum share that resolve to other days. */
const RIGHT_MIN = 0.95;
const WRONG_MAX = 0.01;

function daysOf(question: string, language: string): string {
  const time = resolveTime(question, AS_OF, language);
  if (time === null || time.kind === "event") return "none";
  const day = (ms: number | null) => (ms === null ? "" : new Date(ms).toISOString().slice(0, 10));
  return `${day(time.span.from)}..${day(time.span.to)}`;
}

for (const [name, list] of Object.entries({ tuned, heldOut })) {
  describe(`times in questions (${name})`, () => {
    const rows = list.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const read = rows.map((line) => {
      const [language = "", question = "", expected = ""] = line.split("\t");
      return { line, expected, days: daysOf(question, language) };
    });
    const others = read.filter(({ days, expected }) => days !== expected);
    test(`at least ${RIGHT_MIN} resolve to the right days`, () => {
      if (others.length / read.length > 1 - RIGHT_MIN) expect(others).toEqual([]);
      expect(read.length).toBeGreaterThan(120);
    });
    test(`at most ${WRONG_MAX} resolve to other days`, () => {
      const wrong = others.filter(({ days }) => days !== "none");
      if (wrong.length / read.length > WRONG_MAX) expect(wrong).toEqual([]);
    });
  });
}
