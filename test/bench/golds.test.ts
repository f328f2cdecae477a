// Comparing answers with their golds, and reading the golds of a collection.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  contains,
  firstStatement,
  isVerdict,
  readGolds,
  sharedWords,
  withoutCitations,
} from "../../bench/lib/golds.ts";

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

  test("in part, if the gold is a list", () => {
    expect(sharedWords("She plays the violin [1]. He plays chess.", "violin, piano, chess")).toBeCloseTo(2 / 3);
  });
});

test("yes/no golds are distinguished from spans of text", () => {
  expect(["Yes", "no.", "Norway", "yes and no"].map(isVerdict)).toEqual([true, true, false, false]);
});

test("citations are removed, and end the first statement", () => {
  const answer = "He was born in 1974 [1]. She was not [2].";
  expect(withoutCitations(answer)).toBe("He was born in 1974. She was not.");
  expect(firstStatement(answer)).toBe("He was born in 1974");
  expect(firstStatement("Nothing is stored.")).toBe("Nothing is stored.");
});

describe("golds of a collection", () => {
  const folderWith = async (lines: readonly string[], use: (folder: string) => Promise<void>) => {
    const folder = mkdtempSync(join(tmpdir(), "mneme-golds-"));
    try {
      writeFileSync(join(folder, "queries.jsonl"), lines.map((line) => `${line}\n`).join(""));
      await use(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  test("come from its queries", async () => {
    const lines = [
      '{"_id":"a","text":"Who?","metadata":{"answer":"Ada"}}',
      '{"_id":"b","text":"When?","metadata":{"answer":1974}}',
      '{"_id":"c","text":"Where?","metadata":{}}',
    ];
    await folderWith(lines, async (folder) => {
      expect([...(await readGolds("hotpotqa", folder))]).toEqual([
        ["a", "Ada"],
        ["b", "1974"],
      ]);
    });
  });
  test("come from this repository if its queries have none; there may be none at all", async () => {
    await folderWith(['{"_id":"a","text":"Who?","metadata":{}}'], async (folder) => {
      expect((await readGolds("2wikimultihop", folder)).get("fg1")).toBe("Phoolwari");
      expect(await readGolds("scifact", folder)).toEqual(new Map());
    });
  });
});
