// What is promised of answer events: that a whole answer is their sum, and that no other order passes for one.

import { describe, expect, test } from "bun:test";
import { type AnswerEvent, collectAnswer } from "../../src/answer/events.ts";
import { passage } from "./passages.ts";

const text = (content: string): AnswerEvent => ({ type: "text", content });
const cited = { passage: passage("A red kite."), isCited: true };
const sources: AnswerEvent = { type: "sources", sources: [cited] };
const usage: AnswerEvent = { type: "usage", tokensUsed: 7 };

async function* saying(...events: readonly AnswerEvent[]): AsyncGenerator<AnswerEvent> {
  yield* events;
}

describe("collectAnswer", () => {
  test("joins the fragments as they are and keeps sources and usage", async () => {
    expect(await collectAnswer(saying(text("A red"), text(" kite"), text(" [1]"), sources, usage))).toEqual({
      answer: "A red kite [1]",
      sources: [cited],
      tokensUsed: 7,
    });
  });

  test("an answer may be empty", async () => {
    expect(await collectAnswer(saying({ type: "sources", sources: [] }, usage))).toEqual({
      answer: "",
      sources: [],
      tokensUsed: 7,
    });
  });

  const disorders: readonly (readonly [string, readonly AnswerEvent[]])[] = [
    ["text behind the sources", [text("a"), sources, text("b"), usage]],
    ["text behind the usage", [sources, usage, text("b")]],
    ["two lists of sources", [text("a"), sources, sources, usage]],
    ["two usages", [text("a"), sources, usage, usage]],
    ["usage before the sources", [text("a"), usage, sources]],
    ["no sources", [text("a"), usage]],
    ["no usage", [text("a"), sources]],
    ["nothing", []],
  ];
  for (const [name, events] of disorders) {
    test(`${name}: a bug, and said to be one`, async () => {
      await expect(collectAnswer(saying(...events))).rejects.toThrow("this is a bug in Mneme");
    });
  }

  test("what the events throw comes out as it is", async () => {
    const failure = new Error("the model went away");
    async function* failing(): AsyncGenerator<AnswerEvent> {
      yield text("a");
      throw failure;
    }
    await expect(collectAnswer(failing())).rejects.toBe(failure);
  });
});
