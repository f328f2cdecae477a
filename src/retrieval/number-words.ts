// Words for small numbers, and words around numbers. Lists: data/words/number-words.txt, data/words/series.txt.

import numberWordList from "../../data/words/number-words.txt" with { type: "text" };
import seriesList from "../../data/words/series.txt" with { type: "text" };
import { fold } from "../kit/fold.ts";
import { stopWordsOf } from "../words/stop-words.ts";
import { parseWordList } from "../words/word-lists.ts";
import { foldLetters } from "../words/word-patterns.ts";
import { languagesOf, lexemesOf, lexiconOf, type TimeLanguage } from "./time/lexicon.ts";

/** Folded words for the numbers 1 to 12 in all languages, by value. */
export const NUMBER_WORD_LISTS: ReadonlyMap<string, readonly string[]> = parseWordList(numberWordList);

const AROUND = parseWordList(seriesList);

/** The words of a section of data/words/series.txt. */
export function numberedWords(
  section: "labels" | "bounds" | "amounts" | "counting" | "contrasts" | "joining",
): readonly string[] {
  return AROUND.get(section) ?? [];
}

const AMBIGUOUS: ReadonlySet<string> = new Set(AROUND.get("ambiguous"));
/** Values of number words. Words for one are left out, because they are articles and pronouns, too. */
const VALUES = new Map(
  [...NUMBER_WORD_LISTS]
    .filter(([value]) => value !== "1")
    .flatMap(([value, words]) => words.map((word) => [word, value])),
);
/** A word with the words before and after it, as in "cabin nine?" and "room seven now". */
const NUMBERED = /(?<=([\p{L}\p{M}]{3,})[ \u00a0])([\p{L}\p{M}]{2,})(?=(?:[ \u00a0]+([\p{L}\p{M}]+))?)/gu;
const COUNTING: ReadonlySet<string> = new Set(numberedWords("counting"));

/**
 * A Chinese or Japanese numeral from 2 to 99 that numbers something: 九号, 三番, 十二号室. Excludes 第三, which other patterns
 * find, 一番 ("most") and days such as 二十日.
 */
const HAN_NUMBERED =
  /(?<![第月〇零一二三四五六七八九十百千万两兩])([二三四五六七八九]?十[一二三四五六七八九]?|[二三四五六七八九])(?=[号號番](?![外称稱角]))/gu;
/** A Korean numeral before the word for "number", and before a noun: 구번 방, 삼 번 트랙. Not 이번 ("this time"). */
const HANGUL_NUMBERED = /(?<!\p{Script=Hangul})([삼사오육칠팔구십])(?= ?번 \p{Script=Hangul})/gu;
const HAN_DIGITS = " 一二三四五六七八九";
const HANGUL_DIGITS = " 일이삼사오육칠팔구십";

function hanValue(numeral: string): string {
  const [tens, ones] = numeral.includes("十") ? numeral.split("十") : ["", numeral];
  const value = numeral.includes("十") ? 10 * Math.max(1, HAN_DIGITS.indexOf(tens || " ")) : 0;
  return String(value + Math.max(0, HAN_DIGITS.indexOf(ones || " ")));
}

/**
 * Replaces number words that number something by digits, as in "cabin nine" and 九号. A number word is replaced if it
 * follows a word with a meaning, and no word follows that it could count.
 * @param language BCP 47; `und` if unsure
 */
export function withDigits(text: string, language: string): string {
  let languages: readonly TimeLanguage[] | null = null;
  const plain = text
    .replace(HAN_NUMBERED, hanValue)
    .replace(HANGUL_NUMBERED, (numeral) => String(HANGUL_DIGITS.indexOf(numeral)));
  return plain.replace(NUMBERED, (word: string, lead: string, _: string, next: string | undefined) => {
    const value = VALUES.get(foldLetters(word));
    if (value === undefined || AMBIGUOUS.has(foldLetters(word))) return word;
    const stopWords = stopWordsOf(language);
    const says = (other: string) => !stopWords.has(other.toLowerCase()) && !COUNTING.has(other.toLowerCase());
    if (!says(lead) || (next !== undefined && says(next))) return word;
    languages ??= languagesOf(fold(text.slice(0, 1_000)), language).likely;
    const isOf = (each: TimeLanguage) =>
      lexemesOf(fold(word), lexiconOf(each)).some(
        ({ meanings }) => meanings.has(`n${value}`) || meanings.has(`o${value}`),
      );
    return languages.some(isOf) ? value : word;
  });
}
