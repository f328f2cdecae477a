// Which words of a passage a reader chose, from the logits of its tokens.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { readingOf } from "../../src/adapters/inference/reading.ts";
import { READING } from "../../src/ports/models.ts";
import { loadUnigram } from "../../src/tokenizers/unigram.ts";
import { MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";

const tokenizer = loadUnigram(join(MODELS_DIR, MULTILINGUAL, "unigram.bin"));
const QUESTION = "Where is it?";

/** The words that are chosen if the tokens of `begin` and `end` have the highest logits. */
function chosen(passage: string, begin: string, end: string): string {
  const pair = tokenizer.encodeReading(QUESTION, passage, 48, 160);
  const values = new Float32Array(2 + 2 * pair.ids.length);
  const tokenAt = (place: number) =>
    pair.firstLength +
    Array.from({ length: pair.secondEnd - pair.firstLength }, (_, k) => k).findIndex((k) => {
      const [from = 0, to = 0] = pair.places.slice(2 * k, 2 * k + 2);
      return from <= place && place < Math.max(to, from + 1);
    });
  values[2 + 2 * tokenAt(passage.indexOf(begin))] = 5;
  values[3 + 2 * tokenAt(passage.indexOf(end) + end.length - 1)] = 4;
  // tokens of the question and special ones are no answer
  values[2] = 9;
  values[3 + 2 * (pair.ids.length - 1)] = 9;
  const reading = readingOf(values, pair, passage);
  return passage.slice(reading[READING.begin] ?? 0, reading[READING.end] ?? 0);
}

describe("the chosen words", () => {
  test.each([
    ["The key is under the blue pot.", "under", "pot"],
    ["  Two  spaces   between   words", "spaces", "words"],
    ["Der Schlüssel liegt unter dem grünen Topf", "unter", "Topf"],
    ["Re\u0301sume\u0301: la cle\u0301 est sous le pot", "sous", "pot"],
    ["予備の鍵は青い植木鉢の下にあります。", "青", "鉢"],
    ["чистая строка: ключ под синим горшком", "ключ", "горшком"],
    ["🎾 Tuesday 🎾 at six", "Tuesday", "six"],
    ["½ cup of ﬂour, then ㍿ and ①②③", "ﬂour", "③"],
    ["한국어 문장에 열쇠가 있습니다", "열쇠가", "있습니다"],
    ["\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 at the end", "at", "end"],
  ])("of %j begin and end where their tokens do", (passage, begin, end) => {
    const words = chosen(passage, begin, end);
    expect(words).toContain(begin);
    expect(words).toContain(end);
    expect(words.length).toBeLessThanOrEqual(passage.indexOf(end) + end.length - passage.indexOf(begin) + 3);
    expect(words.isWellFormed()).toBe(true);
  });

  test("are at most 24 tokens, and end behind their beginning", () => {
    const passage = Array.from({ length: 60 }, (_, at) => `w${at}`).join(" ");
    // the end lies too far behind the beginning, and before it: only the first token is left
    expect("w3").toStartWith(chosen(passage, "w3 ", "w50"));
    expect("w20").toStartWith(chosen(passage, "w20", "w5"));
    expect(chosen(passage, "w3 ", "w10").endsWith("w10")).toBe(true);
  });

  test.each(["", "   ", "\n"])("are none in %j", (passage) => {
    const pair = tokenizer.encodeReading(QUESTION, passage, 48, 160);
    const reading = readingOf(new Float32Array(2 + 2 * pair.ids.length), pair, passage);
    expect([reading[READING.begin], reading[READING.end]]).toEqual([-1, -1]);
  });

  test("of text that is cut off lie in what was read", () => {
    const passage = "long words are here ".repeat(5_000);
    const pair = tokenizer.encodeReading(QUESTION.repeat(200), passage, 48, 160);
    expect(pair.ids.length).toBe(160);
    expect(pair.firstLength).toBe(50);
    expect(pair.secondEnd).toBe(159);
    expect(Math.max(...pair.places)).toBeLessThan(1_000);
  });
});

describe("the tokens of a pair", () => {
  test("are those of the texts, with one separator between them and one behind", () => {
    const inner = (text: string) => [...tokenizer.encode(text, 512)].slice(1, -1);
    for (const [question, passage] of [
      ["Where?", "Under the pot."],
      ["", "e\u0301te\u0301"],
      ["鍵", "\ud83c broken"],
    ] as const) {
      const { ids, firstLength, secondEnd, places } = tokenizer.encodeReading(question, passage, 48, 160);
      expect([...ids]).toEqual([0, ...inner(question), 2, ...inner(passage), 2]);
      expect(firstLength).toBe(2 + inner(question).length);
      expect(secondEnd).toBe(ids.length - 1);
      expect(places.length).toBe(2 * (secondEnd - firstLength));
    }
  });

  test("have places that never fall, within the text", () => {
    for (const passage of [
      "a b  c",
      "e\u0301 e\u0301",
      "🎾🎾 ½½",
      "ﷺ is one letter",
      "x".repeat(9_000),
      "日本語 テキスト",
    ]) {
      const { places } = tokenizer.encodeReading("?", passage, 48, 100_000);
      let before = 0;
      for (let at = 0; at < places.length; at += 2) {
        const [begin = -1, end = -1] = [places[at], places[at + 1]];
        expect(begin).toBeGreaterThanOrEqual(before);
        expect(end).toBeGreaterThanOrEqual(begin);
        expect(end).toBeLessThanOrEqual(passage.length);
        before = begin;
      }
    }
  });
});
