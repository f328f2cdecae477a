// Tests chunks: their ranges, sizes, sections and texts, and that hostile texts are cut in reasonable time.

import { describe, expect, test } from "bun:test";
import { CHUNK_TOKENS } from "../../src/domain/chunk.ts";
import { SPECIAL_TOKENS, UNITS_PER_TOKEN_MAX } from "../../src/preparation/chunk.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { rounds } from "../support/extent.ts";
import { type ChunkWithTexts, input, models, withTexts } from "./fixtures/models.ts";

const SENTENCE = "The committee met on Tuesday to discuss the budget for the coming year. ";

function chunksOf(content: string, title: string | null = null, tokensMax = CHUNK_TOKENS): readonly ChunkWithTexts[] {
  return withTexts(prepare(input(content, { title }), models, tokensMax));
}

/** Checks what must be true for the chunks of every text. */
function expectSound(content: string, chunks: readonly ChunkWithTexts[]): void {
  const points = Array.from(content);
  let lastEnd = 0;
  for (const [position, chunk] of chunks.entries()) {
    expect(chunk.ordinal).toBe(position);
    expect(points.slice(lastEnd, chunk.start).join("").trim()).toBe("");
    expect(points.slice(chunk.start, chunk.end).join("")).toBe(chunk.passage);
    expect(chunk.passage.trim()).toBe(chunk.passage);
    expect(chunk.passage).not.toBe("");
    expect(chunk.searchText.endsWith(chunk.passage)).toBe(true);
    expect(chunk.contextText === null).toBe(chunks.length === 1);
    lastEnd = chunk.end;
  }
  expect(points.slice(lastEnd).join("").trim()).toBe("");
}

/** A linear congruential generator (Numerical Recipes), so that a failing seed can be repeated. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const FRAGMENTS = [
  "word ",
  "Sentence one. ",
  "e.g. this, ",
  "\n",
  "\n\n",
  "\r\n",
  "# Heading\n",
  "### Deeper 🎉\n",
  "Under\n=====\n",
  "- item one\n",
  "1. first\n",
  "| a | b |\n",
  "```\ncode = 1\n",
  "```\n",
  "---\n",
  "今日は天気がいい。",
  "我们讨论了模型。",
  "สวัสดีครับ",
  "مرحبا بالعالم. ",
  "👩‍👩‍👧‍👦",
  "e\u0301\u0302",
  "\u3000",
  "\u00a0",
  "\ufeff",
  "\ud83d",
  "Dr. Who met J. R. Smith. ",
  "x".repeat(300),
  "\t",
  "    indented\n",
];

describe("ranges", () => {
  const seeds = rounds("MNEME_TEST_SEEDS", { all: 150, short: 50 });
  test(`cover the content in code points, in order and without overlap (${seeds} random texts)`, () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = generator(seed);
      const content = Array.from({ length: 1 + random(400) }, () => FRAGMENTS[random(FRAGMENTS.length)]).join("");
      const title = random(2) === 0 ? null : "A title";
      const tokensMax = [16, 64, CHUNK_TOKENS][random(3)] ?? CHUNK_TOKENS;
      try {
        expectSound(content, chunksOf(content, title, tokensMax));
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });

  test("count an emoji as one code point and start after leading white space", () => {
    const [chunk] = chunksOf("  🎉 party  ");
    expect(chunk).toMatchObject({ start: 2, end: 9, passage: "🎉 party" });
  });

  test("a text of only white space has no chunk", () => {
    expect(chunksOf(" \n\t\u3000\ufeff\n")).toEqual([]);
  });
});

describe("sizes", () => {
  test("a text within the budget is one chunk, and a text with one token more is two halves", () => {
    const budget = CHUNK_TOKENS - SPECIAL_TOKENS;
    // The word "word" is one token.
    const full = chunksOf("word ".repeat(budget));
    expect(full.map(({ tokens }) => tokens)).toEqual([CHUNK_TOKENS]);
    const [first, second, ...more] = chunksOf("word ".repeat(budget + 1));
    expect(more).toEqual([]);
    expect(Math.abs((first?.tokens ?? 0) - (second?.tokens ?? 0))).toBeLessThan(CHUNK_TOKENS / 4);
  });

  test("no chunk exceeds the budget, and its token count is that of its search text with special tokens", () => {
    for (const tokensMax of [64, 128, CHUNK_TOKENS]) {
      for (const title of [null, "Minutes of the board", SENTENCE.repeat(10).trim()]) {
        const content = `# Budget\n\n${SENTENCE.repeat(50)}\n\n## Details of the plan\n\n- ${SENTENCE.repeat(20)}\n- Short.\n\n${"word, ".repeat(900)}`;
        for (const chunk of chunksOf(content, title, tokensMax)) {
          expect(chunk.tokens).toBe(models.countTokens(chunk.searchText) + SPECIAL_TOKENS);
          expect(chunk.tokens).toBeLessThanOrEqual(tokensMax);
        }
      }
    }
  });

  test("chunks of prose have about equal size, without a tiny last one", () => {
    for (const sentences of [25, 40, 63, 100]) {
      const sizes = chunksOf(SENTENCE.repeat(sentences)).map(({ tokens }) => tokens);
      expect(Math.min(...sizes)).toBeGreaterThan(CHUNK_TOKENS * 0.4);
    }
  });

  test("cuts are between sentences, and not after an abbreviation", () => {
    const content = "Dr. Smith of St. Mary met Prof. J. R. Jones at 5 p.m. in room No. 7 of the house. ".repeat(40);
    const chunks = chunksOf(content);
    expect(chunks.length).toBeGreaterThan(2);
    for (const { passage } of chunks) {
      expect(passage.startsWith("Dr. Smith")).toBe(true);
      expect(passage.endsWith("of the house.")).toBe(true);
    }
  });

  test("a paragraph is not cut at a line break", () => {
    const chunks = chunksOf("The first half of a\nsentence that was wrapped by hand. ".repeat(60));
    for (const { passage } of chunks) expect(passage.startsWith("The first half")).toBe(true);
  });

  test("Chinese and Japanese are cut after a full stop", () => {
    for (const sentence of ["我们今天讨论了新的语言模型。", "今日は新しい言語モデルについて議論しました。"]) {
      const chunks = chunksOf(sentence.repeat(60));
      expect(chunks.length).toBeGreaterThan(2);
      for (const { passage } of chunks) expect(passage.endsWith("。")).toBe(true);
    }
  });

  test("a sentence larger than the budget is cut between words, a larger word between graphemes", () => {
    for (const { passage } of chunksOf("alpha beta gamma delta ".repeat(400))) {
      expect(passage).toMatch(/^(?:alpha|beta|gamma|delta)\b.*\b(?:alpha|beta|gamma|delta)$/s);
    }
    for (const { passage } of chunksOf("👩‍👩‍👧‍👦".repeat(2_000))) expect(passage.replaceAll("👩‍👩‍👧‍👦", "")).toBe("");
  });
});

describe("structure", () => {
  const long = (about: string) => `${about} is what this part is about. ${SENTENCE.repeat(25)}`;

  test("a section begins a new chunk, and chunks have the headings above them", () => {
    const content = `# Guide\n\n${long("Guide")}\n\n## Install\n\n${long("Install")}\n\n## Use\n\n${long("Use")}`;
    const chunks = chunksOf(content, "Manual");
    const install = chunks.filter(({ headings }) => headings.at(-1) === "Install");
    expect(install.length).toBeGreaterThan(1);
    expect(install[0]?.passage.startsWith("## Install")).toBe(true);
    expect(install.every(({ headings }) => headings.join("/") === "Guide/Install")).toBe(true);
    // The first chunk contains the heading; for the others it is put before the passage.
    expect(install[0]?.searchText.startsWith("Manual. Guide. ## Install")).toBe(true);
    expect(install[1]?.searchText.startsWith("Manual. Guide. Install. ")).toBe(true);
    // The search text has the headings before the passage, the embedded text only the title.
    expect(install.map(({ embeddedText }) => embeddedText)).toEqual(install.map(({ passage }) => `Manual. ${passage}`));
  });

  test("no chunk but the last ends with a heading", () => {
    const content = Array.from({ length: 30 }, (_, n) => `## Part ${n}\n\n${SENTENCE.repeat(1 + (n % 7))}`).join(
      "\n\n",
    );
    for (const { passage } of chunksOf(content).slice(0, -1)) expect(passage).not.toMatch(/## Part \d+$/);
  });

  test("small sections share a chunk, which has their common headings", () => {
    const content = `# Glossary\n\n${Array.from({ length: 80 }, (_, n) => `## Term ${n}\n\nIt means ${n}.`).join("\n\n")}`;
    const chunks = chunksOf(content);
    expect(chunks.length).toBeLessThan(30);
    expect(chunks[1]?.headings).toEqual(["Glossary"]);
  });

  test("code and tables are not cut if they fit, else between lines", () => {
    const code = `\`\`\`python\n${"print('hello')\n".repeat(12)}\`\`\``;
    const chunks = chunksOf(`${SENTENCE.repeat(12)}\n\n${code}\n\n${SENTENCE.repeat(12)}`);
    expect(chunks.filter(({ passage }) => passage.includes(code))).toHaveLength(1);
    const row = "| apples | 12 | red |\n";
    for (const { passage } of chunksOf(row.repeat(200))) expect(passage).toMatch(/^\|.*\|$/s);
  });

  test("in source code a `#` is a comment, not a heading", () => {
    const content = `import os\n\n${"# Reads the file\ndef read(path):\n    return open(path).read()\n\n".repeat(60)}`;
    for (const { headings } of chunksOf(content)) expect(headings).toEqual([]);
  });

  test("lines in fenced code and in front matter are not headings", () => {
    const content = `---\ntitle: x\n---\n\n\`\`\`\n# no heading\n\`\`\`\n\nReal\n====\n\n${SENTENCE.repeat(40)}`;
    expect(chunksOf(content).at(-1)?.headings).toEqual(["Real"]);
  });

  test("context is the chunk with its neighbours in reading order", () => {
    const chunks = chunksOf(SENTENCE.repeat(70), "Minutes");
    const [before, middle, after] = chunks;
    expect(middle?.contextText).toBe(`Minutes. ${before?.passage}\n\n${middle?.passage}\n\n${after?.passage}`);
    expect(chunksOf("Short.")[0]?.contextText).toBeNull();
  });

  test("a given title is put before every chunk, an extracted one not before the text that it comes from", () => {
    expect(chunksOf("Buy milk.", "Groceries")[0]?.searchText).toBe("Groceries. Buy milk.");
    expect(chunksOf("Buy milk.")[0]?.searchText).toBe("Buy milk.");
    const untitled = chunksOf(`Board meeting\n\n${SENTENCE.repeat(60)}`);
    expect(untitled[0]?.searchText.startsWith("Board meeting\n")).toBe(true);
    expect(untitled[1]?.searchText.startsWith("Board meeting. The committee")).toBe(true);
  });

  test("a long title takes at most a quarter of the budget if a text has more than one chunk", () => {
    const title = "An exceedingly long title about many things ".repeat(20).trim();
    for (const { searchText, passage } of chunksOf(SENTENCE.repeat(60), title)) {
      expect(models.countTokens(searchText.slice(0, -passage.length))).toBeLessThanOrEqual(CHUNK_TOKENS / 4);
    }
  });
});

describe("hostile texts are prepared like any other text", () => {
  const texts: Readonly<Record<string, string>> = {
    "1 MB without a space": "x".repeat(1 << 20),
    "a million line breaks": `a${"\n".repeat(1_000_000)}b`,
    "1 MB of spaces": `a${" ".repeat(1 << 20)}b`,
    "100,000 headings": "# Heading\n".repeat(100_000),
    "headings of six levels": "# a\n## b\n### c\n#### d\n##### e\n###### f\ntext\n".repeat(10_000),
    "a heading of 1 MB": `# ${"long ".repeat(200_000)}`,
    "emoji alone": "👩‍👩‍👧‍👦🎉".repeat(40_000),
    "Arabic, right to left": "مرحبا بالعالم هذا نص طويل. ".repeat(20_000),
    "Chinese without punctuation": "我们今天讨论了新的语言模型".repeat(20_000),
    "Thai without spaces": "สวัสดีครับผมชื่อสมชาย".repeat(20_000),
    "combining marks": `a${"\u0301".repeat(500_000)}`,
    "lone surrogates": "\ud83d".repeat(100_000),
    "abbreviations alone": "e. g. ".repeat(100_000),
    "fences that never close": "```\n".repeat(100_000),
    "brackets alone": "[".repeat(300_000),
    "emphasis alone": "__ ".repeat(200_000),
    "control characters": "\u0000\u0001\u200b".repeat(100_000),
    "short lines with a colon": "a: b\n".repeat(100_000),
  };
  for (const [name, content] of Object.entries(texts)) {
    test(name, () => {
      const prepared = prepare(input(content), models);
      const chunks = withTexts(prepared);
      expect(chunks.length).toBeGreaterThan(0);
      expectSound(content, chunks);
      for (const { passage, tokens } of chunks) {
        expect(passage.length).toBeLessThanOrEqual(UNITS_PER_TOKEN_MAX * CHUNK_TOKENS);
        expect(tokens).toBeLessThanOrEqual(CHUNK_TOKENS);
      }
      expect(Array.from(prepared.extracted.title ?? "").length).toBeLessThanOrEqual(80);
    });
  }
});

test("the lines of a chunk are those of its first and last character", () => {
  const random = generator(20_261_129);
  for (let round = 0; round < 20; round++) {
    const content = Array.from({ length: 400 }, () => FRAGMENTS[random(FRAGMENTS.length)] ?? "").join("");
    const { chunks, lines } = prepare(input(content, { title: null }), models, 64);
    const points = Array.from(content);
    const lineAt = (point: number) => points.slice(0, point).filter((character) => character === "\n").length + 1;
    expect(Array.from(lines)).toEqual(chunks.flatMap(({ start, end }) => [lineAt(start), lineAt(end)]));
  }
});

test("all chunks of a text of one line, and all parts of a turn, are in its line", () => {
  const turn = JSON.stringify([{ role: "user", content: SENTENCE.repeat(20_000) }]);
  for (const content of [SENTENCE.repeat(20_000), turn]) {
    const { chunks, lines } = prepare(input(content, { title: null }), models);
    expect(chunks.length).toBeGreaterThan(1_000);
    expect(new Set(lines as Int32Array)).toEqual(new Set([1]));
  }
});
