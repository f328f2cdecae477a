// Short questions are refused in their language.

import { expect, test } from "bun:test";
import { queryLanguage } from "../../src/adapters/preparation/query-language.ts";
import { NO_EVIDENCE_ANSWER, noEvidenceAnswer } from "../../src/answer/no-evidence.ts";
import { questionLanguage } from "../../src/answer/question-language.ts";

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

test("a detected language is kept", () => expect(questionLanguage("¿qué?", "ca")).toBe("ca"));
