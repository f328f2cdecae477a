// Packing passages into the sources of a prompt: each passage has a number, passages of a memory are together, there
// are no duplicates, and the token budget is kept.

import { describe, expect, test } from "bun:test";
import { type PackOptions, packContext } from "../../src/answer/context.ts";
import { estimatedTokens } from "../../src/domain/language-model.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { seeded } from "../support/seeded.ts";
import { passage } from "./passages.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const options: PackOptions = { question: "Where does Ada live?", tokensMax: 4_000, sourcesMax: 50 };
const packed = (passages: readonly RankedPassage[], more: Partial<PackOptions> = {}) =>
  packContext(passages, { ...options, ...more });
const textsIn = (text: string) =>
  [...text.matchAll(/<source id="(\d+)"[^>]*>\n(.*?)\n<\/source>/gsu)].map(([, , each]) => each);

/** Splits the content of a memory into passages. */
function piecesOf(
  content: string,
  ranges: readonly (readonly [number, number])[],
  title = "Diary",
): readonly RankedPassage[] {
  const whole = passage(content);
  return ranges.map(([start, end], at) => ({
    ...passage(content.slice(start, end), 0.9 - at / 100),
    memory: { ...whole.memory, title, type: "note", createdAt: Date.UTC(2023, 4, 8) },
    place: { ordinal: start, start, end, headings: [] },
  }));
}

describe("packContext", () => {
  test("shows each source with title, type, day and position, and a number that refers to the passage", () => {
    const first = passage("Ada lives in Berlin.");
    const second: RankedPassage = {
      ...passage("It costs 300 euros."),
      place: { ordinal: 3, start: 40, end: 60, page: 7, headings: ["Costs", "Travel"] },
    };
    const third: RankedPassage = {
      ...passage("and then we left."),
      place: {
        ordinal: 1,
        start: 9,
        end: 26,
        headings: [],
        turn: { session: 0, speaker: "Ada", date: "8 May 2023", labelUnits: 0 },
      },
    };
    const uploaded = {
      ...second,
      memory: {
        ...second.memory,
        source: { filename: "plan.pdf", media_type: "application/pdf", bytes: 1 },
        type: "document",
      },
    };
    const { text, sources, tokens } = packed([first, uploaded, third]);
    expect(sources).toEqual([first, uploaded, third]);
    expect(tokens).toBe(estimatedTokens(text));
    expect(text).toContain(
      '<document stored="1970-01-01 00:00">\n<source id="1">\nAda lives in Berlin.\n</source>\n</document>',
    );
    expect(text).toContain('<document title="plan.pdf" type="document" stored="1970-01-01 00:00">');
    expect(text).toContain('<source id="2" page="7" section="Costs / Travel">\nIt costs 300 euros.\n</source>');
    expect(text).toContain('<source id="3" speaker="Ada" date="8 May 2023">');
  });

  test("shows when a document happened, if it is known, beside when it was stored, in the zone of the question", () => {
    const told = passage("Ada moved to Berlin.");
    const opening = (memory: Partial<(typeof told)["memory"]>, timeZone?: string) =>
      packed([{ ...told, memory: { ...told.memory, ...memory } }], timeZone === undefined ? {} : { timeZone }).text;
    const occurredAt = Date.UTC(2019, 5, 3, 22, 5);
    expect(opening({ occurredAt })).toContain('<document happened="2019-06-03 22:05" stored="1970-01-01 00:00">');
    expect(opening({ occurredAt }, "Asia/Tokyo")).toContain('happened="2019-06-04 07:05" stored="1970-01-01 09:00"');
    // a date is the same day everywhere
    expect(opening({ occurredAt, occurredAtGiven: "2019-06-03" }, "Asia/Tokyo")).toContain('happened="2019-06-03" ');
  });

  test("groups passages of a memory in reading order, and orders documents by their best passage", () => {
    const [late, early] = piecesOf("First Ada moved. Then Ada stayed.", [
      [17, 33],
      [0, 16],
    ]);
    const other = passage("Bob lives in Rome.");
    if (late === undefined || early === undefined) throw new Error("two pieces");
    const { text, sources } = packed([other, late, early]);
    expect(sources).toEqual([other, early, late]);
    expect(text.match(/<document /g)).toHaveLength(2);
    expect(text).toContain(
      '<document title="Diary" type="note" stored="2023-05-08 00:00">\n<source id="2">\nFirst Ada moved.\n</source>\n<source id="3">',
    );
  });

  test("removes the overlap with the passage before", () => {
    const content = "One kite flew over the hill. Two kites came along. Three kites sat on the old tree by the river.";
    const { text } = packed(
      piecesOf(content, [
        [0, 50],
        [29, content.length],
      ]),
    );
    expect(textsIn(text)).toEqual([content.slice(0, 50), "Three kites sat on the old tree by the river."]);
  });

  describe("a duplicate passage", () => {
    const said =
      "Ada Lovelace moved from London to Berlin in June 2019 because she had found work at the harbour there.";
    const shown = (...texts: readonly string[]) => textsIn(packed(texts.map((text) => passage(text))).text);
    const same: readonly (readonly [string, string])[] = [
      ["the same", said],
      ["in other case and punctuation", said.toUpperCase().replace(".", " !")],
      ["in other white space", said.replaceAll(" ", "\n  ")],
      ["in full-width letters", said.replace("London", "Ｌｏｎｄｏｎ")],
      ["a part of it", said.slice(13)],
      ["a little more than it", `${said} Yes.`],
    ];
    for (const [name, text] of same) {
      test(`is left out: ${name}`, () => expect(shown(said, text)).toEqual([said]));
    }
    const different: readonly (readonly [string, string])[] = [
      ["another number", said.replace("2019", "2020")],
      ["another name", said.replace("Berlin", "Rome")],
      ["a not", said.replace("had found", "had not found")],
      ["much more", `${said} ${"She liked the sea, the ships and the people. ".repeat(3)}`.trim()],
    ];
    for (const [name, text] of different) {
      test(`is not a passage with ${name}`, () => expect(shown(said, text)).toEqual([said, text]));
    }

    test("may have a few words in another order, but not many", () => {
      const words = Array.from({ length: 60 }, (_, at) => `w${at}`);
      const swapped = words.with(30, "w31").with(31, "w30").join(" ");
      const backwards = words.toReversed().join(" ");
      expect(shown(words.join(" "), swapped, backwards)).toEqual([words.join(" "), backwards]);
    });

    test("makes room for other passages, up to the number of sources", () => {
      const texts = [said, said, "Bob lives in Rome.", said, "Eve lives in Oslo.", "Max lives in Bern."];
      expect(
        textsIn(
          packed(
            texts.map((text) => passage(text)),
            { sourcesMax: 3 },
          ).text,
        ),
      ).toEqual([said, "Bob lives in Rome.", "Eve lives in Oslo."]);
    });

    test("of a few words must also have the same title and day", () => {
      const cancelled = (title: string) => ({ ...passage("Cancelled."), memory: { ...passage("").memory, title } });
      expect(packed([cancelled("Monday"), cancelled("Tuesday"), cancelled("Monday")]).sources).toHaveLength(2);
    });
  });

  describe("a budget", () => {
    const long = (about: string, sentences = 20) =>
      Array.from({ length: sentences }, (_, at) => `The ${about} number ${at} lies in hall x${at}.`).join(" ");

    test("goes to the best passages first; the last one is cut at a sentence", () => {
      const passages = [passage(long("red kite")), passage(long("blue kite")), passage(long("green kite"))];
      const { text, tokens, sources } = packed(passages, { tokensMax: 420 });
      expect(tokens).toBeLessThanOrEqual(420);
      expect(sources).toEqual(passages.slice(0, 2));
      expect(textsIn(text)[0]).toBe(passages[0]?.text);
      expect(textsIn(text)[1]).toMatch(/^The blue kite number 0 .*x\d+\. …$/);
    });

    test("keeps the sentence that matches the question when a passage is cut", () => {
      const text = `${long("red kite", 30)} Ada keeps the silver key under the pot. ${long("blue kite", 30)}`;
      const { text: shown } = packed([passage(text)], { question: "Where is the silver key?", tokensMax: 160 });
      expect(textsIn(shown)[0]).toContain("Ada keeps the silver key under the pot.");
      expect(textsIn(shown)[0]).toMatch(/^… The .*\. …$/);
    });

    test("drops a passage whose sentences are too long, and shows a later one that fits", () => {
      const passages = [passage(long("red kite", 5)), passage("word ".repeat(400)), passage("Ada lives in Berlin.")];
      expect(packed(passages, { tokensMax: 180 }).sources).toEqual([passages[0], passages[2]] as never);
    });

    for (const tokensMax of [-5, 0, 1, 60]) {
      test(`of ${tokensMax} tokens still shows the best passage's best sentence`, () => {
        const key = passage(`${long("kite")} Ada keeps the silver key under the pot.`);
        const { text, sources } = packed([key, passage("Another one.")], { question: "the silver key", tokensMax });
        expect(sources).toEqual([key]);
        expect(text).toContain("Ada keeps the silver key under the pot.");
      });
    }

    test("cuts a best passage with too long sentences after a word, and never within a character", () => {
      for (const unit of ["word ", "字", "👩‍👩‍👧‍👦", "e\u0301"]) {
        const { text, sources } = packed([passage(unit.repeat(2_000))], { tokensMax: 120 });
        expect(sources).toHaveLength(1);
        expect(textsIn(text)[0]?.replaceAll(unit.trim(), "").trim()).toMatch(/^\s*…$/);
        expect(text.isWellFormed()).toBe(true);
      }
    });
  });

  test("shows no document if no passage has text", () => {
    expect(packed([]).sources).toEqual([]);
    expect(packed([passage(" \n"), passage("\u200b")])).toEqual({
      text: "<sources>\n\n</sources>",
      sources: [],
      tokens: 9,
    });
  });

  test(`fits any passages into any budget (seed ${SEED})`, () => {
    const chance = seeded(SEED);
    const below = (count: number) => Math.floor(chance() * count);
    const PARTS = [
      "Ada lives here. ",
      "Dr. Who? ",
      "\n",
      "在柏林住。",
      "x".repeat(90),
      " ",
      "| a | b |\n",
      "- item\n",
      "[1] ",
      "</source>",
      "👩‍👩‍👧‍👦",
    ];
    const memories = Array.from({ length: 4 }, (_, at) => ({ ...passage("").memory, title: `T${at}` }));
    for (let round = 0; round < 300; round++) {
      const passages = Array.from({ length: below(20) }, (): RankedPassage => {
        const start = below(200);
        return {
          ...passage(Array.from({ length: 1 + below(30) }, () => PARTS[below(PARTS.length)] ?? "").join("")),
          memory: memories[below(4)] ?? passage("").memory,
          place: { ordinal: start, start, end: start + below(200), headings: [] },
        };
      });
      const tokensMax = 150 + below(2_000);
      const { text, sources, tokens } = packed(passages, { tokensMax, sourcesMax: 1 + below(20) });
      expect(tokens).toBeLessThanOrEqual(tokensMax);
      expect(new Set(sources).size).toBe(sources.length);
      const ids = [...text.matchAll(/<source id="(\d+)"/g)].map(([, id]) => Number(id));
      expect(ids).toEqual(sources.map((_, at) => at + 1));
    }
  });
});
