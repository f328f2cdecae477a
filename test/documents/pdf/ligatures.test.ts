// Tests the order of lam and alef: if both are in one glyph, they are returned as lam and alef. The article (alef, lam)
// stays unchanged.

import { expect, test } from "bun:test";
import { mayHoldLigatures, withLigaturesInOrder } from "../../../src/documents/pdf/ligatures.ts";

// letters are written by name, because source lines with two text directions are hard to read
const [ALEF, LAM, HAMZA, KHAH, BEH] = ["\u0627", "\u0644", "\u0625", "\u062e", "\u0628"];
const BOTH = LAM + ALEF;

/** The texts of items after the repair. @param glyphs in drawing order, from left to right */
function repaired(items: readonly string[], glyphs: readonly string[], dir = "rtl"): readonly string[] {
  return withLigaturesInOrder(
    items.map((str) => ({ str, dir })),
    glyphs,
  ).map(({ str }) => str);
}

test("repairs a pair of one glyph and keeps a pair of two glyphs", () => {
  // "khah lam-alef lam", reversed letter by letter: "khah alef lam lam"
  expect(repaired([KHAH + ALEF + LAM + LAM], [LAM, BOTH, KHAH])).toEqual([KHAH + BOTH + LAM]);
  // the article: alef, lam, beh
  expect(repaired([ALEF + LAM + BEH], [BEH, LAM, ALEF])).toEqual([ALEF + LAM + BEH]);
});

test("distinguishes both in one line, with and without spaces", () => {
  const line = `${ALEF + LAM + BEH} ${KHAH + ALEF + LAM + LAM}`;
  const drawn = [LAM, BOTH, KHAH, " ", BEH, LAM, ALEF];
  expect(repaired([line, "R"], [...drawn, "R"])).toEqual([`${ALEF + LAM + BEH} ${KHAH + BOTH + LAM}`, "R"]);
  expect(
    repaired(
      [line],
      drawn.filter((glyph) => glyph !== " "),
    ),
  ).toEqual([`${ALEF + LAM + BEH} ${KHAH + BOTH + LAM}`]);
});

test("repairs only certain pairs if the glyphs are missing or do not match", () => {
  const article = ALEF + HAMZA + LAM + BEH;
  for (const glyphs of [[], ["x", "y", "z"]]) {
    expect(repaired([article, KHAH + ALEF + LAM], glyphs)).toEqual([ALEF + LAM + HAMZA + BEH, KHAH + ALEF + LAM]);
  }
});

test("guesses nothing in a text of both directions", () => {
  const line = `${KHAH + ALEF + LAM} a ${ALEF + LAM}`;
  expect(repaired([line], [BOTH, KHAH, "a", LAM, ALEF], "ltr")).toEqual([line]);
});

test("a text without such pairs needs no glyphs", () => {
  expect(mayHoldLigatures("alef lam")).toBe(false);
  expect(mayHoldLigatures(LAM + ALEF)).toBe(false);
  expect(mayHoldLigatures(ALEF + LAM)).toBe(true);
});

test("handles a megabyte of one letter in linear time", () => {
  const many = ALEF.repeat(1_000_000);
  expect(repaired([many + LAM], [...many, LAM])).toHaveLength(1);
});
