// In which language is a question asked? Cheap where it is English, which most are; else the detector of texts, loaded when
// it is first needed.

import { STOP_WORD_LANGUAGES, stopWordsOf } from "../../kit/stop-words.ts";

const UNDETERMINED = "und";
/** Below so many letters even the detector guesses. */
const LETTERS_MIN = 12;
/** Share of a question's words that are function words of English, from which it is English; if no other language has as many. */
const ENGLISH_SHARE_MIN = 0.3;
const OTHERS = STOP_WORD_LANGUAGES.filter((language) => language !== "en");

/** The language of a question, BCP 47; `und` when unsure. Microseconds, or .2 ms; .2 s and 50 MB once. */
export function queryLanguage(query: string): string | Promise<string> {
  const words = query.toLowerCase().match(/[\p{L}\p{M}']+/gu) ?? [];
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  if (letters < LETTERS_MIN && !/[^\p{Script=Latin}\p{Script=Common}]/u.test(query)) return UNDETERMINED;
  const functionWords = (language: string) => words.filter((word) => stopWordsOf(language).has(word)).length;
  const english = functionWords("en");
  const isEnglish = english >= ENGLISH_SHARE_MIN * words.length;
  if (isEnglish && OTHERS.every((language) => functionWords(language) < english)) return "en";
  return import("../../preparation/language.ts").then(({ detectLanguage }) => detectLanguage(query));
}
