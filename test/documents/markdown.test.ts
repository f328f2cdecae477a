// Tests Markdown files: each row of a table has its column names, and all other lines stay as they are.

import { describe, expect, test } from "bun:test";
import { withNamedRows } from "../../src/documents/text/markdown-tables.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { seeded } from "../support/seeded.ts";

const read = (...pieces: string[]) => [...withNamedRows(pieces)].join("");

describe("a table", () => {
  const cases: Readonly<Record<string, readonly [written: string, read: string]>> = {
    "has its column names in each row": [
      "Prices:\n\n| Article | Price |\n|---|---|\n| Anchor | 89 |\n| Ballast | 98 |\n\nEnd.\n",
      "Prices:\n\nArticle | Price\nArticle: Anchor | Price: 89\nArticle: Ballast | Price: 98\n\nEnd.\n",
    ],
    "may have no outer bars": [
      "Tree | Height\n--- | ---\nOak | 30\nElm | 20",
      "Tree | Height\nTree: Oak | Height: 30\nTree: Elm | Height: 20",
    ],
    "may be aligned": ["|a|b|c|\n|:--|:-:|--:|\n|1|2|3|", "a | b | c\na: 1 | b: 2 | c: 3"],
    "may have escaped bars": [
      "| Command | Use |\n|---|---|\n| a \\| b | pipe |\n| `x\\|y` | or |",
      "Command | Use\nCommand: a|b | Use: pipe\nCommand: `x|y` | Use: or",
    ],
    "may be within a list": [
      "1. Keys\n\n   | Key | Value |\n   |---|---|\n   | k1 | v1 |\n2. End",
      "1. Keys\n\n   Key | Value\n   Key: k1 | Value: v1\n2. End",
    ],
    "may begin at the marker of an item": ["- | a | b |\n  |---|---|\n  | 1 | 2 |", "- a | b\n  a: 1 | b: 2"],
    "may be within a quotation": [
      "> | Q | A |\n> |---|---|\n> | why | so |\n\nEnd",
      "> Q | A\n> Q: why | A: so\n\nEnd",
    ],
    "may follow a paragraph directly, and ends before one": [
      "See\n| a | b |\n|---|---|\n| 1 | 2 |\n# Next",
      "See\na | b\na: 1 | b: 2\n# Next",
    ],
    "has no name for a column without one": [
      "| | Mon | Tue |\n|---|---|---|\n| am | Ida | Bo |",
      "Mon | Tue\nam | Mon: Ida | Tue: Bo",
    ],
    "keeps cells beyond its columns and leaves out empty ones": ["|a|b|\n|-|-|\n|1||3|\n||2|", "a | b\na: 1 | 3\nb: 2"],
    "has distinct names": ["|a|a|\n|-|-|\n|1|2|", "a | a (2)\na: 1 | a (2): 2"],
    "has names without emphasis and links": [
      "|**Price**|[Stock](x.html)|\n|-|-|\n|1|2|",
      "Price | Stock\nPrice: 1 | Stock: 2",
    ],
    "may be in any script": ["| 名前 | 都市 |\n|---|---|\n| 佐藤 | 東京 |", "名前 | 都市\n名前: 佐藤 | 都市: 東京"],
    "may be followed by another": [
      "|a|b|\n|-|-|\n|1|2|\n\n|c|d|\n|-|-|\n|3|4|",
      "a | b\na: 1 | b: 2\n\nc | d\nc: 3 | d: 4",
    ],
  };
  for (const [what, [written, expected]] of Object.entries(cases)) {
    test(what, () => {
      expect(read(written)).toBe(expected);
      expect(read(...written)).toBe(expected);
    });
  }

  test("of several chunks has its column names in each of them", () => {
    const rows = Array.from({ length: 120 }, (_, at) => `| Article ${at} of the list | ${at + 10} | ${at * 3} |`);
    const content = read(`# Prices\n\n| Name | Price | Stock |\n|---|---|---|\n${rows.join("\n")}\n`);
    const countTokens = (text: string) => text.split(/\s+/).length;
    const given = { title: null, type: null, tags: null, language: null, date: null, createdAt: null };
    const { chunks } = prepare({ content, ...given }, { countTokens });
    expect(chunks.length).toBeGreaterThan(3);
    for (const [at] of rows.entries()) {
      const row = `Name: Article ${at} of the list | Price: ${at + 10} | Stock: ${at * 3}`;
      expect(chunks.filter((chunk) => content.slice(chunk.start, chunk.end).includes(row))).toHaveLength(1);
    }
  });
});

describe("what is no table stays as it is:", () => {
  const cases: Readonly<Record<string, string>> = {
    "fenced code": "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n",
    "fenced code with tildes in a list": "- x\n\n  ~~~md\n  | a | b |\n  |---|---|\n  ~~~\n",
    "a longer fence around a shorter one": "````\n```\n| a | b |\n|---|---|\n````\n",
    "indented code": "Text\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n",
    "preformatted text": "<pre>\n| a | b |\n|---|---|\n| 1 | 2 |\n</pre>\n",
    "front matter": "---\na | b\ntitle: x\n---\ntext\n",
    "a heading with a bar": "a | b\n---\ntext\n",
    "a delimiter row with other columns": "| a | b |\n|---|---|---|\n| 1 | 2 |\n",
    "a sentence with a bar": "Use a | b\nor b | c.\n",
    "a table of one column": "| a |\n|---|\n| 1 |\n",
    "rows without a delimiter": "| a | b |\n| 1 | 2 |\n",
    "blank lines and white space": "\n\n  a  \n\t\n",
  };
  for (const [what, text] of Object.entries(cases)) test(what, () => expect(read(text)).toBe(text));

  test("random lines, of which no word is lost", () => {
    const seed = 11;
    const random = seeded(seed);
    const signs = [
      "| w1 | w2 |",
      "|---|---|",
      "w3 | w4",
      "```",
      "> | w5 | w6 |",
      "> |-|-|",
      "",
      "# w7",
      "  | w8 |",
      "- w9",
      "---",
      "<pre>",
      "</pre>",
    ];
    for (let round = 0; round < 400; round++) {
      const text = Array.from({ length: 12 }, () => signs[Math.floor(random() * signs.length)]).join("\n");
      const missing = (text.match(/w\d/g) ?? []).filter((word) => !read(text).includes(word));
      expect({ seed, round, text, missing }).toEqual({ seed, round, text, missing: [] });
    }
  });
});
