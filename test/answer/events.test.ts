// Collecting answer events: a complete answer is their sum, and a wrong order of events is an error.

import { describe, expect, test } from "bun:test";
import { type AnswerEvent, collectAnswer } from "../../src/answer/events.ts";
import { passage } from "./passages.ts";

const text = (content: string): AnswerEvent => ({ type: "text", content });
const cited = { passage: passage("A red kite."), isCited: true };
const sources: AnswerEvent = { type: "sources", sources: [cited] };
const usage: AnswerEvent = { type: "usage", tokensUsed: 7, state: "answered" };

async function* saying(...events: readonly AnswerEvent[]): AsyncGenerator<AnswerEvent> {
  yield* events;
}

describe("collectAnswer", () => {
  test("joins the fragments unchanged and keeps sources and usage", async () => {
    expect(await collectAnswer(saying(text("A red"), text(" kite"), text(" [1]"), sources, usage))).toEqual({
      answer: "A red kite [1]",
      sources: [cited],
      tokensUsed: 7,
      state: "answered",
    });
  });

  test("an answer may be empty", async () => {
    expect(await collectAnswer(saying({ type: "sources", sources: [] }, usage))).toEqual({
      answer: "",
      sources: [],
      tokensUsed: 7,
      state: "answered",
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
    test(`${name}: is reported as a bug`, async () => {
      await expect(collectAnswer(saying(...events))).rejects.toThrow("this is a bug in Mneme");
    });
  }

  test("an error of the events is passed on unchanged", async () => {
    const failure = new Error("the model went away");
    async function* failing(): AsyncGenerator<AnswerEvent> {
      yield text("a");
      throw failure;
    }
    await expect(collectAnswer(failing())).rejects.toBe(failure);
  });
});
