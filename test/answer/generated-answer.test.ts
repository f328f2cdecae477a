// Answers of a language model: the order of events, cited sources, and no empty answers.

import { describe, expect, test } from "bun:test";
import { type AnswerEvent, collectAnswer } from "../../src/answer/events.ts";
import { EmptyAnswer, generatedAnswer } from "../../src/answer/generated-answer.ts";
import type { LlmEnding, LlmFragment } from "../../src/ports/language-model.ts";
import { passage } from "./passages.ts";

const SOURCES = ["One.", "Two.", "Three.", "Four."].map((text) => passage(text));
const [one, two, three, four] = SOURCES;

async function* model(...parts: readonly (string | LlmFragment)[]): AsyncGenerator<LlmFragment> {
  for (const part of parts) yield typeof part === "string" ? { type: "text", text: part } : part;
}
const usage: LlmFragment = { type: "usage", usage: { prompt: 40, completion: 2 }, ending: "model" };

describe("generatedAnswer", () => {
  test("streams the text, then the sources with cited ones first, then the tokens", async () => {
    const events: AnswerEvent[] = [];
    for await (const event of generatedAnswer(model("It is ", "so [3", "]. And so [1][3].", usage), SOURCES, 8, "")) {
      events.push(event);
    }
    expect(events.map((event) => (event.type === "text" ? event.content : event.type))).toEqual([
      "It is",
      " so",
      " [1]. And so [2][1].",
      "sources",
      "usage",
    ]);
    expect(events.flatMap((event) => (event.type === "text" ? (event.cites ?? []) : []))).toEqual([
      three,
      one,
    ] as never);
    expect(events.at(-2)).toEqual({
      type: "sources",
      sources: [
        { passage: three, isCited: true },
        { passage: one, isCited: true },
        { passage: two, isCited: false },
        { passage: four, isCited: false },
      ],
    } as never);
    expect(events.at(-1)).toEqual({ type: "usage", tokensUsed: 42, state: "answered" });
  });

  test("an answer without citations that repeats nothing of its sources found nothing, and has no sources", async () => {
    const kept = [passage("The jar is kept in the larder."), passage("Larders are cold.")];
    const ask = (text: string) => collectAnswer(generatedAnswer(model(text, usage), kept, 1, "Where is the jar kept?"));
    for (const text of ["The sources do not say.", "I do not know where the jar is kept.", "それは分かりません。"]) {
      expect(await ask(text)).toMatchObject({ answer: text, sources: [], state: "not_found" });
    }
    const { state, sources } = await ask("In the larder.");
    expect([state, sources]).toEqual(["answered", kept.slice(0, 1).map((passage) => ({ passage, isCited: false }))]);
  });

  test("the cites of the text events are the sources of an answer that is broken off", async () => {
    const cited: unknown[] = [];
    for await (const event of generatedAnswer(model("A [2]. B [4]. ", "C [1].", usage), SOURCES, 8, "")) {
      if (event.type !== "text") break;
      cited.push(...(event.cites ?? []));
      if (cited.length === 2) break;
    }
    expect(cited).toEqual([two, four]);
  });

  for (const parts of [[], [usage], ["  \n", "\t"], [" [99]", " [12] "]]) {
    test(`${JSON.stringify(parts)} is an empty answer`, async () => {
      const events: AnswerEvent[] = [];
      const answer = (async () => {
        for await (const event of generatedAnswer(model(...(parts as string[])), SOURCES, 8, "")) events.push(event);
      })();
      await expect(answer).rejects.toBeInstanceOf(EmptyAnswer);
      expect(events).toEqual([]);
    });
  }

  test("ends with … if it was cut off by its length", async () => {
    const cut: LlmFragment = { type: "usage", usage: { prompt: 1, completion: 1 }, ending: "length" };
    const { answer } = await collectAnswer(generatedAnswer(model("It is so [2], and", cut), SOURCES, 8, ""));
    expect(answer).toBe("It is so [1], and…");
  });

  const ended = (ending: LlmEnding): LlmFragment => ({ type: "usage", usage: { prompt: 1, completion: 1 }, ending });
  const withheld: readonly (readonly [string, string])[] = [
    ["It is so [2], and", "It is so [1], and…"],
    ["I cannot help with that.", "I cannot help with that."],
    ['"No." [2]', '"No." [1]'],
    ["お答えできません。", "お答えできません。"],
  ];
  for (const [from, to] of withheld) {
    test(`withheld after ${JSON.stringify(from)} becomes ${JSON.stringify(to)}`, async () => {
      const fragments = model(...from, ended("withheld"));
      expect((await collectAnswer(generatedAnswer(fragments, SOURCES, 8, ""))).answer).toBe(to);
    });
  }

  test("the error of an empty answer says whether its length ended it", async () => {
    const messages = { length: "raise max_output_tokens", model: "answer is empty", withheld: "answer is empty" };
    for (const [ending, message] of Object.entries(messages) as [LlmEnding, string][]) {
      const answer = collectAnswer(generatedAnswer(model(" ", ended(ending)), SOURCES, 8, ""));
      await expect(answer).rejects.toThrow(message);
      await expect(answer).rejects.toMatchObject({ name: "EmptyAnswer", ending });
    }
  });

  test("a huge fragment is processed in several turns of the event loop, with the same result as small ones", async () => {
    const text = `${"😀 so [3], ".repeat(5_000)}it is.`;
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const whole = await collectAnswer(generatedAnswer(model(text, usage), SOURCES, 8, ""));
    isOver = true;
    expect(turns).toBeGreaterThan(4);
    expect(whole.answer).toBe(text.replaceAll("[3]", "[1]"));
  });

  test("an error of the model is passed on unchanged, after the text so far", async () => {
    const failure = new Error("the model went away");
    async function* failing(): AsyncGenerator<LlmFragment> {
      yield { type: "text", text: "It is" };
      throw failure;
    }
    const events: AnswerEvent[] = [];
    const answer = (async () => {
      for await (const event of generatedAnswer(failing(), SOURCES, 8, "")) events.push(event);
    })();
    await expect(answer).rejects.toBe(failure);
    expect(events).toEqual([{ type: "text", content: "It is", cites: [] }]);
  });
});
