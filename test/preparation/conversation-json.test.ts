// Tests conversations that are written as a JSON array of turns, and that conversations are sent unchanged to and from
// the preparation process.

import { describe, expect, test } from "bun:test";
import { CHUNK_TOKENS } from "../../src/domain/chunk.ts";
import { assemble } from "../../src/preparation/assemble.ts";
import { SPECIAL_TOKENS } from "../../src/preparation/chunk.ts";
import { readJsonTurns } from "../../src/preparation/conversation/json.ts";
import { TURNS_MAX } from "../../src/preparation/conversation/turns.ts";
import {
  decodeInputs,
  decodeResults,
  encodeInputs,
  encodeResults,
} from "../../src/preparation/preparation-protocol.ts";
import type { WholeInput } from "../../src/preparation/prepare.ts";
import { prepare, prepareRanges } from "../../src/preparation/prepare.ts";
import { input, models, withTexts } from "./fixtures/models.ts";

function prepared(content: string, given: Partial<WholeInput> = {}) {
  return prepare(input(content, given), models);
}

function turnsOf(content: unknown, given: Partial<WholeInput> = {}) {
  return withTexts(prepared(typeof content === "string" ? content : JSON.stringify(content), given));
}

describe("a JSON array of turns", () => {
  test("is a conversation with one chunk per turn, which has the range of its object", () => {
    const content = ' [ {"role":"user","content":"Hi 🎉, \\"you\\"."},\n  {"role":"assistant","content":"Hello."} ]\n';
    const whole = prepared(content, { date: "2023-05-08", title: "A talk" });
    const chunks = withTexts(whole);
    expect(whole.extracted.type).toBe("conversation");
    expect(chunks).toEqual([
      {
        ordinal: 0,
        start: 3,
        end: 45,
        passage: 'user: Hi 🎉, "you".',
        embeddedText: 'user: Hi 🎉, "you".',
        searchText: '[8 May 2023] user: Hi 🎉, "you".',
        contextText: '[8 May 2023] user: Hi 🎉, "you".\nassistant: Hello.',
        tokens: models.countTokens('user: Hi 🎉, "you".') + SPECIAL_TOKENS,
        headings: [],
        turn: { session: 0, speaker: "user", date: "8 May 2023", labelUnits: 6 },
      },
      expect.objectContaining({ ordinal: 1, passage: "assistant: Hello." }),
    ]);
    for (const { start, end } of chunks) {
      expect(JSON.parse(Array.from(content).slice(start, end).join(""))).toBeObject();
    }
  });

  test.each([
    [{ role: "user", content: "hi" }, "user: hi"],
    [{ speaker: "Ada", text: "hi" }, "Ada: hi"],
    [{ name: "Ada", content: "hi" }, "Ada: hi"],
    [{ role: "user", name: "Ada", content: "hi" }, "Ada: hi"],
    [
      { role: "user", content: [{ type: "text", text: "one" }, { type: "image_url", image_url: {} }, { text: "two" }] },
      "user: one\ntwo",
    ],
    [{ role: "user", content: ["one", "two"] }, "user: one\ntwo"],
    [{ role: "user", content: "hi", timestamp: "2023-05-08T13:56:00Z" }, "[8 May 2023] user: hi"],
    [{ role: "user", content: "hi", timestamp: 1_683_554_160 }, "[8 May 2023] user: hi"],
    [{ role: "user", content: "hi", timestamp: 1_683_554_160_000 }, "[8 May 2023] user: hi"],
    [{ role: "user", content: "hi", timestamp: "1:56 pm on 8 May, 2023" }, "[8 May 2023] user: hi"],
    [{ role: "user", content: "hi", timestamp: {} }, "user: hi"],
    [{ role: "a\n b ", content: " hi\n" }, "a b: hi"],
    [{ role: "x".repeat(100_000), content: "hi" }, `${"x".repeat(63)}…: hi`],
    [{ role: "user", content: "a\0b\ud83dc" }, "user: a\ufffdb\ufffdc"],
  ])("%.60j", (turn, own) => {
    expect(turnsOf([turn]).map(({ searchText }) => searchText)).toEqual([own]);
  });

  test("has no chunk for a turn without text", () => {
    const turns = [
      { role: "user", content: "Weather?" },
      { role: "assistant", content: null, tool_calls: [{ id: 1 }] },
      { role: "tool", content: "" },
      { role: "assistant", content: "Sunny." },
    ];
    expect(turnsOf(turns).map(({ passage }) => passage)).toEqual(["user: Weather?", "assistant: Sunny."]);
  });

  test.each([
    ["[]"],
    ["[1, 2]"],
    ['[{"role":"user"}]'],
    ['[{"content":"hi"}]'],
    ['[{"role":"","content":"hi"}]'],
    ['[{"role":1,"content":"hi"}]'],
    ['[{"role":"user","content":1}]'],
    ['[{"role":"user","content":[1]}]'],
    ['[{"role":"user","content":null}]'],
    ['[{"role":"user","content":"hi"}, 1]'],
    ['[{"role":"user","content":"hi"}, {"a":1}]'],
    ['[{"role":"user","content":"hi"},]'],
    ['[{"role":"user","content":"hi"} {"role":"user","content":"hi"}]'],
    ['[,{"role":"user","content":"hi"}]'],
    ['[{"role":"user","content":"hi"}'],
    ['[{"role":"user","content":"hi"}] and more'],
    ['[{"role":"user","content":"hi}]'],
    ["[{\"role\":'user',\"content\":'hi'}]"],
    ['[{"role":"user","content":"hi"]]'],
  ])("with any deviation is prepared like any other text: %s", (content) => {
    for (const type of [null, "conversation"]) {
      const chunks = withTexts(prepared(content, { type }));
      expect(chunks.map(({ passage }) => passage)).toEqual([content]);
      expect(chunks[0]?.turn).toBeUndefined();
    }
  });

  test("has several chunks for a very long turn, each with the speaker and the range of the whole object", () => {
    const words = "The committee met on Tuesday to discuss the budget. ".repeat(80);
    const content = JSON.stringify([
      { role: "user", content: words },
      { role: "assistant", content: "Yes. 🎉" },
    ]);
    const chunks = turnsOf(content);
    const parts = chunks.slice(0, -1);
    expect(parts.length).toBeGreaterThan(2);
    for (const { passage, searchText, tokens, start, end } of parts) {
      expect(passage).toStartWith("user: The committee");
      expect(searchText).toBe(passage);
      expect(tokens).toBeLessThanOrEqual(CHUNK_TOKENS);
      expect(JSON.parse(content.slice(start, end))).toEqual({ role: "user", content: words });
    }
    expect(parts.map(({ passage }) => passage.slice("user: ".length)).join(" ")).toBe(words.trim());
    expect(chunks.at(-1)?.end).toBe(Array.from(content).length - 1);
  });

  test.each([
    ["brackets, 100,000 deep", `[{"role":"user","content":"hi","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}]`],
    ["objects, 100,000 deep", `[${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}]`],
    ["open brackets", "[{".repeat(500_000)],
    ["backslashes", `[{"role":"${"\\".repeat(1_000_000)}`],
    ["an open string", `[{"role":"${"a".repeat(1_000_000)}`],
  ])("is rejected in reasonable time if it is hostile: %s", (_, content) => {
    expect(turnsOf(content, { type: "conversation" })[0]?.turn).toBeUndefined();
  });

  test("can have megabytes of turns", () => {
    const turns = Array.from({ length: 20_000 }, (_, n) => ({
      role: "user",
      content: `Turn ${n}, ${"so ".repeat(60)}`,
    }));
    expect(turnsOf(turns)).toHaveLength(20_000);
  });

  test("with too many turns is not read turn by turn", () => {
    const turn = '{"role":"a","text":"b"}';
    expect(readJsonTurns(`[${`${turn},`.repeat(TURNS_MAX - 1)}${turn}]`)?.turns).toHaveLength(TURNS_MAX);
    expect(readJsonTurns(`[${`${turn},`.repeat(TURNS_MAX)}${turn}]`)).toBeNull();
  });
});

describe("between server and preparation process", async () => {
  test("conversations and other texts arrive unchanged", async () => {
    const inputs = [
      input("Buy milk.", { date: "2023-05-08", createdAt: 1_683_554_160_000 }),
      input("[8 May 2023]\nAda: Hi 🎉.\nBen: Hi.\n[9 May 2023]\nAda: Bye.", { type: "conversation" }),
      input(
        JSON.stringify([
          { role: "user", content: "hi" },
          { role: "user", content: "long. ".repeat(600) },
        ]),
      ),
      input("Preface\nAda: Hi.", { type: "conversation" }),
    ];
    const requests = await encodeInputs(inputs);
    const arrived = decodeInputs(
      requests.at(-1)?.header ?? {},
      requests.map(({ payload }) => payload ?? new Uint8Array()),
    );
    expect(arrived).toEqual(inputs.map((each) => ({ ...each, isSmart: true, isTitleExtracted: false, isCode: false })));
    const answer = encodeResults(arrived.map((each) => prepareRanges(each, models)));
    const results = await decodeResults({ ...answer, header: JSON.parse(JSON.stringify(answer.header)) });
    for (const [position, each] of inputs.entries()) {
      const result = results[position];
      if (result === undefined) throw new Error("a result is missing");
      const expected = prepare(each, models);
      expect(result.extracted).toEqual(expected.extracted);
      expect(withTexts(assemble(each.content, result.cut))).toEqual(withTexts(expected));
    }
  });
});
