// Comparing answers with their golds.

import { describe, expect, test } from "bun:test";
import { contains, isVerdict, withoutCitations } from "../../bench/lib/gold-text.ts";

describe("an answer contains its gold", () => {
  const said: readonly (readonly [text: string, gold: string])[] = [
    ["The band is called Rush [1].", "rush"],
    ["He died in the U.S. in 1974.", "US"],
    ["It has 10,000 seats.", "10000"],
    ["Teutberga( died 11 November 875) was a queen.", "11 November 875"],
    ["from 1990–1995", "1995"],
    ["She wrote the Iliad of our days.", "Iliad of our days"],
    ["Born at Saint-Denis, he left early.", "saint denis"],
    ["O’Brien directed it.", "O'Brien"],
  ];
  for (const [text, gold] of said) test(`${gold} in: ${text}`, () => expect(contains(text, gold)).toBe(true));

  const unsaid: readonly (readonly [text: string, gold: string])[] = [
    ["Nothing is known.", "no"],
    ["He died in 19741.", "1974"],
    ["Whatever is said", "the"],
    ["", "Rush"],
  ];
  for (const [text, gold] of unsaid) test(`${gold} not in: ${text}`, () => expect(contains(text, gold)).toBe(false));
});

test("yes/no golds are distinguished from spans of text", () => {
  expect(["Yes", "no.", "Norway", "yes and no"].map(isVerdict)).toEqual([true, true, false, false]);
});

test("citations are removed", () => {
  expect(withoutCitations("He was born in 1974 [1]. She was not [2].")).toBe("He was born in 1974. She was not.");
});
