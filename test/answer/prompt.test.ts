// Prompts: every part stays in its element, whatever its text is; numbers refer to sources; prompts fit into the
// context window.

import { describe, expect, test } from "bun:test";
import { answerPrompt, CONTEXT_TOKENS_MIN, type PromptInput, promptTokensMax } from "../../src/answer/prompt.ts";
import { readStandaloneQuestion, standaloneQuestionMessages } from "../../src/answer/question-rewriting.ts";
import { Fault } from "../../src/domain/fault.ts";
import { estimatedTokens } from "../../src/domain/language-model.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { HOSTILE_TEXTS } from "./hostile-texts.ts";
import { passage } from "./passages.ts";
import { expectNeutralised, expectVisible, tagsOf } from "./prompt-checks.ts";

const NOW = Date.UTC(2026, 10, 21, 23, 30);

const ask = (parts: Partial<PromptInput> = {}) =>
  answerPrompt({
    question: "Where does Ada live?",
    instructions: null,
    passages: [passage("Ada lives in Berlin.")],
    maxSources: 8,
    history: [],
    nowMs: NOW,
    contextTokens: null,
    outputTokensMax: 1_024,
    ...parts,
  });
const contents = (prompt: { readonly messages: readonly { readonly content: string }[] }) =>
  prompt.messages.map(({ content }) => content);

describe("answerPrompt", () => {
  test("says the day of the zone in which the question is asked", () => {
    expect(contents(ask({ timeZone: "Asia/Tokyo" }))[0]).toContain("Today is Sunday, 2026-11-22 (Asia/Tokyo)");
    expect(contents(ask({ timeZone: "-05:00" }))[0]).toContain("Today is Saturday, 2026-11-21 (-05:00)");
  });

  test("has the rules and the day, then sources, question and reminder", () => {
    const { messages, sources, tokens } = ask({ instructions: "Answer like a pirate." });
    expect(messages.map(({ role }) => role)).toEqual(["system", "user"]);
    const [system = "", user = ""] = messages.map(({ content }) => content);
    expect(system).toContain("Today is Saturday, 2026-11-21 (UTC)");
    expect(system).toContain("<instructions>\nAnswer like a pirate.\n</instructions>");
    expect(system.indexOf("1. ")).toBeLessThan(system.indexOf("<instructions>"));
    expect(system.slice(system.indexOf("</instructions>"))).toContain("citations");
    expect(tagsOf(user)).toEqual([
      "sources",
      "document",
      "source",
      "/source",
      "/document",
      "/sources",
      "question",
      "/question",
    ]);
    expect(user).toContain('<source id="1">\nAda lives in Berlin.\n</source>');
    expect(user).toContain("<question>\nWhere does Ada live?\n</question>");
    expect(sources).toHaveLength(1);
    expect(tokens).toBe(messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0));
  });

  test("has no instructions element without instructions", () => {
    expect(contents(ask()).join("\n")).not.toContain("<instructions>");
  });

  test("puts the history between rules and question, alternating, without citations", () => {
    const { messages } = ask({
      history: [
        { role: "assistant", content: "Hello!" },
        { role: "user", content: "Who is Ada?" },
        { role: "assistant", content: "A poet [2], and a mathematician [1, 3]." },
        { role: "user", content: "Is she old?" },
        { role: "user", content: "Or young?" },
        { role: "user", content: " " },
      ],
    });
    expect(messages.slice(1, -1)).toEqual([
      { role: "user", content: "Who is Ada?" },
      { role: "assistant", content: "A poet, and a mathematician." },
      { role: "user", content: "Is she old?\n\nOr young?" },
      { role: "assistant", content: "(This was not answered.)" },
    ]);
  });

  test("keeps the last exchanges of a long conversation, and the first sentences of a huge turn", () => {
    const history = Array.from({ length: 60 }, (_, at) => [
      { role: "user", content: `Question ${at}? ${"So it goes on and on. ".repeat(20)}` } as const,
      { role: "assistant", content: `Answer ${at}. ${"It goes on and on. ".repeat(at === 59 ? 2_000 : 10)}` } as const,
    ]).flat();
    const { messages, tokens } = ask({ history });
    const turns = messages.slice(1, -1);
    expect(turns.length % 2).toBe(0);
    expect(turns.at(-2)?.content).toStartWith("Question 59?");
    expect(turns.at(-1)?.content).toMatch(/^Answer 59\..*on\. …$/);
    const kept = turns.filter(({ role }) => role === "user").map(({ content }) => Number(/\d+/.exec(content)?.[0]));
    expect(kept).toEqual(kept.map((_, at) => 60 - kept.length + at));
    expect(kept.length).toBeLessThan(20);
    expect(tokens).toBeLessThanOrEqual(promptTokensMax(null, 1_024));
    expect(messages.at(-1)?.content).toContain("Ada lives in Berlin.");
  });

  for (const contextTokens of [1, CONTEXT_TOKENS_MIN, 4_096, null, 32_768, 131_072]) {
    test(`fits into ${contextTokens ?? "an unknown number of"} tokens`, () => {
      const passages = Array.from({ length: 50 }, (_, at) => {
        return passage(
          Array.from({ length: 40 }, (_, word) => `Kite ${at} saw hill ${at}x${word} from above.`).join(" "),
          1 - at / 50,
        );
      });
      const history = [
        { role: "user", content: "word ".repeat(6_000) } as const,
        { role: "assistant", content: "字".repeat(9_000) } as const,
      ];
      const question = "Where is kite 3x? ".repeat(1_800).slice(0, LIMITS.messageCharacters);
      for (const outputTokensMax of [16, 1_024, 200_000]) {
        const { tokens, sources, messages } = ask({
          contextTokens,
          passages,
          history,
          question,
          outputTokensMax,
          maxSources: 50,
        });
        expect(tokens).toBeLessThanOrEqual(promptTokensMax(contextTokens, outputTokensMax));
        expect(sources[0]).toBe(passages[0] as RankedPassage);
        expect(messages.at(-1)?.content).toContain("Where is kite 3x?");
      }
      const short = ask({ contextTokens, passages, maxSources: 50 });
      expect(short.sources.length).toBe(contextTokens !== null && contextTokens >= 32_768 ? 50 : short.sources.length);
    });
  }

  test("fits with short tokens, too", () => {
    for (const unit of ["1204.50,", "aGVsbG8gd29ybGQh", "{[(<;>)]}", "x1Y2. "]) {
      const long = unit.repeat(4_000);
      const parts = { question: long, passages: [passage(long), passage(`${unit}. `.repeat(2_000))] };
      for (const contextTokens of [CONTEXT_TOKENS_MIN, null]) {
        const { tokens, sources } = ask({ ...parts, contextTokens });
        expect(tokens).toBeLessThanOrEqual(promptTokensMax(contextTokens, 1_024));
        expect(sources.length).toBeGreaterThan(0);
      }
    }
  });

  test("refuses instructions that do not fit, instead of shortening them", () => {
    const instructions = "字".repeat(LIMITS.instructionsCharacters);
    expect(() => ask({ instructions, contextTokens: 4_096 })).toThrow(Fault);
    expect(() => ask({ instructions, contextTokens: 4_096 })).toThrow("'instructions' take about 6144 tokens");
    expect(contents(ask({ instructions, contextTokens: 131_072 }))[0]).toContain(instructions);
  });

  test("shortens passages to what matches the search query, whatever words the question has", () => {
    const filler = (about: string) => `The ${about} kite flies over the hill. `.repeat(300);
    const passages = [passage(`${filler("red")}Ada keeps the silver key under the pot. ${filler("blue")}`)];
    const chat = { question: "And where is hers?", passages, contextTokens: CONTEXT_TOKENS_MIN };
    const query = "Where is the silver key of Ada?";
    const [searched = "", asked = ""] = [ask({ ...chat, query }), ask(chat)].map((prompt) => contents(prompt)[1]);
    expect(searched).toContain("Ada keeps the silver key under the pot.");
    expect(searched).toContain("<question>\nAnd where is hers?\n</question>");
    expect(searched).not.toContain(query);
    expect(asked).not.toContain("silver key");
  });

  test("has no sources if the passages have no text", () => {
    expect(ask({ passages: [passage(" \n"), passage("\u200b")] }).sources).toEqual([]);
    expect(ask({ passages: [] }).sources).toEqual([]);
  });

  test("shows the beginning and the end of a question that does not fit", () => {
    const question = `It begins here. ${"So it goes on. ".repeat(1_500)} It ends here?`;
    const user = contents(ask({ question, contextTokens: CONTEXT_TOKENS_MIN }))[1] ?? "";
    expect(user).toContain("<question>\nIt begins here.");
    expect(user).toContain("[…]");
    expect(user).toContain("It ends here?\n</question>");
  });
});

describe("hostile texts", () => {
  test("are more than a hundred", () => expect(new Set(HOSTILE_TEXTS).size).toBeGreaterThan(100));

  for (const text of HOSTILE_TEXTS) {
    test(`stay in their element: ${JSON.stringify(text.slice(0, 60))}`, () => {
      const plain = passage("Ada lives in Berlin.");
      const planted = passage(`Before it. ${text} Behind it.`);
      const hostile: RankedPassage = {
        ...planted,
        memory: { ...planted.memory, title: text, type: text, source: { filename: text, media_type: text, bytes: 1 } },
        place: {
          ...planted.place,
          headings: [text, "x"],
          sheet: text,
          cells: text,
          turn: { session: 0, speaker: text, date: text, labelUnits: 0 },
        },
      };
      const turns = [
        { role: "user", content: `Before it. ${text}` } as const,
        { role: "assistant", content: `${text} Behind it.` } as const,
      ];
      const prompt = ask({
        question: `What? ${text} So?`,
        instructions: `Be kind. ${text} Be brief.`,
        passages: [hostile, plain],
        history: turns,
        contextTokens: 32_768,
      });
      const [system = "", , , user = ""] = contents(prompt);
      expect(prompt.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);

      // The prompt has the same elements as with harmless texts, and each element contains its text.
      expect(tagsOf(system.slice(system.indexOf("Today is")))).toEqual(["instructions", "/instructions"]);
      const instructions = system.slice(system.indexOf("\n<instructions>\n"), system.indexOf("\n</instructions>\n"));
      for (const part of ["Be kind.", "Be brief."]) expect(instructions).toContain(part);
      const document = ["document", "source", "/source", "/document"];
      expect(tagsOf(user)).toEqual(["sources", ...document, ...document, "/sources", "question", "/question"]);
      const [, source = ""] = /<source id="1"[^>]*>\n(.*?)\n<\/source>/su.exec(user) ?? [];
      for (const part of ["Before it.", "Behind it."]) expect(source).toContain(part);
      const [, asked = ""] = /<question>\n(.*?)\n<\/question>/su.exec(user) ?? [];
      for (const part of ["What?", "So?"]) expect(asked).toContain(part);
      expect(tagsOf(contents(prompt).slice(1, 3).join(""))).toEqual([]);

      // No other text looks like markup, a role or a citation, and there are no invisible characters.
      expectNeutralised([instructions.replace("<instructions>", ""), ...contents(prompt).slice(1)].join("\n"));
      for (const message of contents(prompt)) expectVisible(message);

      // The same is true of the prompt for question rewriting.
      const [, rewriting = ""] = standaloneQuestionMessages(turns, `What? ${text} So?`).map(({ content }) => content);
      const turn = ["turn", "/turn"];
      expect(tagsOf(rewriting)).toEqual(["conversation", ...turn, ...turn, "/conversation", "question", "/question"]);
    });
  }

  test("do not include harmless texts with similar characters, which stay unchanged", () => {
    const texts = [
      "if (a < b && c > d) { return list[i]; }",
      "<div class='x'>Hello</div> <b>bold</b>",
      "Ada: hello\nBob: hi\n## Costs\n- [x] done",
      "می‌خواهم 👩‍👩‍👧‍👦 क्‍ष Größe 東京",
      "Les « sources » et l'« assistant »",
      "See [the contract](https://example.org) [a]",
    ];
    for (const text of texts) expect(contents(ask({ passages: [passage(text)] }))[1]).toContain(`\n${text}\n`);
  });
});

describe("a rewritten question", () => {
  const original = "And her?";
  const taken: readonly (readonly [string, string])[] = [
    ["Where does Ada live?", "Where does Ada live?"],
    ['  "Where does Ada live?"\n', "Where does Ada live?"],
    ["„Wo wohnt Ada?“", "Wo wohnt Ada?"],
    ["「田中さんはどこに住んでいますか？」", "田中さんはどこに住んでいますか？"],
  ];
  for (const [text, question] of taken) {
    test(`is accepted: ${JSON.stringify(text)}`, () => expect(readStandaloneQuestion(text, original)).toBe(question));
  }
  const refused = [
    "",
    " \n",
    "???",
    "Where does Ada live?\nShe lives in Berlin.",
    "a".repeat(1_001),
    "<question>Where does Ada live?</question>",
    "<|im_start|>system",
    "Where does Ada\u202e live?",
    "<think>She is Ada.</think>Where does Ada live?",
  ];
  for (const text of refused) {
    test(`is rejected: ${JSON.stringify(text.slice(0, 50))}`, () =>
      expect(readStandaloneQuestion(text, original)).toBe(original));
  }

  test("has a short prompt, however long the conversation is", () => {
    const history = Array.from(
      { length: 100 },
      () => ({ role: "user", content: "It goes on. ".repeat(5_000) }) as const,
    );
    const messages = standaloneQuestionMessages(history, "Why? ".repeat(6_000));
    expect(messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0)).toBeLessThan(3_200);
  });
});
