// Finds the numbers of a text, as digits or words, with their neighbours. The neighbours show what a number means: an
// age, an amount of money, or something else.

import { NUMBER_WORD_LISTS } from "../retrieval/number-words.ts";
import { wordOfKind } from "../words/answer-kinds.ts";
import { foldLetters, spacedWords } from "../words/word-patterns.ts";

/** A number of a text. */
export interface NumberInText {
  /** Digits, or a word, folded. */
  readonly text: string;
  /** The tokens around it: words, numbers or punctuation marks; undefined at the ends of the text. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Whether a currency stands beside it. */
  readonly isMoney: boolean;
}

const NUMERAL = "[〇零一二两兩三四五六七八九十百千万萬億亿半\\p{Nd}]";
/** A date with a year, such as 2024-05-01 or 1.5.24. */
export const FULL_DATE =
  /\p{Nd}{4}[-/.年] ?\p{Nd}{1,2}[-/.月] ?\p{Nd}{1,2}|\p{Nd}{1,2}[/.-]\p{Nd}{1,2}[/.-](?:\p{Nd}{4}|\p{Nd}{2})(?!\p{Nd})/gu;
const CLOCK = /(?<!\p{Nd})\p{Nd}{1,2}[:h]\p{Nd}{2}(?!\p{Nd})|(?<!\p{Nd})\p{Nd}{1,2} ?(?:[ap]\.?m(?!\p{L})|uhr)/gu;
/** A Chinese, Japanese or Korean number with a counter that is neither money nor age. */
const COUNTED = new RegExp(
  `${NUMERAL}+ ?(?:[点點時시月월日号號个個只隻次本条條人匹枚回冊分秒米里天周週楼樓层層度片粒頭棵일주개명번층]|公斤|キロ|グラム|メートル|センチ|킬로|그램|미터|시간|마리)`,
  "gu",
);
const LARGE_NUMERALS = new RegExp(`${NUMERAL}{2,}|[百千万萬]`, "u");
const NUMERALS = /[〇零一二两兩三四五六七八九十百千万萬億亿半]/u;
const EAST_ASIAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const TOKEN = /\p{Sc}|\p{Nd}+(?:[.,’' ]\p{Nd}{3}(?!\p{Nd}))*(?:[.,]\p{Nd}+)?|[\p{L}\p{M}]+|[^\s\p{L}\p{M}\p{Nd}]/gu;

const NUMBER_WORD = wordOfKind("number");
const ONE_WORD = wordOfKind("number", "small number");
const CURRENCY = wordOfKind("currency");
/**
 * Words for the numbers 2 to 12. Some have other meanings, so they count as numbers only before a unit, as in "sei
 * anni".
 */
const COUNTING_WORDS: ReadonlySet<string> = new Set(
  [...NUMBER_WORD_LISTS].flatMap(([value, words]) => (value === "1" ? [] : words)),
);
const COUNTED_WORD = wordOfKind("unit", "aged");
const isWord = (pattern: RegExp, word: string | undefined) => word !== undefined && pattern.test(` ${word} `);

/**
 * The numbers of a text that are not in the question. Full dates, times of day, and Chinese, Japanese and Korean
 * numbers with a counter (`COUNTED`) are left out.
 */
export function numbersIn(text: string, question: string): readonly NumberInText[] {
  const folded = withoutDates(foldLetters(text)).replace(COUNTED, " ");
  const own = new Set(spacedWords(question).trim().split(" "));
  const tokens = folded.match(TOKEN) ?? [];
  return tokens.flatMap((token, at) => {
    const isCounting = COUNTING_WORDS.has(token) && isWord(COUNTED_WORD, tokens[at + 1]);
    const isNumber = /^\p{Nd}/u.test(token) || isWord(NUMBER_WORD, token) || isCounting;
    if (!isNumber || own.has(token)) return [];
    const before = tokens[at - 1];
    const next = tokens[at + 1];
    const isMoney = [before, next].some((other) => /^\p{Sc}$/u.test(other ?? "") || isWord(CURRENCY, other));
    return [{ text: token, before, after: next === "-" ? tokens[at + 2] : next, isMoney }];
  });
}

/** Whether a text has any number that is not in the question, also a small one such as "one" or "third". */
export function hasNumber(text: string, question: string): boolean {
  const own = spacedWords(question);
  return spacedWords(text.replace(FULL_DATE, " "))
    .trim()
    .split(" ")
    .some(
      (word) => !own.includes(` ${word} `) && (/\p{Nd}/u.test(word) || hasNumerals(word) || isWord(ONE_WORD, word)),
    );
}

/** Whether a text has a Chinese numeral. */
export function hasNumerals(text: string): boolean {
  return NUMERALS.test(text);
}

/** Whether a Chinese, Japanese or Korean text has a number of several digits, or 百, 千 or 万, without a counter. */
export function hasLargeNumerals(text: string): boolean {
  return EAST_ASIAN.test(text) && LARGE_NUMERALS.test(withoutDates(foldLetters(text)).replace(COUNTED, " "));
}

/** The digits of each number of a text, joined over spaces, dots and hyphens, if the question lacks them. */
export function digitRuns(text: string, question: string): readonly string[] {
  const runs = withoutDates(text.normalize("NFKC")).match(/\+?\p{Nd}[\p{Nd} ()./-]*/gu) ?? [];
  const own = digitsOf(question);
  return runs.map(digitsOf).filter((digits) => !own.includes(digits));
}

function digitsOf(text: string): string {
  return text.normalize("NFKC").replace(/\P{Nd}/gu, "");
}

function withoutDates(text: string): string {
  return text.replace(FULL_DATE, " ").replace(CLOCK, " ");
}
