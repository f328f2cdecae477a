// Queries in languages that the models support or do not support, and language detection of queries.

import { describe, expect, test } from "bun:test";
import { queryLanguage } from "../../src/adapters/preparation/query-language.ts";
import { isLanguageSupported, isUnspaced } from "../../src/retrieval/coverage.ts";

describe("isLanguageSupported", () => {
  const cases: readonly (readonly [text: string, language: string, models: readonly string[], isSupported: boolean])[] =
    [
      ["Who flew the red kite?", "en", ["en"], true],
      ["red kite", "und", ["en"], true],
      ["Wer ließ den roten Drachen steigen?", "de", ["en"], false],
      ["Wer ließ den roten Drachen steigen?", "de", ["en", "de"], true],
      ["Who flew it?", "en-GB", ["en-US"], true],
      ["誰が凧を揚げましたか", "ja", ["en"], false],
      ["誰が凧を揚げましたか", "ja", ["en", "ja"], true],
      ["凧", "und", ["en"], false],
      ["Кто запускал змея?", "und", ["en"], false],
      ["Кто запускал змея?", "ru", ["ru"], true],
      ["Who wrote 『坊っちゃん』, the novel about a young teacher in Matsuyama?", "en", ["en"], true],
      ["42?", "und", ["en"], true],
      ["", "und", ["en"], true],
    ];
  for (const [text, language, models, isSupported] of cases) {
    test(`${JSON.stringify(text)} (${language}) with models for ${models.join(", ")}: ${isSupported}`, () => {
      expect(isLanguageSupported(text, language, models)).toBe(isSupported);
    });
  }
});

describe("isUnspaced", () => {
  const cases: readonly (readonly [text: string, isUnspaced: boolean])[] = [
    ["澳大利亚的首都是哪里？", true],
    ["カードの暗証番号は？", true],
    ["รหัสตู้เก็บของคืออะไร", true],
    ["ລະຫັດຕູ້ແມ່ນຫຍັງ", true],
    ["PIN 码是多少？", true],
    ["사물함 비밀번호는 무엇인가요?", false],
    ["Who wrote 坊っちゃん?", false],
    ["Где ключ?", false],
    ["42?", false],
    ["", false],
  ];
  for (const [text, expected] of cases) {
    test(`${JSON.stringify(text)}: ${expected}`, () => expect(isUnspaced(text)).toBe(expected));
  }
});

describe("the language of a query", () => {
  const cases: readonly (readonly [text: string, language: string])[] = [
    ["What is the capital of Australia?", "en"],
    ["who directed the film that won the prize in 1994", "en"],
    ["Wann fährt der letzte Zug nach Bern?", "de"],
    ["Où est né Napoléon Bonaparte ?", "fr"],
    // These queries contain words that also exist in English.
    ["Quais as regras do condomínio no verão?", "pt"],
    ["Was war in der Box?", "de"],
    ["What was in the box?", "en"],
    ["オーストラリアの首都はどこですか", "ja"],
    ["澳大利亚的首都是哪里？", "zh"],
    ["kite", "und"],
    ["", "und"],
  ];
  for (const [text, language] of cases) {
    test(`${JSON.stringify(text)}: ${language}`, async () => {
      expect(await queryLanguage(text)).toBe(language);
    });
  }
});
