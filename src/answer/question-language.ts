// Guesses the language of a question, for the sentence that says that nothing stored answers it. Language detection
// needs about twelve letters. For a shorter question, its script, its words and the passages found decide, because a
// wrong guess is no worse than English, in which the sentence is otherwise written.

import type { RankedPassage } from "../domain/ranking.ts";
import { STOP_WORD_LANGUAGES, stopWordsOf } from "../words/stop-words.ts";
import { foldLetters } from "../words/word-patterns.ts";

/** For scripts other than Latin: the most widely used of the languages that have such a sentence (no-evidence.ts). */
const LANGUAGE_OF_SCRIPT: readonly (readonly [script: RegExp, language: string])[] = [
  [/\p{Script=Devanagari}/u, "hi"],
  [/\p{Script=Arabic}/u, "ar"],
  [/\p{Script=Cyrillic}/u, "ru"],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "ja"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Han}/u, "zh"],
  [/\p{Script=Thai}/u, "th"],
];

/** Signs and question words that identify a language whose function words are ambiguous. */
const LANGUAGE_OF_WORD: readonly (readonly [sign: RegExp, language: string])[] = [
  [/¿|(?<!\p{L})(?:cuánt[oa]s?|dónde|cuándo|cuál)(?!\p{L})/iu, "es"],
  [/(?<!\p{L})(?:quel(?:le)?s? (?:âge|est|sont))(?!\p{L})/iu, "fr"],
  [/(?<!\p{L})(?:kaç|nedir|nerede)(?!\p{L})/iu, "tr"],
];

/** Number of best passages whose language the question may share. */
const PASSAGES_MAX = 3;
/**
 * Minimum length of a word, in UTF-16 code units. If a passage has such a word of the question, the question probably
 * has the language of the passage.
 */
const SHARED_UNITS_MIN = 4;

/**
 * The detected language. If that is `und`, the first of these that gives one: the script; `LANGUAGE_OF_WORD`; the
 * language with the most function words in the question; that of the first of the best passages that share a word of at
 * least `SHARED_UNITS_MIN` with the question, as in "WLAN-Passwort Hütte 7?". Otherwise `und`.
 */
export function questionLanguage(question: string, detected: string, passages: readonly RankedPassage[] = []): string {
  const guess = detected === "und" ? languageByWords(question) : detected;
  return guess === "und" ? languageByPassages(question, passages) : guess;
}

function languageByWords(question: string): string {
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

function languageByPassages(question: string, passages: readonly RankedPassage[]): string {
  const words = longWordsOf(question);
  const shared = passages
    .slice(0, PASSAGES_MAX)
    .find(({ memory, text }) => (memory.language ?? "und") !== "und" && !words.isDisjointFrom(longWordsOf(text)));
  return shared?.memory.language ?? "und";
}

function longWordsOf(text: string): ReadonlySet<string> {
  const words = foldLetters(text).match(/[\p{L}\p{M}]+/gu) ?? [];
  return new Set(words.filter((word) => word.length >= SHARED_UNITS_MIN));
}
