// Tests Markdown files: each row of a table has its column names, and all other lines stay as they are.

import { describe, expect, test } from "bun:test";
import { NamedRows } from "../../src/documents/text/markdown-tables.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { seeded } from "../support/seeded.ts";
import { partsOf, SCRIPT_CASES } from "./fixtures/scripts.ts";

const read = (...pieces: string[]) => [...new NamedRows().of(pieces)].join("");

describe("scripts", () => {
  test("are written as in all formats", () => {
    const html = (written: string) =>
      partsOf(written)
        .map(({ text, level }) => (level === 0 ? text : level > 0 ? `<sup>${text}</sup>` : `<SUB>${text}</SUB>`))
        .join("");
    for (const [written, expected] of SCRIPT_CASES) expect(read(`${html(written)}\n`)).toContain(expected);
  });

  test("may be links to notes, and may stand in tables", () => {
    expect(read("The port[^2] had 12<sup>[3](#n3)</sup> cranes and 7<sup><a href='#n4'>4</a></sup> boats.")).toBe(
      "The port[^2] had 12[3] cranes and 7[4] boats.",
    );
    expect(read("|a|b|\n|-|-|\n|10<sup>6</sup>|48.312<sup>4</sup>|")).toBe("a | b\na: 10^6 | b: 48.312[4]");
  });

  test("stay in code, and so does what is no script", () => {
    for (const text of [
      "`10<sup>6</sup>`",
      "```\n10<sup>6</sup>\n```",
      "10<sup>6",
      "10</sup>6",
      "<supper>6</supper>",
    ]) {
      expect(read(text)).toBe(text);
    }
  });
});

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

/** The number of the file's line that each line of the written text is, by the marks. */
function linesRead(file: string): readonly (readonly [line: string, number: number])[] {
  const rows = new NamedRows();
  const text = [...rows.of([file])].join("");
  let at = 0;
  return text.split("\n").map((line, position) => {
    const start = at;
    at += line.length + 1;
    return [line, position + (rows.marks.findLast((mark) => mark.at <= start)?.line ?? Number.NaN)] as const;
  });
}

test("lines of the text are counted as in the file, also behind tables, whose second line is left out", () => {
  const file = "# Prices\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| | |\n| 3 | 4 |\n\nBehind.\n| c | d |\n|--|--|\nEnd.";
  expect(linesRead(file)).toEqual([
    ["# Prices", 1],
    ["", 2],
    ["a | b", 3],
    ["a: 1 | b: 2", 5],
    ["a: 3 | b: 4", 7],
    ["", 8],
    ["Behind.", 9],
    ["c | d", 10],
    ["End.", 12],
  ]);
});

test("lines that stay as they are keep their number in any file", () => {
  const random = seeded(7);
  const parts = ["plain", "| a | b |", "|---|---|", "| 1 | 2 |", "", "- item", "```", "> | x | y |", "# Head"];
  for (let round = 0; round < 300; round++) {
    const file = Array.from(
      { length: 30 },
      (_, at) => `${parts[Math.floor(random() * parts.length)]}${at % 3 ? "" : at}`,
    );
    for (const [line, number] of linesRead(file.join("\n"))) {
      if (file.includes(line) && line.startsWith("plain")) expect(file[number - 1]).toBe(line);
    }
  }
});
