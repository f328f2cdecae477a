// Tests conversations that are written in lines: each turn is a chunk with speaker and day, in all common forms of
// writing them.

import { describe, expect, test } from "bun:test";
import { CHUNK_TOKENS } from "../../src/domain/chunk.ts";
import { SPECIAL_TOKENS } from "../../src/preparation/chunk.ts";
import { readLineTurns } from "../../src/preparation/conversation/lines.ts";
import { TURNS_MAX } from "../../src/preparation/conversation/turns.ts";
import type { WholeInput } from "../../src/preparation/prepare.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { rounds } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import { input, models, withTexts } from "./fixtures/models.ts";

const CREATED_AT = Date.UTC(2024, 1, 29, 23, 59);

function prepared(content: string, given: Partial<WholeInput> = {}) {
  return prepare(input(content, { type: "conversation", ...given }), models);
}

function chunksOf(content: string, given: Partial<WholeInput> = {}) {
  return withTexts(prepared(content, given));
}

function searchTextsOf(content: string, given: Partial<WholeInput> = {}): string[] {
  return chunksOf(content, given).map(({ searchText }) => searchText);
}

describe("a turn", () => {
  test("is a chunk: passage as written, embedded text as a sentence, search text with day and speaker, context of two turns on both sides", () => {
    const content = "[8 May 2023]\nAda: One.\nBen: Two.\nAda: Three.\nBen: Four. 🎉\nAda: Five.\n";
    const chunks = chunksOf(content, { title: "A talk" });
    expect(chunks.map(({ passage }) => passage)).toEqual([
      "Ada: One.",
      "Ben: Two.",
      "Ada: Three.",
      "Ben: Four. 🎉",
      "Ada: Five.",
    ]);
    expect(chunks[2]).toEqual({
      ordinal: 2,
      start: 33,
      end: 44,
      passage: "Ada: Three.",
      embeddedText: 'On 8 May 2023, Ada said: "Three."',
      searchText: "[8 May 2023] Ada: Three.",
      contextText: "[8 May 2023] Ada: One.\nBen: Two.\nAda: Three.\nBen: Four. 🎉\nAda: Five.",
      tokens: models.countTokens('On 8 May 2023, Ada said: "Three."') + SPECIAL_TOKENS,
      headings: [],
      turn: { session: 0, speaker: "Ada", date: "8 May 2023", labelUnits: 5 },
    });
    expect(chunks[4]?.start).toBe(58); // the emoji before it counts as one
    expect(chunks[0]?.contextText).toBe("[8 May 2023] Ada: One.\nBen: Two.\nAda: Three.");
  });

  test.each([
    ["Ada: hello", "Ada"],
    ["  Ada : hello", "Ada"],
    ["Ada:hello", "Ada"],
    ["Ada Byron King: hello", "Ada Byron King"],
    ["Dr. O'Neill-Şahin: hello", "Dr. O'Neill-Şahin"],
    ["李雷：hello", "李雷"],
    ["محمد: hello", "محمد"],
    ["🐙 Otto: hello", "🐙 Otto"],
    ["SPEAKER_00: hello", "SPEAKER_00"],
    ["user: hello", "user"],
    ["[user]: hello", "user"],
    ["**Ada**: hello", "Ada"],
    ["**Ada:** hello", "Ada"],
    ["*Ada*: hello", "Ada"],
    ["__Ada__: hello", "Ada"],
    ["- Ada: hello", "Ada"],
    ["> Ada: hello", "Ada"],
    ["Ada (10:02): hello", "Ada"],
    ["Ada [10:02 PM]: hello", "Ada"],
    ["**Ada** (10:02): hello", "Ada"],
    ["10:02 Ada: hello", "Ada"],
    ["10:02:33 - Ada: hello", "Ada"],
    ["(10:02) Ada: hello", "Ada"],
    ["10:02 PM Ada: hello", "Ada"],
    ["[10:02] Ada: hello", "Ada"],
    ["[laughing] Ada: hello", "Ada"],
    ["<ada> hello", "ada"],
    ["<@ada> hello", "ada"],
    ["[10:02] <ada> hello", "ada"],
    ["10:02 <+ada> hello", "ada"],
    ["Ada:\n\nhello", "Ada"],
    ["\u200eAda: hello", "Ada"],
  ])("is recognised in %j", (content, speaker) => {
    expect(chunksOf(content)).toMatchObject([
      { searchText: `${speaker}: hello`, passage: content.trim(), turn: { speaker } },
    ]);
  });

  test.each([
    ["2023-05-08 13:56 Ada: hello", "8 May 2023"],
    ["[2023-05-08T13:56:01Z] Ada: hello", "8 May 2023"],
    ["2023-05-08T23:56:01-07:00 Ada: hello", "8 May 2023"],
    ["Ada (8 May 2023, 13:56): hello", "8 May 2023"],
    ["13.05.2023 13:56 Ada: hello", "13 May 2023"],
    ["13/5/23, 13:56 - Ada: hello", "13 May 2023"],
    ["[5/13/23, 1:56:01\u202fPM] Ada: hello", "13 May 2023"],
    ["[5/8/23, 1:56:01 PM] Ada: hello", "8 May 2023"],
    ["[8/5/23, 13:56:01] Ada: hello", "8 May 2023"],
    ["[10:02] Ada: hello", null],
  ])("has the day of its time: %s", (content, date) => {
    expect(chunksOf(content)).toMatchObject([{ turn: { speaker: "Ada", date } }]);
  });

  test("numeric days are read in the same order in a whole conversation", () => {
    const content = "5/8/23, 13:56 - Ada: one\n5/13/23, 13:57 - Ben: two\n";
    expect(chunksOf(content).map(({ turn }) => turn?.date)).toEqual(["8 May 2023", "13 May 2023"]);
  });

  test("continues over lines without a speaker, including blank lines", () => {
    const content =
      "Ada: The list:\n- milk\n- bread\n\nThat is all, see https://example.org/a\nNote: by noon\nShe said: hurry\n\nBen: Thanks.\nAda: Bye.";
    expect(chunksOf(content).map(({ passage }) => passage)).toEqual([
      "Ada: The list:\n- milk\n- bread\n\nThat is all, see https://example.org/a\nNote: by noon\nShe said: hurry",
      "Ben: Thanks.",
      "Ada: Bye.",
    ]);
  });

  test("can be the only one if the caller says that the text is a conversation", () => {
    expect(searchTextsOf("Ada: Only this.")).toEqual(["Ada: Only this."]);
    expect(chunksOf("Ada: Only this.")[0]?.contextText).toBeNull();
  });

  test("text before the first one is a chunk without a speaker", () => {
    expect(searchTextsOf("Planning call\n\nAda: Hi.\nBen: Hi.", { date: "2023-05-08" })).toEqual([
      "[8 May 2023] Planning call",
      "[8 May 2023] Ada: Hi.",
      "[8 May 2023] Ben: Hi.",
    ]);
  });

  test("is cut at sentences if it is very long, each part with day and speaker within the budget", () => {
    const sentence = "The committee met on Tuesday to discuss the budget for the coming year. ";
    const content = `[8 May 2023]\nBen: Hi.\n[10:02] Ada: ${sentence.repeat(60)}\nBen: Bye.`;
    const chunks = chunksOf(content);
    const parts = chunks.filter(({ turn }) => turn?.speaker === "Ada");
    expect(parts.length).toBeGreaterThan(2);
    for (const [position, { searchText, embeddedText, passage, tokens, start, end }] of parts.entries()) {
      expect(searchText).toStartWith("[8 May 2023] Ada: The committee");
      expect(searchText).toEndWith("year.");
      expect(embeddedText).toStartWith('On 8 May 2023, Ada said: "The committee');
      expect(embeddedText).toEndWith('year."');
      expect(tokens).toBe(models.countTokens(embeddedText) + SPECIAL_TOKENS);
      expect(tokens).toBeLessThanOrEqual(CHUNK_TOKENS);
      expect(passage).toStartWith(position === 0 ? "[10:02] Ada: The" : "The");
      expect(content.slice(start, end)).toBe(passage);
    }
    expect(chunks.at(-1)?.passage).toBe("Ben: Bye.");
  });

  test("without a day is embedded without one, and text without a speaker as it is", () => {
    const content = "Notes of a talk.\nAda: One.\nBen: “Two”, she said.";
    expect(chunksOf(content).map(({ embeddedText }) => embeddedText)).toEqual([
      "Notes of a talk.",
      'Ada said: "One."',
      'Ben said: "“Two”, she said."',
    ]);
    expect(chunksOf(content, { date: "2023-05-08" })[0]?.embeddedText).toBe("Notes of a talk.");
  });

  test.each(["user", "Assistant", "AI", "SPEAKER_00", "Speaker B", "User 1"])(
    "of %s is embedded without a day",
    (role) => {
      const [chunk] = chunksOf(`[8 May 2023]\n${role}: One.\nBen: Two.`);
      expect(chunk?.embeddedText).toBe(`${role}: One.`);
      expect(chunk?.searchText).toBe(`[8 May 2023] ${role}: One.`);
    },
  );

  test.each(["Aida", "Botho", "Users", "Agent Smith"])("of %s is embedded as a sentence", (name) => {
    const [chunk] = chunksOf(`[8 May 2023]\n${name}: One.\nBen: Two.`);
    expect(chunk?.embeddedText).toBe(`On 8 May 2023, ${name} said: "One."`);
  });
});

describe("the day of a session", () => {
  test.each([
    ["[8 May 2023]", "8 May 2023"],
    ["[2023-05-08 13:56]", "8 May 2023"],
    ["2023-05-08T13:56:00Z", "8 May 2023"],
    ["Date: 8 May 2023", "8 May 2023"],
    ["DATE: 1:56 pm on 8 May, 2023", "8 May 2023"],
    ["Session 1 (1:56 pm on 8 May, 2023)", "8 May 2023"],
    ["## Session 2 – Monday, May 8th, 2023", "8 May 2023"],
    ["--- 8. Mai 2023 ---", "8 May 2023"],
    ["8 de mayo de 2023", "8 May 2023"],
    ["8 août 2023", "8 August 2023"],
    ["2023年5月8日", "8 May 2023"],
    ["29 February 2024", "29 February 2024"],
  ])("is read from its first line, which is not a turn: %s", (line, date) => {
    const chunks = chunksOf(`${line}\nAda: Hi.\nBen: Hi.`, { date: "1999-01-01", createdAt: CREATED_AT });
    expect(chunks.map(({ passage, turn }) => [passage, turn?.date])).toEqual([
      ["Ada: Hi.", date],
      ["Ben: Hi.", date],
    ]);
  });

  test.each(["29 February 2023", "[31.4.2023]", "0 May 2023", "8 May"])(
    "is ignored if it does not exist in the calendar: %s",
    (line) => {
      expect(chunksOf(`${line}\nAda: Hi.`)).toMatchObject([{ passage: line }, { turn: { date: null } }]);
    },
  );

  test("is taken from the first line, the given date, the times of the turns, or the time of creation, in that order", () => {
    const own = "[2021-01-01 10:00] Ada: Hi.\nBen: Hi.";
    const given = { date: "1:56 pm on 8 May, 2023", createdAt: CREATED_AT };
    expect(searchTextsOf(`[1 April 2020]\n${own}`, given)).toEqual([
      "[1 April 2020] Ada: Hi.",
      "[1 April 2020] Ben: Hi.",
    ]);
    expect(searchTextsOf(own, given)).toEqual(["[8 May 2023] Ada: Hi.", "[8 May 2023] Ben: Hi."]);
    expect(searchTextsOf(own, { ...given, date: null })).toEqual([
      "[1 January 2021] Ada: Hi.",
      "[1 January 2021] Ben: Hi.",
    ]);
    expect(searchTextsOf("Ada: Hi.\nBen: Hi.", { ...given, date: null })).toEqual([
      "[29 February 2024] Ada: Hi.",
      "[29 February 2024] Ben: Hi.",
    ]);
    expect(searchTextsOf("Ada: Hi.")).toEqual(["Ada: Hi."]);
  });

  test.each([
    ["2023-05-08", "[8 May 2023] Ada: Hi."],
    ["the morning of 8 May 2023", "[8 May 2023] Ada: Hi."],
    ["1683554160", "[8 May 2023] Ada: Hi."],
    ["1683554160000", "[8 May 2023] Ada: Hi."],
    ["some day", "Ada: Hi."],
    ["12", "Ada: Hi."],
    ["", "Ada: Hi."],
    ["9".repeat(1_000_000), "Ada: Hi."],
  ])("is read from the given date %.40s", (date, own) => {
    expect(searchTextsOf("Ada: Hi.", { date })).toEqual([own]);
  });

  test("of a turn without a time is that of the previous turn, or else of the first turn with a time", () => {
    const content = "Ada: Zero.\n[2021-01-01 10:00] Ada: One.\nBen: Two.\n[2021-01-02 10:00] Ada: Three.\nBen: Four.";
    expect(chunksOf(content).map(({ turn }) => turn?.date)).toEqual([
      "1 January 2021",
      "1 January 2021",
      "1 January 2021",
      "2 January 2021",
      "2 January 2021",
    ]);
  });
});

describe("several sessions", () => {
  const content = "[8 May 2023]\nAda: One.\nBen: Two.\n\n[9 May 2023]\nAda: Three.\nBen: Four.\nSession 3\nAda: Five.";

  test("begin at each line with a date, and contexts do not cross their bounds", () => {
    expect(
      chunksOf(content, { date: "2023-06-01" }).map(({ searchText, contextText, turn }) => [
        searchText,
        contextText,
        turn?.session,
      ]),
    ).toEqual([
      ["[8 May 2023] Ada: One.", "[8 May 2023] Ada: One.\nBen: Two.", 0],
      ["[8 May 2023] Ben: Two.", "[8 May 2023] Ada: One.\nBen: Two.", 0],
      ["[9 May 2023] Ada: Three.", "[9 May 2023] Ada: Three.\nBen: Four.", 1],
      ["[9 May 2023] Ben: Four.", "[9 May 2023] Ada: Three.\nBen: Four.", 1],
      ["[1 June 2023] Ada: Five.", null, 2],
    ]);
  });

  test("do not begin at a date without a mark inside a turn", () => {
    expect(
      chunksOf("Ada: The dates are:\n8 May 2023\n9 May 2023\nBen: Fine.\nAda: Good.").map(({ passage }) => passage),
    ).toEqual(["Ada: The dates are:\n8 May 2023\n9 May 2023", "Ben: Fine.", "Ada: Good."]);
  });
});

describe("a text is read turn by turn", () => {
  test("if it looks like a conversation and no other type was given", () => {
    const content = "Ann: Hi Bob!\nBob: Hi, how are you?\nAnn: Fine, thanks.\nBob: Good.";
    expect(prepared(content, { type: null }).extracted.type).toBe("conversation");
    expect(chunksOf(content, { type: null })).toHaveLength(4);
    expect(chunksOf(content, { type: "Conversation" })).toHaveLength(4);
    expect(chunksOf(content, { type: "note" })).toHaveLength(1);
    expect(prepared("<ada> hi there\n<ben> hello\n<ada> lunch?\n<ben> yes", { type: null }).chunks).toHaveLength(4);
  });

  test.each([
    "Just prose here. Nothing that anybody says.",
    "See https://example.org",
    "One.\n\nTwo.\n\nThree.\n\nFour.\n\nNobody: knows.",
    "[8 May 2023]",
    '[{"role": "user"}]',
    '{"role": "user", "content": "hi"}',
  ])("unless it contains no recognisable turn: %j", (content) => {
    const [chunk, ...more] = chunksOf(content);
    expect(more).toEqual([]);
    expect(chunk).toMatchObject({ passage: content });
    expect(chunk?.turn).toBeUndefined();
  });

  test("but not if it is markup, a program or a form", () => {
    for (const content of [
      "<p> one\n<li> two\n<p> three\n<li> four</li>",
      "Name: Ada\nBorn: 1815\nDied: 1852\nField: mathematics",
      "- Pro: cheap\n- Con: slow\n- Pro: small\n- Con: loud\n- Pro: blue",
      "std::vector<int> a;\nstd::vector<int> b;\nstd::vector<int> c;\nreturn a;",
    ]) {
      expect(prepared(content, { type: null }).extracted.type).not.toBe("conversation");
    }
  });

  test("and its language, title and tags come from the spoken text", () => {
    const content =
      "assistant: Der Garten braucht Wasser.\nuser: Wann soll ich den Garten gießen?\nassistant: Am Morgen.";
    const { extracted } = prepared(content);
    expect(extracted).toMatchObject({ language: "de", title: "Der Garten braucht Wasser." });
    expect(extracted.tags).toContain("garten");
    for (const role of ["assistant", "user"]) expect(extracted.tags.join(" ")).not.toContain(role);
  });
});

const PIECES = [
  "Ada: hello there\n",
  "Ben Müller: 🎉 party\n",
  "[10:02] Ada: time\n",
  "<ben> irc\n",
  "**Carl**: marked\n",
  "goes on here\n",
  "She said: so\n",
  "\n",
  "\r\n",
  " \t \n",
  "[8 May 2023]\n",
  "Session 2 (9 May 2023)\n",
  "\ud83d\n",
  "https://example.org: x\n",
  `Dora: ${"A long sentence of some words. ".repeat(80)}\n`,
  `${"word".repeat(700)}\n`,
  "今日は：天気がいい。\n",
  "::\n",
];
const DATE_LINE = /^\s*(?:\[8 May 2023\]|Session 2 \(9 May 2023\))\s*$/gm;

describe("ranges", () => {
  const seeds = rounds("MNEME_TEST_SEEDS", { all: 150, short: 50 });
  test(`cover everything visible except the lines with dates, in order and without overlap (${seeds} random texts)`, () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = seeded(seed);
      const pick = () => PIECES[Math.floor(random() * PIECES.length)] ?? "";
      const content = `Ada: hi\n${Array.from({ length: Math.floor(random() * 60) }, pick).join("")}`;
      const points = Array.from(content);
      let covered = "";
      let lastEnd = 0;
      for (const { start, end, passage, searchText, turn, tokens } of chunksOf(content, { date: "2023-05-08" })) {
        const shown = points.slice(start, end).join("");
        const isSound =
          start >= lastEnd &&
          shown === passage &&
          passage.trim() === passage &&
          turn !== undefined &&
          tokens <= CHUNK_TOKENS;
        if (!isSound || !searchText.startsWith(`[${turn.date}] `)) {
          throw new Error(`seed ${seed}: ${start}..${end} ${searchText}`);
        }
        covered += shown;
        lastEnd = end;
      }
      const bare = (text: string) => text.replace(/\s+/g, "");
      if (bare(covered) !== bare(content.replace(DATE_LINE, ""))) throw new Error(`seed ${seed}: not all is covered`);
    }
  });
});

describe("hostile conversations are read in reasonable time", () => {
  const MEGABYTE = 1_000_000;
  test.each([
    [
      "ten thousand turns",
      Array.from({ length: 10_000 }, (_, n) => `${n % 2 === 0 ? "Ada" : "Ben"}: turn ${n}\n`).join(""),
      10_000,
    ],
    ["one speaker of a megabyte", `Ada: hi\n${"A".repeat(MEGABYTE)}: hi`, null],
    ["colons", `Ada: hi\n${":".repeat(MEGABYTE)}`, null],
    ["brackets", `Ada: hi\n${"[".repeat(MEGABYTE)}`, null],
    ["angles", `Ada: hi\n${"<a".repeat(MEGABYTE / 2)}`, null],
    ["stars", `Ada: hi\n${"*".repeat(MEGABYTE)}`, null],
    ["spaces", `Ada: hi\n${" ".repeat(MEGABYTE)}x`, null],
    ["digits", `Ada: hi\n${"1".repeat(MEGABYTE)}`, null],
    ["line feeds", `Ada: hi${"\n".repeat(MEGABYTE)}x`, null],
    ["NULs", `Ada: hi\n${"\0".repeat(MEGABYTE)}`, null],
    ["lone surrogates", `Ada: hi\n${"\ud83d".repeat(MEGABYTE)}`, null],
    ["dates", "[8 May 2023]\n".repeat(50_000), null],
  ])("%s", (_, content, chunkCount) => {
    const { chunks } = prepared(content);
    expect(chunks.length).toBeGreaterThan(0);
    if (chunkCount !== null) expect(chunks).toHaveLength(chunkCount);
  });

  test("a text with too many turns is not read turn by turn", () => {
    expect(readLineTurns("Ada: a\n".repeat(TURNS_MAX))?.turns).toHaveLength(TURNS_MAX);
    expect(readLineTurns("Ada: a\n".repeat(TURNS_MAX + 1))).toBeNull();
  });
});
