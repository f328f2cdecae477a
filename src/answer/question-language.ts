// Language of a question for the sentence that refuses it. Language detection needs about twelve letters; a shorter
// question is told by its script or its function words, because a wrong guess costs no more than English does.

import { STOP_WORD_LANGUAGES, stopWordsOf } from "../words/stop-words.ts";

/** The most common language of each script that several languages of the sentences use. */
const LANGUAGE_OF_SCRIPT: readonly (readonly [script: RegExp, language: string])[] = [
  [/\p{Script=Devanagari}/u, "hi"],
  [/\p{Script=Arabic}/u, "ar"],
  [/\p{Script=Cyrillic}/u, "ru"],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "ja"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Han}/u, "zh"],
  [/\p{Script=Thai}/u, "th"],
];

/** Signs and question words that only one language of the sentences has, although its function words are ambiguous. */
const LANGUAGE_OF_WORD: readonly (readonly [sign: RegExp, language: string])[] = [
  [/¿|(?<!\p{L})(?:cuánt[oa]s?|dónde|cuándo|cuál)(?!\p{L})/iu, "es"],
  [/(?<!\p{L})(?:quel(?:le)?s? (?:âge|est|sont))(?!\p{L})/iu, "fr"],
  [/(?<!\p{L})(?:kaç|nedir|nerede)(?!\p{L})/iu, "tr"],
];

/**
 * The detected language, or a guess if it is `und`: by script, or the language with the most function words in the
 * question. `und` if nothing tells the language.
 */
export function questionLanguage(question: string, detected: string): string {
  if (detected !== "und") return detected;
  const sure = [...LANGUAGE_OF_SCRIPT, ...LANGUAGE_OF_WORD].find(([sign]) => sign.test(question));
  if (sure !== undefined) return sure[1];
  const words = question.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  let best = { language: "und", count: 0 };
  for (const language of STOP_WORD_LANGUAGES) {
    const stopWords = stopWordsOf(language);
    const count = words.filter((word) => stopWords.has(word)).length;
    if (count === best.count) best = { language: "und", count };
    if (count > best.count) best = { language, count };
  }
  return best.language;
}
