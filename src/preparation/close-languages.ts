// Distinguishes closely related languages that the n-grams of a short text confuse: by letters that only some of them
// use, and by common words that each language spells differently. language.ts decides when this is needed.

import distinctiveWordList from "../../data/words/distinctive-words.txt" with { type: "text" };
import { parseWordList } from "../words/word-lists.ts";

/**
 * Maximum share of letters that do not belong to a language's alphabet: it allows for a name or two from a related
 * language.
 */
const FOREIGN_SHARE_MAX = 0.01;
/**
 * Deduction from the n-gram score of a language if the text has none of its distinctive letters and words (value chosen
 * with the test sentences).
 */
const NO_MARKER_PENALTY = 0.02;

interface Alphabet {
  readonly language: string;
  /**
   * Pattern of letters, or of words and endings, that only this language uses and that occur in nearly every sentence;
   * null if the language has none.
   */
  readonly marker: RegExp | null;
  /** Letters that the language never uses. */
  readonly foreignLetters: RegExp;
}

/**
 * The Slavic alphabets in Cyrillic. Others (Kazakh, Tajik, Mongolian) have letters that none of these alphabets has,
 * and the n-gram detector does not know these languages.
 */
const ALPHABETS: readonly Alphabet[] = [
  { language: "ru", marker: null, foreignLetters: /[^а-яё ]/g },
  { language: "uk", marker: /[іїєґ]/, foreignLetters: /[^а-яіїєґ ]|[ыэъ]/g },
  { language: "be", marker: /[ўі]/, foreignLetters: /[^а-яёіў ]|[ищъ]/g },
  {
    language: "bg",
    marker: /ъ| (?:е|са|ще|се|че|ли|си|му|ме|ѝ) |[а-я]{3}(?:ата|ята|ото|ият) /,
    foreignLetters: /[^а-яѝ ]|[ыэ]|ь(?!о)/g,
  },
  { language: "sr", marker: /[јљњћђџ]/, foreignLetters: /[^а-яјљњћђџ ]|[йщъыьэюя]/g },
  { language: "mk", marker: /[ѓќѕ]/, foreignLetters: /[^а-яјљњџѓќѕѐѝ ]|[йщъыьэюя]/g },
];

/**
 * The Slavic language of a text in Cyrillic letters: the one with the best score among those whose alphabet the text
 * uses; null if it uses none of these alphabets.
 * @param scores n-gram scores by language, 0..1.
 */
export function slavicLanguage(text: string, scores: Readonly<Record<string, number>>): string | null {
  const letters = ` ${(text.toLowerCase().match(/\p{Script=Cyrillic}+/gu) ?? []).join(" ")} `;
  const scoreOf = ({ language, marker }: Alphabet) =>
    (scores[language] ?? 0) - (marker === null || marker.test(letters) ? 0 : NO_MARKER_PENALTY);
  const [best] = ALPHABETS.filter(
    ({ foreignLetters }) => (letters.match(foreignLetters)?.length ?? 0) <= letters.length * FOREIGN_SHARE_MAX,
  ).sort((a, b) => scoreOf(b) - scoreOf(a));
  return best?.language ?? null;
}

/** For each language, the common words that its related language lacks or spells differently. */
const DISTINCTIVE_WORDS = new Map(
  [...parseWordList(distinctiveWordList)].map(([language, words]) => [language, new Set(words)] as const),
);

/**
 * For each language that n-grams detect, the two languages that the text may really have. The first one wins if the
 * words do not decide. The n-grams know only Malay (`ms`); Indonesian (`id`), a variety of it, has about ten times as
 * many writers.
 */
const RELATED_LANGUAGES: Readonly<Record<string, readonly [string, string]>> = {
  da: ["da", "no"],
  no: ["no", "da"],
  ms: ["id", "ms"],
};

/**
 * Corrects a language that n-grams confuse with a related one, by the words of the text. Other languages are returned
 * unchanged.
 * @param words the words of the text, in lower case.
 */
export function resolveRelatedLanguage(detected: string, words: readonly string[]): string {
  const related = RELATED_LANGUAGES[detected];
  if (related === undefined) return detected;
  const [first, second] = related.map((language) => {
    return words.filter((word) => DISTINCTIVE_WORDS.get(language)?.has(word) === true).length;
  });
  return related[(second ?? 0) > (first ?? 0) ? 1 : 0];
}
