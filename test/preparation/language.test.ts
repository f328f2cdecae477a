// Tests language detection: sentences in twenty-nine languages are recognised, and the result is `und` for a text
// without a language.

import { describe, expect, test } from "bun:test";
import { detectLanguage, UNDETERMINED } from "../../src/preparation/language.ts";
import { SENTENCES, UNDETERMINED_TEXTS } from "./fixtures/languages.ts";

const RIGHT_SHARE_MIN = 0.98;

describe("sentences of 40 characters or more", () => {
  const pairs = Object.entries(SENTENCES).flatMap(([language, sentences]) =>
    sentences.map((sentence) => ({ language, sentence })),
  );

  test("there are at least fifteen of that length in each of at least twelve languages", () => {
    expect(Object.keys(SENTENCES).length).toBeGreaterThanOrEqual(12);
    for (const sentences of Object.values(SENTENCES)) expect(new Set(sentences).size).toBeGreaterThanOrEqual(15);
    expect(pairs.filter(({ sentence }) => Array.from(sentence).length < 40)).toEqual([]);
  });

  test(`at least ${RIGHT_SHARE_MIN} of them are detected correctly, and nine of ten in each language`, () => {
    const isRight = ({ language, sentence }: (typeof pairs)[number]) => detectLanguage(sentence) === language;
    expect(pairs.filter(isRight).length / pairs.length).toBeGreaterThanOrEqual(RIGHT_SHARE_MIN);
    for (const [language, sentences] of Object.entries(SENTENCES)) {
      const right = sentences.filter((sentence) => isRight({ language, sentence }));
      expect({ language, isMostlyRight: right.length >= sentences.length * 0.9 }).toEqual({
        language,
        isMostlyRight: true,
      });
    }
  });

  test("paragraphs of them are detected correctly in every language", () => {
    for (const [language, sentences] of Object.entries(SENTENCES)) {
      expect(detectLanguage(sentences.join(" "))).toBe(language);
    }
  });
});

test.each([...UNDETERMINED_TEXTS])("is und if it cannot be determined: %j", (text) => {
  expect(detectLanguage(text)).toBe(UNDETERMINED);
});

test.each([
  ["da", "Jeg har hørt, at de skal flytte, men jeg ved ikke noget om hvornår."],
  ["no", "Jeg har hørt at de skal flytte, men jeg vet ikke noe om når."],
  ["uk", "Він приїде завтра"],
  ["sr", "Дођи сутра на ручак код нас."],
  ["mk", "Нѐ чекаат во ѓумрукот веќе еден час, а ние сме гладни и ѕидот е студен."],
  ["und", "Бүгін ауа райы өте жақсы, сондықтан біз қыдыруға шықтық."],
  ["hr", "Sutra ćemo ići na more, ako ne bude padala kiša cijeli dan."],
])("related languages are distinguished (%s): %s", (language, text) => {
  expect(detectLanguage(text)).toBe(language);
});

test.each([
  ["ja", "経済産業省関東経済産業局"],
  ["ja", "図書館利用案内"],
  ["ja", "東京駅発着時刻表"],
  ["zh", "北京市朝阳区建国门外大街"],
  ["zh", "台北市信義區市府路"],
  ["zh", "經濟發展與環境保護"],
  ["zh", "冈山県位于日本西部，人口约一百八十万"],
])("character forms of one country decide the language of a text without kana (%s): %s", (language, text) => {
  expect(detectLanguage(text)).toBe(language);
});

test.each([
  ["a link", "Die Unterlagen liegen unter https://example.org/files/report-2026-final?download=true&lang=en bereit."],
  ["Markdown", "**Wichtig:** Die [Unterlagen](http://example.org/a) liegen _ab morgen_ im `Ordner` bereit."],
  ["HTML", '<div class="message"><p>Die Unterlagen liegen ab morgen im Ordner bereit.</p></div>'],
  ["numbers and keys", "Die Unterlagen zu A-1002/B7 liegen ab 08:30 Uhr (Raum 4.17) im Ordner 2026_11 bereit."],
])("%s in a text does not affect the detection", (_, text) => {
  expect(detectLanguage(text)).toBe("de");
});

test("hostile texts do not slow down the detection", () => {
  for (const piece of ["<", "a@", "&", "http://", "\0", "\ud800", "1.", "і", "ab ", "{[("]) {
    expect(detectLanguage(piece.repeat(100_000))).toBeString();
  }
});
