// Tests that an extracted title says what a text is about in at most 80 characters. The title is not a date, greeting,
// section name or leftover of markup, and not a fragment if a short sentence fits.

import { describe, expect, test } from "bun:test";
import { shortTitle, TITLE_CHARACTERS_MAX } from "../../src/domain/title.ts";
import { extractTitle } from "../../src/preparation/title.ts";
import { detectType } from "../../src/preparation/type.ts";

const titleOf = (text: string) => extractTitle(text, detectType(text));

test.each([
  ["front matter", '---\ntitle: "My post: a story"\ndate: 2026-01-01\n---\n\n# Intro\n\nHello', "My post: a story"],
  [
    "the title of a page",
    "<!DOCTYPE html>\n<html><head><title>Tom &amp; Jerry</title></head><body><p>x</p></body></html>",
    "Tom & Jerry",
  ],
  ["the columns of a table", "name,age,city\nAda,36,London\nAlan,41,Wilmslow\nGrace,85,Arlington", "name, age, city"],
  ["the columns of a Markdown table", "| Name | Born |\n|---|---|\n| Ada | 1815 |\n| Alan | 1912 |", "Name, Born"],
  [
    "the first comment of a script",
    "#!/bin/sh\nset -eu\n# Rotates the logs.\nfor f in *.log; do\n  gzip $f\ndone",
    "Rotates the logs.",
  ],
  [
    "the first declaration of a program",
    "import os\n\ndef main():\n    print(os.name)\n    return 0\n\nmain()",
    "def main()",
  ],
])("a title is taken from %s", (_, text, title) => {
  expect(titleOf(text)).toBe(title);
});

test.each([
  ["a section's name", "# Introduction\n\nText one.\n\n## How bees dance\n\nMore.", "How bees dance"],
  ["a numbered section", "1. Introduction\n\nBees pollinate many plants.", "Bees pollinate many plants."],
  [
    "a label with a colon",
    "Abstract: We study bees in three gardens. They like it.",
    "We study bees in three gardens.",
  ],
  ["a label in capitals", "BACKGROUND Bees dance at noon. They sleep later.", "Bees dance at noon."],
  [
    "a label as sentence",
    "Objectives. To count the bees of one garden. Methods. We looked.",
    "To count the bees of one garden.",
  ],
  [
    "a heading that is a date",
    "# 2026-11-21\n\nMet Anna about the contract. She agreed.",
    "Met Anna about the contract.",
  ],
  ["a date and a greeting", "21 November 2026\n\nDear Ms Miller,\n\nyour order is late. Sorry.", "your order is late."],
  [
    "a German greeting",
    "Sehr geehrte Frau Müller,\n\ndie Lieferung kommt später. Danke.",
    "die Lieferung kommt später.",
  ],
  [
    "a Japanese greeting",
    "お世話になっております。\n来週の会議の資料をお送りします。ご確認ください。",
    "来週の会議の資料をお送りします。",
  ],
  ["a Chinese label", "摘要\n\n本文研究了语言模型。结果很好。", "本文研究了语言模型。"],
  ["a page header", "Page 1 of 3\nCONFIDENTIAL\n\nReport of the sales team\n\nSales rose.", "Report of the sales team"],
  ["an address", "https://example.org/a\n\nA page about bees and flowers.", "A page about bees and flowers."],
  ["one short word", "Yes. I will come on Friday with my sister.", "I will come on Friday with my sister."],
  ["the checkbox of a task", "- [ ] buy milk\n- [x] call Anna", "buy milk"],
  ["HTML tags", "<p>The committee <b>met</b> on Tuesday.</p>\n<p>It was long.</p>", "The committee met on Tuesday."],
  [
    "an empty subject",
    "From: a@x.org\nTo: b@x.org\nDate: today\nSubject: \n\nHi Bob,\n\nlunch is on me. Ann",
    "lunch is on me.",
  ],
])("a title is not %s", (_, text, title) => {
  expect(titleOf(text)).toBe(title);
});

test.each(["2026-11-21", "12 May", "Abstract", "Hello!", "1234", "Page 3"])(
  "but %j is the title if there is nothing else",
  (text) => {
    expect(titleOf(text)).toBe(text);
  },
);

test.each([
  "In May, we went to Rome.",
  "March is a cold month in Oslo",
  "Dear diary entries of a sailor",
  "Summary of the talks",
])("a line that only begins like a date, greeting or section name can be a title: %j", (text) => {
  expect(titleOf(`${text}\n\nMore text follows here.`)).toBe(text);
});

test("a line of a wrapped paragraph is not a title", () => {
  const text = "The committee met and decided to\nIncrease the budget of the year. All agreed.";
  expect(titleOf(text)).toBe("The committee met and decided to Increase the budget of the year.");
});

test("a late heading that names only a part of the text is not a title", () => {
  expect(titleOf(`${"Bees dance at noon. ".repeat(60)}\n\n## Costs\n\nNone.`)).toBe("Bees dance at noon.");
});

describe("a title that is too long", () => {
  test("first loses its parentheses", () => {
    const text = "Jeffrey Thomas Porcaro (April 1, 1954 – August 5, 1992) was an American drummer and producer.";
    expect(shortTitle(text)).toBe("Jeffrey Thomas Porcaro was an American drummer and producer.");
  });

  test("is cut after a word that needs no continuation", () => {
    const text =
      "A number of authors have considered the effect of slip on the heat transfer and on the friction of plates";
    expect(shortTitle(text)).toBe("A number of authors have considered the effect of slip on the heat transfer…");
  });

  test.each(["𝒳", "字", "a", "ab ", "é ", "(", "ก"])("has at most 80 code points when made of %j", (piece) => {
    expect(Array.from(shortTitle(piece.repeat(500))).length).toBeLessThanOrEqual(TITLE_CHARACTERS_MAX);
  });
});

test("hostile texts give well-formed titles of at most 80 characters in reasonable time", () => {
  const pieces = [
    "<",
    "<a ",
    "(",
    "-",
    "# ",
    "> ",
    "\ud800",
    ". ",
    "AB ",
    "&",
    "[",
    "1.",
    "jan",
    "**",
    "`",
    "\0",
    "- [ ] ",
    "a: ",
  ];
  for (const piece of pieces) {
    const title = titleOf(piece.repeat(200_000));
    expect(title.isWellFormed()).toBe(true);
    expect(Array.from(title).length).toBeLessThanOrEqual(TITLE_CHARACTERS_MAX);
  }
});
