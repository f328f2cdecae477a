// Short questions are refused in their language.

import { expect, test } from "bun:test";
import { queryLanguage } from "../../src/adapters/preparation/query-language.ts";
import { NO_EVIDENCE_ANSWER, noEvidenceAnswer } from "../../src/answer/no-evidence.ts";
import { questionLanguage } from "../../src/answer/question-language.ts";
import { passage } from "./passages.ts";

const questions: Readonly<Record<string, string>> = {
  ar: "كم عمره؟",
  de: "wie alt ist Turbo?",
  es: "¿Marta bebe?",
  fr: "quel âge a Galette",
  hi: "वह कौन है?",
  id: "Berapa umur ibu mertua saya?",
  it: "chi è il mio medico?",
  ja: "何歳ですか",
  ko: "몇 살?",
  nl: "hoe oud is Turbo",
  pl: "kiedy są urodziny Anety?",
  pt: "quem é o meu médico?",
  ru: "кто это?",
  tr: "Tayfun kaç yaşında?",
  zh: "他几岁？",
};
for (const [language, question] of Object.entries(questions)) {
  test(`${language}: ${question}`, async () => {
    expect(questionLanguage(question, await queryLanguage(question)).split("-")[0]).toBe(language);
  });
}

test("a question that nothing tells the language of is refused in English", () => {
  for (const question of ["Turbo?", "", "?", "🎉", "wifi"]) {
    expect(noEvidenceAnswer(questionLanguage(question, "und"))).toBe(NO_EVIDENCE_ANSWER);
  }
});

test("a question of few words has the language of a passage with a longer word of it", () => {
  const noted = (text: string, language: string | null) => {
    const found = passage(text);
    return { ...found, memory: { ...found.memory, language } };
  };
  const german = noted("Das WLAN-Passwort von Hütte 3 ist Seestern-22.", "de");
  expect(questionLanguage("WLAN-Passwort HÜTTE 7?", "und", [german])).toBe("de");
  expect(questionLanguage("WLAN-Passwort Hütte 7?", "und", [noted("Haslo do sieci: 22.", "pl"), german])).toBe("de");
  expect(questionLanguage("cabin 7?", "und", [german])).toBe("und");
  expect(questionLanguage("Turbo 7?", "und", [noted("Turbo ist acht.", null)])).toBe("und");
  expect(questionLanguage("What is the Passwort?", "und", [german])).toBe("en");
});

test("a detected language is kept", () => expect(questionLanguage("¿qué?", "ca")).toBe("ca"));
