// Substitutes: words that another text has in the place of a word of the question. For the question "where is the bike
// of Noé?", "Salomé" in "the bike of Salomé" is one. Such a text is about a similar thing, so it does not replace notes
// about the thing that is asked for.

import { fold } from "../kit/fold.ts";
import { stopWordsOf } from "../words/stop-words.ts";
import { numberedWords } from "./number-words.ts";
import type { TextInLanguage } from "./time/change-words.ts";
import { type Lexeme, languagesOf, lexemesOf, lexiconOf } from "./time/lexicon.ts";
import { relativeTimeIn } from "./time/resolve-time.ts";
import { bareWord, stemOf } from "./time/words.ts";

/** A word of the question that one text has, and the word that the other text has in its place. */
export interface Substitute {
  readonly asked: string;
  readonly other: string;
}

/** A word of a text. */
export interface PlacedWord {
  readonly word: string;
  readonly stem: string;
  /**
   * Whether the word has a meaning by itself. Stop words, and words of change or of the present ("moved", "now"), have
   * none.
   */
  readonly hasMeaning: boolean;
  /** Whether a sentence begins with it. */
  readonly isStart: boolean;
  /** Number of punctuation marks before it: words with one between them are not beside each other. */
  readonly group: number;
  /** Whether it is part of a time of day, or names a weekday or a day of a month. */
  readonly isWhen: boolean;
}

/** Maximum length of a text that is compared, in UTF-16 code units. The rest is ignored. */
const TEXT_UNITS_MAX = 1_000;
/** Maximum distance to the nearest word with a meaning, in words: "the password of the tablet". */
const BESIDE_MAX = 3;
/** Minimum number of words that texts without spaces share, so that their first words can be compared. */
const SHARED_MIN = 2;
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
/** A time of day with its sign, and a day or hour in Chinese, Japanese and Korean, in folded text. */
const WHEN =
  /(?<!\p{Nd})\p{Nd}{1,2}(?:[:h]\p{Nd}{2}(?!\p{Nd})|[:.]\p{Nd}{2} ?(?:[ap]\.?m\b|uhr\b|h\b)| ?(?:[ap]\.?m\b|uhr\b|h\b|[月日时時点點分년월일시분]))/gu;
const MONTH_OR_WEEKDAY = /^(?:month|weekday)\d/;
/** Between the day and its month: "3. Mai", "3 de mayo", "May 3rd". */
const DAY_BEFORE_MONTH = /(?<!\p{Nd})\p{Nd}{1,2}(?:\.|st|nd|rd|th|er)?(?: (?:de|of))? $/u;
const DAY_BEHIND_MONTH = /^ \p{Nd}{1,2}(?!\p{Nd}|[:.]\p{Nd})/u;
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]/u;
/** A word of one letter, such as the French "a". */
const LETTER = /^[\p{Script=Latin}\p{Script=Cyrillic}]$/u;
const HIRAGANA = /^\p{Script=Hiragana}+$/u;
/** Words that only join others, in languages without a list of stop words. */
const JOINING: ReadonlySet<string> = new Set(numberedWords("joining"));

/** The words of a text in their order, for `substitutesIn`. */
export function placedWords({ text, language }: TextInLanguage): readonly PlacedWord[] {
  const plain = fold(text.slice(0, TEXT_UNITS_MAX));
  const stopWords = stopWordsOf(language);
  const lexemes = languagesOf(plain, language).likely.flatMap((each) => lexemesOf(plain, lexiconOf(each)));
  // when something has changed is no substitute: "last week"
  const timed: readonly Span[] = [
    ...lexemes.filter(({ meanings }) => meanings.has("change") || meanings.has("now")),
    ...[relativeTimeIn(plain, language)].filter((time) => time !== null),
  ];
  const whens = whensIn(plain, lexemes);
  const words: PlacedWord[] = [];
  let isStart = true;
  let group = 0;
  for (const { segment, index, isWordLike } of segmenter.segment(plain)) {
    if (isWordLike !== true) {
      isStart ||= /[.!?。！？\n]/u.test(segment);
      if (!/^[\s\p{Pd}'’]$/u.test(segment)) group += 1;
      continue;
    }
    const word = bareWord(segment);
    const isTimed = isWithin(timed, index);
    const isSmallWord = stopWords.has(word) || LETTER.test(word);
    const isSmall = (isSmallWord && !isMark(text, word, index)) || JOINING.has(word) || HIRAGANA.test(word);
    const isWhen = isWithin(whens, index);
    words.push({ word, stem: stemOf(word), hasMeaning: !isSmall && !isTimed, isStart, group, isWhen });
    isStart = false;
  }
  return words;
}

/** A part of a text, in UTF-16 code units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

function isWithin(spans: readonly Span[], at: number): boolean {
  return spans.some(({ start, end }) => start <= at && at < end);
}

/** The times of day, weekdays and days of a month in a folded text. */
function whensIn(text: string, lexemes: readonly Lexeme[]): readonly Span[] {
  const named = lexemes.filter(({ meanings }) => [...meanings].some((meaning) => MONTH_OR_WEEKDAY.test(meaning)));
  const dated = named.map(({ start, end }) => ({
    start: start - (DAY_BEFORE_MONTH.exec(text.slice(0, start))?.[0].length ?? 0),
    end: end + (DAY_BEHIND_MONTH.exec(text.slice(end))?.[0].length ?? 0),
  }));
  const times = Array.from(text.matchAll(WHEN), ({ 0: time, index }) => ({ start: index, end: index + time.length }));
  return [...dated, ...times];
}

/** Whether a word is a single capital letter that tells things apart, as in "band A". */
function isMark(text: string, word: string, at: number): boolean {
  return word.length === 1 && word !== "i" && at > 0 && /^\p{Lu}$/u.test(text.charAt(at));
}

/**
 * The words of the question that `about` has and for which `other` has another word in the same place: after or before
 * the same words, one of which has a meaning.
 */
export function substitutesIn(
  question: readonly PlacedWord[],
  about: readonly PlacedWord[],
  other: readonly PlacedWord[],
): readonly Substitute[] {
  const asked = stemsOf(question);
  const [ownStems, otherStems] = [stemsOf(about), stemsOf(other)];
  const areAlike = ownStems.intersection(otherStems).size >= SHARED_MIN;
  const found: Substitute[] = [];
  for (const [at, word] of about.entries()) {
    if (!word.hasMeaning || !asked.has(word.stem) || otherStems.has(word.stem)) continue;
    const substitute = other.find(
      (each, place) =>
        each.hasMeaning &&
        !ownStems.has(each.stem) &&
        (isBeside(about, at, other, place, -1) ||
          isBeside(about, at, other, place, 1) ||
          (areAlike && word.isStart && each.isStart && areOtherBeginnings(word.word, each.word))),
    );
    if (substitute !== undefined) found.push({ asked: word.word, other: substitute.word });
  }
  return found;
}

/** Whether two words of a script without spaces begin otherwise: 我 and 我在 are cut differently, and say the same. */
function areOtherBeginnings(left: string, right: string): boolean {
  return UNSPACED.test(left) && !left.startsWith(right) && !right.startsWith(left);
}

function stemsOf(words: readonly PlacedWord[]): ReadonlySet<string> {
  return new Set(words.flatMap(({ stem, hasMeaning }) => (hasMeaning ? [stem] : [])));
}

/**
 * Whether two words have the same neighbours on one side: the nearest word with a meaning, and the small words between.
 * Small words may have different forms, such as "del" and "de la".
 */
function isBeside(
  own: readonly PlacedWord[],
  at: number,
  others: readonly PlacedWord[],
  place: number,
  step: 1 | -1,
): boolean {
  const [left, right] = [besides(own, at, step), besides(others, place, step)];
  if (left === null || right === null || left.word.stem !== right.word.stem) return false;
  if (left.small.length === right.small.length) {
    return left.small.every((word, position) => areForms(word, right.small[position]));
  }
  return areForms(left.small.at(-1), right.small.at(-1));
}

/** The nearest word with a meaning on one side, and the small words between; null if a punctuation mark comes first. */
function besides(words: readonly PlacedWord[], at: number, step: 1 | -1) {
  const small: PlacedWord[] = [];
  for (let distance = 1; distance <= BESIDE_MAX; distance++) {
    const word = words[at + step * distance];
    if (word === undefined || word.group !== words[at]?.group) return null;
    if (word.hasMeaning) return { word, small };
    small.push(word);
  }
  return null;
}

/** Whether two small words are the same, or begin alike. */
function areForms(left: PlacedWord | undefined, right: PlacedWord | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  return left.stem === right.stem || (left.word.length > 1 && left.word[0] === right.word[0]);
}
