// Lam and alef that are one glyph come out as lam and alef, and the article stays the article.

import { expect, test } from "bun:test";
import { mayHoldLigatures, withLigaturesInOrder } from "../../../src/documents/pdf/ligatures.ts";

// written as letters with their names, since a line of both directions is hard to read
const [ALEF, LAM, HAMZA, KHAH, BEH] = ["\u0627", "\u0644", "\u0625", "\u062e", "\u0628"];
const BOTH = LAM + ALEF;

/** What the items say once their glyphs are known; glyphs as they are drawn, from the left. */
function said(items: readonly string[], glyphs: readonly string[], dir = "rtl"): readonly string[] {
  return withLigaturesInOrder(
    items.map((str) => ({ str, dir })),
    glyphs,
  ).map(({ str }) => str);
}

test("a pair that one glyph draws is put right, one of two glyphs is left", () => {
  // "khah lam-alef lam", turned letter by letter: "khah alef lam lam"
  expect(said([KHAH + ALEF + LAM + LAM], [LAM, BOTH, KHAH])).toEqual([KHAH + BOTH + LAM]);
  // the article: alef, lam, beh
  expect(said([ALEF + LAM + BEH], [BEH, LAM, ALEF])).toEqual([ALEF + LAM + BEH]);
});

test("both in one line are told apart, whatever spaces stand between", () => {
  const line = `${ALEF + LAM + BEH} ${KHAH + ALEF + LAM + LAM}`;
  const drawn = [LAM, BOTH, KHAH, " ", BEH, LAM, ALEF];
  expect(said([line, "R"], [...drawn, "R"])).toEqual([`${ALEF + LAM + BEH} ${KHAH + BOTH + LAM}`, "R"]);
  expect(
    said(
      [line],
      drawn.filter((glyph) => glyph !== " "),
    ),
  ).toEqual([`${ALEF + LAM + BEH} ${KHAH + BOTH + LAM}`]);
});

test("without the glyphs, or with others, only what cannot be otherwise is put right", () => {
  const article = ALEF + HAMZA + LAM + BEH;
  for (const glyphs of [[], ["x", "y", "z"]]) {
    expect(said([article, KHAH + ALEF + LAM], glyphs)).toEqual([ALEF + LAM + HAMZA + BEH, KHAH + ALEF + LAM]);
  }
});

test("in a text of both directions nothing is guessed", () => {
  const line = `${KHAH + ALEF + LAM} a ${ALEF + LAM}`;
  expect(said([line], [BOTH, KHAH, "a", LAM, ALEF], "ltr")).toEqual([line]);
});

test("a text without such letters needs no glyphs", () => {
  expect(mayHoldLigatures("alef lam")).toBe(false);
  expect(mayHoldLigatures(LAM + ALEF)).toBe(false);
  expect(mayHoldLigatures(ALEF + LAM)).toBe(true);
});

test("a megabyte of one letter takes no longer than it is long", () => {
  const many = ALEF.repeat(1_000_000);
  expect(said([many + LAM], [...many, LAM])).toHaveLength(1);
});
