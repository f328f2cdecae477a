// Separation of an answer from the reasoning in tags at its beginning, wherever the parts are cut.

import { describe, expect, test } from "bun:test";
import { AnswerText } from "../../src/adapters/llm/answer-text.ts";

function answerOf(parts: readonly string[]): string {
  const text = new AnswerText();
  return parts.map((part) => text.push(part)).join("") + text.end();
}

const CASES: readonly (readonly [text: string, answer: string])[] = [
  ["Plain.", "Plain."],
  ["<think>a</think>b", "b"],
  [" \n<think>\nLong, with < and </thin and <think>\n</think>\n\nThe answer.\n", "The answer.\n"],
  ["<think></think>\n\nb", "b"],
  ["Not <think>at the beginning</think>.", "Not <think>at the beginning</think>."],
  ["<think>one</think>a<think>two</think>", "a<think>two</think>"],
  ["<think>never closed", ""],
  ["<think>closed, and nothing said</think>\n", ""],
  ["<thinking>another tag</thinking>", "<thinking>another tag</thinking>"],
  ["<thi", "<thi"],
  ["  ", "  "],
  ["  indented", "  indented"],
  ["", ""],
  ["😀</think>😀", "😀</think>😀"],
];

describe("an answer does not contain the reasoning before it", () => {
  for (const [text, answer] of CASES) {
    test(JSON.stringify(text), () => {
      expect(answerOf([text])).toBe(answer);
      expect(answerOf(text.split(""))).toBe(answer);
      for (let at = 0; at <= text.length; at++) expect(answerOf([text.slice(0, at), text.slice(at)])).toBe(answer);
    });
  }
});

test("no part of an answer ends within a character, and a lone surrogate is replaced", () => {
  const text = new AnswerText();
  expect([text.push("a\ud83d"), text.push(""), text.push("\ude00b"), text.push("\ud83d"), text.end()]).toEqual([
    "a",
    "",
    "😀b",
    "",
    "\ufffd",
  ]);
  expect(answerOf(["\ude00 and \ud83d", "x"])).toBe("\ufffd and \ufffdx");
});

test("white space is not held back without limit", () => {
  const text = new AnswerText();
  expect(text.push(" ".repeat(1_000))).toBe(" ".repeat(1_000));
});
