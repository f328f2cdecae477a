// Dates in the text of a memory, in digits and in words of several languages.

import { describe, expect, test } from "bun:test";
import { datesIn } from "../../../src/retrieval/time/dates-in.ts";

const WRITTEN = Date.UTC(2024, 10, 20);

const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const shown = (text: string, writtenAt: number | null = WRITTEN) =>
  datesIn(text, writtenAt)
    .map(({ from, to }) => `${day(from)}..${day(to)}`)
    .sort();

describe("a date with its year", () => {
  const cases: readonly (readonly [text: string, ...days: readonly string[]])[] = [
    ["Married on 22 August 1981 in Kinsale", "1981-08-22..1981-08-23"],
    ["Flight on March 14th, 2025", "2025-03-14..2025-03-15"],
    ["geboren 4.2.2014", "2014-02-04..2014-02-05"],
    ["am 4. Februar 2014", "2014-02-04..2014-02-05"],
    ["le 3 février 2024", "2024-02-03..2024-02-04"],
    ["1er janvier 2024", "2024-01-01..2024-01-02"],
    ["14 de marzo de 2024", "2024-03-14..2024-03-15"],
    ["em 5 de março de 2023", "2023-03-05..2023-03-06"],
    ["il 2 agosto 2022", "2022-08-02..2022-08-03"],
    ["op 3 mei 2021", "2021-05-03..2021-05-04"],
    ["14 марта 2023 года", "2023-03-14..2023-03-15"],
    ["2023年5月14日 买了车", "2023-05-14..2023-05-15"],
    ["2023-05-14T10:00", "2023-05-14..2023-05-15"],
    ["passport until May 2027", "2027-05-01..2027-06-01"],
    ["2023年5月", "2023-05-01..2023-06-01"],
    ["from 2024-01-05 to 2024-01-09", "2024-01-05..2024-01-06", "2024-01-09..2024-01-10"],
  ];
  for (const [text, ...days] of cases) test(text, () => expect(shown(text, null)).toEqual([...days]));
});

describe("a date without its year is the nearest to the day of writing", () => {
  const cases: readonly (readonly [text: string, span: string])[] = [
    ["flight on 12 January", "2025-01-12..2025-01-13"],
    ["dentist on 3 October", "2024-10-03..2024-10-04"],
    ["am 3. Oktober", "2024-10-03..2024-10-04"],
    ["3月5日", "2025-03-05..2025-03-06"],
  ];
  for (const [text, span] of cases) {
    test(text, () => {
      expect(shown(text)).toEqual([span]);
      expect(shown(text, null)).toEqual([]);
    });
  }
});

describe("no date", () => {
  const texts = [
    "",
    "no digits at all",
    "call 086 123 4567",
    "version 1.2.3",
    "31 February 2023x",
    "2023-02-30",
    "99 May 2023",
    "1863 is the gate code",
    "the 3 cats",
    "10 mg at breakfast",
    "🚲 42",
  ];
  for (const text of texts)
    test(JSON.stringify(text), () => expect(shown(text).filter((span) => !span.includes("-01.."))).toEqual([]));
});

test("at most sixteen dates of the beginning of a text are found", () => {
  expect(datesIn("5 May 2023. ".repeat(10_000), WRITTEN).length).toBeLessThanOrEqual(16);
});
