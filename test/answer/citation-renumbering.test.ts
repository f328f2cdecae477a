// Renumbering citations: new numbers count by first appearance and refer to existing sources only. This is true for any
// form in which a model writes citations, and for any fragmentation of its text.

import { describe, expect, test } from "bun:test";
import { withoutCitations } from "../../src/answer/citation-marks.ts";
import { CitationRenumberer } from "../../src/answer/citation-renumbering.ts";
import { seeded } from "../support/seeded.ts";
import { passage } from "./passages.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const SOURCES = Array.from({ length: 9 }, (_, at) => passage(`Source ${at + 1}.`));

function renumbered(fragments: readonly string[]): { readonly text: string; readonly cited: readonly number[] } {
  const stream = new CitationRenumberer(SOURCES);
  const text = fragments.map((fragment) => stream.take(fragment)).join("") + stream.end();
  return { text, cited: stream.cited.map((each) => SOURCES.indexOf(each) + 1) };
}

// Each case has the model's text, the answer's text, and the cited sources.
const texts: readonly (readonly [string, string, readonly number[]])[] = [
  ["Ada lives in Berlin [1].", "Ada lives in Berlin [1].", [1]],
  ["A [7]. B [2]. C [7].", "A [1]. B [2]. C [1].", [7, 2]],
  ["A [3, 1].", "A [1][2].", [3, 1]],
  ["A [2-4].", "A [1][2][3].", [2, 3, 4]],
  ["A [2–4], B [4—5].", "A [1][2][3], B [3][4].", [2, 3, 4, 5]],
  ["A [4-2].", "A [1][2][3].", [2, 3, 4]],
  ["A [1, 3-5; 2].", "A [1][2][3][4][5].", [1, 3, 4, 5, 2]],
  ["A [1][2].", "A [1][2].", [1, 2]],
  ["A [2][2] [2].", "A [1].", [2]],
  ["A [2][1][2].", "A [1][2].", [2, 1]],
  ["A [2, 2].", "A [1].", [2]],
  ["A 【3】.", "A [1].", [3]],
  ["A【3†source】.", "A[1].", [3]],
  ["A ［３］.", "A [1].", [3]],
  ["A [٣] or [३].", "A [1] or [1].", [3]],
  ["A [Source 3].", "A [1].", [3]],
  ["A [source 3, 1].", "A [1][2].", [3, 1]],
  ["A [Sources 3 and 1].", "A [1][2].", [3, 1]],
  ["A [Source 3, Source 1].", "A [1][2].", [3, 1]],
  ["A [Quelle 3]. 答え[出典 1]。", "A [1]. 答え[2]。", [3, 1]],
  ["A [^3].", "A [1].", [3]],
  ["A [#3].", "A [1].", [3]],
  ["A [ 3 ].", "A [1].", [3]],
  ["A [03].", "A [1].", [3]],
  ["A[1] and B[2]", "A[1] and B[2]", [1, 2]],
  ["[3] says so.", "[1] says so.", [3]],
  ["See [3](https://example.org).", "See [1](https://example.org).", [3]],
  ["[[3]]", "[[1]]", [3]],
  ["A [7 2].", "A [1][2].", [7, 2]],
  ["A [source id 3].", "A [1].", [3]],
  ['A [id="3"] or [id=3] or [“3”].', "A [1] or [1] or [1].", [3]],
  ["A [S3] or [source_3] or [Source: 3] or [ref. no. 3].", "A [1] or [1] or [1] or [1].", [3]],
  ["A [3|2].", "A [1][2].", [3, 2]],
  ["A [3, 2.] or [3.] or [3,].", "A [1][2] or [1] or [1].", [3, 2]],
  ["A [3 to 5] and [6 bis 7].", "A [1][2][3] and [4][5].", [3, 4, 5, 6, 7]],
  ["A [3: p. 4] and [source 2, pages 5-6; 1].", "A [1] and [2][3].", [3, 2, 1]],
  ["A \\[3\\] and \\[2].", "A [1] and [2].", [3, 2]],
  ['A <source id="3"/>, B <source id=2>, C <Source page="9" id=\'3\' />.', "A [1], B [2], C [1].", [3, 2]],
];

// Each case has a model's text with numbers that have no source, and the answer's text.
const unknown: readonly (readonly [string, string])[] = [
  ["Ada lives here [12].", "Ada lives here."],
  ["Ada [12] lives here.", "Ada lives here."],
  ["Ada lives here [0].", "Ada lives here."],
  ["Ada lives here [12][13] [99].", "Ada lives here."],
  ["Ada lives here [1][12].", "Ada lives here [1]."],
  ["Ada lives here [12][1].", "Ada lives here [1]."],
  ["Ada lives here [12] [1].", "Ada lives here [1]."],
  ["Ada lives here [12]", "Ada lives here"],
  ["Ada (see [12]) lives.", "Ada (see) lives."],
  ["Ada [12](so) lives.", "Ada (so) lives."],
  ["Ada [12]lives.", "Ada lives."],
  ["[12] Ada lives.", "Ada lives."],
  ["One.\n[12] Two.", "One.\nTwo."],
  ["- [12] One", "- One"],
  ["Since [2019] it is so [10-12].", "Since it is so."],
  ["A [123456789].", "A."],
  ["A [8-999999999].", "A [1][2]."],
  ["Ada [12]\nlives.", "Ada\nlives."],
  ["A [12] `b`", "A `b`"],
  ["A [[0]9].", "A […9]."],
  ["A [1[0]2] and [ [0]3].", "A [1…2] and […3]."],
  ["A [[12]].", "A […]."],
  ['A <source id="12"/>, \\[12\\].', "A,."],
  ["In the interval [0, 1] or [0-9].", "In the interval (0, 1) or (0-9)."],
  ["A[0, 1] [2][0, 1] [x][0, 1]", "A(0, 1) [1] (0, 1) [x] (0, 1)"],
  ["m[10] and m[10][20], Größe_[10] and m[i][10].", "m(10) and m(10)(20), Größe_(10) and m[i] (10)."],
  ["m[1] and m[1][10].", "m[1] and m[1]."],
  ["答え[12]。", "答え。"],
];

describe("a citation", () => {
  for (const [from, to, cited] of texts) {
    test(`${from} becomes ${to}`, () => expect(renumbered([from])).toEqual({ text: to, cited }));
  }

  for (const [from, to] of unknown) {
    test(`without a source is removed: ${JSON.stringify(from)}`, () => expect(renumbered([from]).text).toBe(to));
  }

  const untouched = [
    "A [link](https://example.org), an [x], a [ ], a [note], [1a], [1.5], [2019-05-12], [] and [.",
    "Round ones (1), (source 2) and [an open one",
    "In code: `a[1]`, ``b[2] ` c[3]`` and `x[0][1]`.",
    "```js\nconst a = b[1];\n```\n",
    "~~~\na[1]\n```\na[2]\n~~~\n",
    "- item\n\n  ```\n  a[7]\n  ```\n",
    "````\n```\n[1]\n```\n[2]\n````\n",
    "[Sourcery] and [sources]",
    "a  b   c\n\n\n    indented",
    "【注意】 ［題］",
    "[-1, 1], [3:4], [1_000], [1e5], [2 a], [p. 4] and [x|y]",
    "\\[ x = 3 \\] and C:\\dir\\, <b>, a < b, <source src='a'>, <sources id=3> and <source id=x>",
    "```xml\n<source id=3/>\n```\n",
    "`<source id=3>` and `\\[3\\]`",
    "<source id=3",
    "[1",
    "[Source ",
  ];
  for (const text of untouched) {
    test(`is not this text, which stays: ${JSON.stringify(text)}`, () =>
      expect(renumbered([text])).toEqual({ text, cited: [] }));
  }

  test("may follow code, and a backtick that opens no code", () => {
    expect(renumbered(["`a[1]` is so [2]."]).text).toBe("`a[1]` is so [1].");
    expect(renumbered(["a ` b [2] and\nso on [3]."]).text).toBe("a ` b [1] and\nso on [2].");
    expect(renumbered([`a \`${"b ".repeat(200)} [2] c`]).text).toEndWith(" [1] c");
    expect(renumbered(["```\na[1]\n```\nso [2]."]).text).toBe("```\na[1]\n```\nso [1].");
  });

  test("with more than fifty numbers does not count and gets a round bracket", () => {
    const { text, cited } = renumbered([`A [${"1, ".repeat(200)}1] b [2].`]);
    expect(cited).toEqual([2]);
    expect(text).toStartWith("A (1, 1");
    expect(renumbered([`A [${Array.from({ length: 50 }, (_, at) => at + 1).join(", ")}].`]).cited).toHaveLength(9);
  });

  test("may contain invisible characters, which are removed", () => {
    expect(renumbered(["A [\u200b1\u2060] [\u{e0041}2\u0000]."]).text).toBe("A [1][2].".replace("][", "] ["));
  });
});

describe("a stored text", () => {
  test("has no citations after neutralisation, nested ones included", () => {
    for (const form of ["A [2†x[3]].", "A [2†[3†[4†[5]]]].", "A 【2†source\\[3\\]】."]) {
      expect(renumbered([withoutCitations(form)]).cited).toEqual([]);
    }
    const forms = texts.map(([from]) => from).filter((from) => !from.includes("<"));
    for (const form of [...forms, ...unknown.map(([from]) => from)]) {
      expect(renumbered([withoutCitations(form)]).cited).toEqual([]);
    }
  });

  test(`of random characters has none either (seed ${SEED})`, () => {
    const chance = seeded(SEED);
    const below = (count: number) => Math.floor(chance() * count);
    const PIECES = '[|]|\\\\|【|】|1|2|9|0|, |,| |-|–|.|:|=|"|_|source|s|id|and|to|p|^|#|†x|\n|+|３|٣'
      .split("|")
      .concat("|");
    for (let round = 0; round < 5_000; round++) {
      const inner = Array.from({ length: 1 + below(7) }, () => PIECES[below(PIECES.length)] ?? "").join("");
      const text = `a [${inner}] b`;
      expect([text, renumbered([withoutCitations(text)]).cited]).toEqual([text, []]);
    }
  });
});

describe("text", () => {
  test("is passed on at once, except for a possible beginning of a citation", () => {
    const stream = new CitationRenumberer(SOURCES);
    expect(stream.take("Ada lives")).toBe("Ada lives");
    expect(stream.take(" in Berlin ")).toBe(" in Berlin");
    expect(stream.take("[")).toBe("");
    expect(stream.take("2")).toBe("");
    expect(stream.take("]")).toBe(" [1]");
    expect(stream.take(". See [the")).toBe(". See [the");
    expect(stream.take(" [so")).toBe("");
    expect(stream.take("lid")).toBe(" [solid");
    expect(stream.take("] `a[")).toBe("] `a");
    expect(stream.take("1]` b")).toBe("[1]` b");
    expect(stream.end()).toBe("");
  });

  test("has whole characters in each fragment, and no unpaired surrogates", () => {
    const stream = new CitationRenumberer(SOURCES);
    expect(stream.take("a\ud83d")).toBe("a");
    expect(stream.take("\ude00b\udc00")).toBe("😀b\ufffd");
    expect(stream.take("\ud83d") + stream.end()).toBe("\ufffd");
  });

  test(`does not depend on the fragmentation (seed ${SEED})`, () => {
    const chance = seeded(SEED);
    const below = (count: number) => Math.floor(chance() * count);
    const PIECES =
      "Ada| |  |\n|[1]|[2, 3]|[12]|[1-3]|[Source 4]|【5†x】|[^6]|[|]|[link](u)|`|``|```|\n```\n|~~~\n|a[1]|.|, |word|[so|[1,|(2)|😀|é|\u200b|\t|字。|[ 7 ]|[[8]]|、|- |\\|\\[3\\]|<source id='3'/>|<sou|<|>|[0, 1]|[S3]|[7 2]|[3: p. 4]|[3.]|_|=|to "
        .split("|")
        .concat("x".repeat(300), " ".repeat(20), "|");
    for (let round = 0; round < 3_000; round++) {
      const text = Array.from({ length: 1 + below(14) }, () => PIECES[below(PIECES.length)] ?? "").join("");
      const whole = renumbered([text]);
      const fragments: string[] = [];
      for (let at = 0; at < text.length; ) {
        const next = at + 1 + below(4);
        fragments.push(text.slice(at, next));
        at = next;
      }
      expect(renumbered(fragments)).toEqual(whole);
      expect(renumbered([...text].flatMap((each) => each.split("")))).toEqual(whole);
    }
  });

  test(`has no citation without a source outside of code (seed ${SEED})`, () => {
    const chance = seeded(SEED);
    const below = (count: number) => Math.floor(chance() * count);
    for (let round = 0; round < 2_000; round++) {
      const text = Array.from({ length: 30 }, () => '[]1290,- –.[]saou^\n 【】３x\\"=_|:<>'[below(32)] ?? "").join("");
      const { text: answer, cited } = renumbered([text]);
      const numbers = [...answer.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number));
      expect(Math.max(0, ...numbers)).toBe(cited.length);
      const first = [...new Set(numbers)];
      expect(first).toEqual(first.map((_, at) => at + 1));
    }
  });
});
