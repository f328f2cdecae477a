// Tests the word lists in data/words: their format, and that no list contains a word twice.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseWordList } from "../../src/words/word-lists.ts";

const FOLDER = join(import.meta.dir, "../../data/words");
const FILES = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".txt"));

test("a list is parsed into sections, without comments and blank lines", () => {
  const list = parseWordList("# comment\n\n[en]\na b\nc\n\n[de]\nd\n");
  expect([...list]).toEqual([
    ["en", ["a", "b", "c"]],
    ["de", ["d"]],
  ]);
});

test.each(FILES)("%s has words in lower case, and none twice in a section", (file) => {
  const sections = parseWordList(readFileSync(join(FOLDER, file), "utf8"));
  expect(sections.size).toBeGreaterThan(0);
  for (const [name, words] of sections) {
    expect(words.length).toBeGreaterThan(0);
    expect({ name, repeated: words.filter((word, at) => words.indexOf(word) !== at) }).toEqual({ name, repeated: [] });
    for (const word of words) expect(word).toBe(word.trim().toLowerCase());
  }
});

test("the README describes every list", () => {
  const page = readFileSync(join(FOLDER, "README.md"), "utf8");
  for (const file of FILES) expect(page).toContain(`\`${file}\``);
});
