// Token estimates: close to the counts of tokenisers for prose and for other texts, and consistent between the
// functions.

import { describe, expect, test } from "bun:test";
import { estimatedTokens, tokensBefore, unitsWithin } from "../../src/domain/language-model.ts";
import { seeded } from "../support/seeded.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

// each text with its number of tokens in the vocabulary o200k (counted on 22 Nov 2026)
const COUNTED: readonly (readonly [string, string, number])[] = [
  [
    "English",
    "Ada Lovelace moved from London to Berlin in June 2019 because she had found work at the harbour there. She liked the sea, the ships and the people; every morning she walked along the quay and counted the boats that had come in during the night.",
    54,
  ],
  [
    "German",
    "Der Vertrag endet am letzten Tag des Monats, und der Mieter gibt die Schlüssel zurück. Die Wohnung ist besenrein zu übergeben.",
    28,
  ],
  ["numbers", "48213 90017 3.14159 27182 81828 45904 52353 60287 47135 26624", 31],
  [
    "a table",
    "id,day,amount,city\n17,2026-11-02,1204.50,Leeds\n18,2026-11-03,88.10,Rome\n19,2026-11-04,7310.00,Oslo\n",
    57,
  ],
  ["JSON", '{"id":17,"tags":["a","b"],"price":{"amount":1204.5,"currency":"EUR"},"isOpen":true}', 31],
  ["code", "for (let at = 0; at < list.length; at++) { sum += list[at].price * (1 - rate); }", 30],
  ["base64", "TW5lbWUgaXMgYSBzZWxmLWhvc3RlZCBtZW1vcnkgYW5kIHJldHJpZXZhbCBlbmdpbmUuIEl0IHJ1bnMgb24gQnVuLg==", 60],
  ["hexadecimal", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43],
  ["Chinese", "今天下雨。她在图书馆工作。明天放假，我们去看海。", 20],
];
const FOUR_BYTES_SUIT = new Set(["English", "German"]);

describe("estimated tokens", () => {
  for (const [name, text, tokens] of COUNTED) {
    test(`are close to a tokeniser's count: ${name}`, () => {
      expect(estimatedTokens(text) / tokens).toBeWithin(0.8, 1.6);
      if (!FOUR_BYTES_SUIT.has(name)) return;
      expect(estimatedTokens(text) / (Buffer.byteLength(text) / 4)).toBeWithin(0.85, 1.15);
    });
  }

  test("of an empty text are zero", () => {
    expect(estimatedTokens("")).toBe(0);
    expect(unitsWithin("", 0)).toBe(0);
    expect(unitsWithin("word", -3)).toBe(0);
  });

  test(`are the same for a whole text and at each place in it, and unitsWithin agrees (seed ${SEED})`, () => {
    const chance = seeded(SEED);
    const below = (count: number) => Math.floor(chance() * count);
    for (let round = 0; round < 300; round++) {
      const text = Array.from({ length: below(60) }, () => [..."ab C1,\n字é😀 x="][below(14)] ?? "").join("");
      const places = Array.from({ length: text.length + 1 }, (_, at) => at);
      const before = tokensBefore(text, places);
      expect(Math.ceil(before.at(-1) ?? 0)).toBe(estimatedTokens(text));
      expect(before).toEqual(places.map((place) => tokensBefore(text, [place])[0] ?? 0));
      const tokensMax = below(20);
      const units = unitsWithin(text, tokensMax);
      expect(text.slice(0, units).isWellFormed()).toBe(true);
      expect(estimatedTokens(text.slice(0, units))).toBeLessThanOrEqual(tokensMax);
      const [next = ""] = text.slice(units);
      if (next !== "") expect(before[units + next.length]).toBeGreaterThan(tokensMax);
    }
  });
});
