// Specifics of a question: its numbers, codes and names. A passage that lacks one of them is often about a similar
// thing: cabin 4 instead of cabin 9, another invoice, another person.

import { wordOfKind } from "../words/answer-kinds.ts";
import { stopWordsOf, topiclessWordsOf } from "../words/stop-words.ts";
import { foldLetters, spacedWords, UNSPACED } from "../words/word-patterns.ts";
import { NUMBER_WORD_LISTS, numberedWords } from "./number-words.ts";

/** The specifics of a question, prepared for comparison with passages. */
export interface Specifics {
  readonly codes: readonly Code[];
  /** Names of persons, places and things, each as its folded words. */
  readonly names: readonly (readonly string[])[];
}

/** The share of a question's codes and of its names that a passage lacks, 0..1; 0 if the question has none. */
export interface LackingSpecifics {
  readonly codes: number;
  readonly names: number;
}

/** A number, or a word with digits, such as 9, E-119 or 2021-0188. */
export interface Code {
  /** Matches the code in a folded text, with any separators between its parts. */
  readonly pattern: RegExp;
  /** Its value if it is a whole number; null otherwise. A passage may name a range that includes it. */
  readonly value: number | null;
}

/** A code and its place in a text. */
export interface CodeInText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly code: Code;
}

/** A name and its folded words. */
export interface NameInText {
  readonly text: string;
  readonly words: readonly string[];
}

/** Letters of scripts with cases: others are written beside a number without belonging to it. */
const LETTER = "\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}";
const PART = `[${LETTER}\\p{Nd}]`;
/** What may separate the parts of a code. */
const SEPARATOR = "[\\s\\-\\u2010-\\u2015_./:,'’#]";
const CODE = new RegExp(
  // letters that a hyphen joins to digits, as in BL-2318; or a word with a digit, and what is joined to it
  `(?<!${PART})(?:[${LETTER}]{1,8}[-_./]\\p{Nd}${PART}*|${PART}*\\p{Nd}${PART}*)(?:[-_./:'’]${PART}+|,\\p{Nd}+)*`,
  "gu",
);
/** Greatest number that may only count things. */
const COUNT_MAX = 999;
/** Number of UTF-16 code units around a number that decide whether it only counts things. */
const NEAR_UNITS = 40;
/** A word for counted things after a number: longer than a unit such as mg or km. */
const COUNTED = /^[ \u00a0]\p{L}[\p{L}\p{M}]{3,}/u;
/** Chinese, Japanese and Korean counters, which follow a number of things. */
const COUNTER = /^ ?(?:つ|個|点|件|種|项|項|个|種類|条|가지|개)/u;
/** Text after a number that identifies a thing: "8 numaralı oda", "41 Larch Street". */
const NUMBERED = /^ (?:numaralı|nolu|no['’]lu|sayılı)(?!\p{L})|^ \p{Lu}\p{Ll}+ \p{Lu}\p{Ll}/u;
/** A code and a conjunction before another code: "trains 204 and 218 leave". */
const LISTED = /\p{Nd}\p{L}{0,2} (?:and|or|und|oder|et|ou|y|o|e|en|of|и|или|i|lub|ve|veya|og|eller|och) $/iu;
/** Units of measure that are as long as words. */
const MEASURED = new RegExp(
  `^[ \u00a0](?:(?:milli|centi|deci|kilo|mikro|micro)?(?:lit(?:re|er|ro|ri)s?|gramm?[eio]?s?|met(?:re|er|ro|ri)s?|watts?)|` +
    "mètres|milligrammes?|zentimeter|vatios|volts?|zoll|inch(?:es)?|pouces|pulgadas|pollici|" +
    "grad|degrees?|degrés|grados|gradi|amps?|ampere)(?!\\p{L})",
  "iu",
);
/** Words before a number that counts, other than stop words. */
const COUNT_LEADS: ReadonlySet<string> = new Set(numberedWords("counting"));
/** Patterns of words for small numbers in a folded text: "the third chapter", 第三章, 三号. */
const NUMBER_WORDS: ReadonlyMap<number, RegExp> = new Map(
  [...NUMBER_WORD_LISTS].map(([value, words]) => {
    const numeral = `${"十".repeat(Math.floor(Number(value) / 10))}${" 一二三四五六七八九"[Number(value) % 10]?.trim()}`;
    return [
      Number(value),
      new RegExp(
        `(?<![\\p{L}\\p{M}])(?:${words.join("|")})(?![\\p{L}\\p{M}])|第${numeral}(?![十百])|(?<!十)${numeral}[号號番楼階层室房章課课]`,
        "u",
      ),
    ];
  }),
);
const RUN = /\p{Nd}+|[\p{L}\p{M}]+/gu;
const DIGITS = /^\p{Nd}+$/u;
/** Minimum number of digits of a part number that can be written in groups. */
const GROUPED_DIGITS_MIN = 4;
/** A time of day without its sign, such as 1530. */
const TIME_DIGITS = /^([01]\p{Nd}|2[0-3])([0-5]\p{Nd})$/u;
const ORDINAL = /^(\p{Nd}+)(?:st|nd|rd|th|er|re|e|eme|o|a)$/u;
/** Years, dates and times of day: a passage may name them in other words. */
const TIME = new RegExp(
  [
    "(?<!\\p{Nd})(?:19|20)\\p{Nd}{2}(?!\\p{Nd}|[-_/.]\\p{Nd})",
    "(?<!\\p{Nd})(?:19|20)\\p{Nd}{2}[-/.年]\\s?[01]?\\p{Nd}(?:[-/.月]\\s?\\p{Nd}{1,2}日?)?(?!\\p{Nd})",
    "(?<!\\p{Nd})\\p{Nd}{1,2}[./]\\p{Nd}{1,2}[./](?:\\p{Nd}{4}|\\p{Nd}{2})(?!\\p{Nd})",
    "(?<!\\p{Nd})\\p{Nd}{1,2}[:h]\\p{Nd}{2}(?!\\p{Nd})",
    "\\p{Nd}{1,2}\\s?(?:[月日년월일時시点點]|am\\b|pm\\b|uhr\\b)",
  ].join("|"),
  "giu",
);
/** A range of whole numbers, such as 3–5 or 3 to 5. */
const RANGE =
  /(?<!\p{Nd}[.,]?)(\p{Nd}{1,4}) ?(?:[-–—~〜至]|to|bis|al?|до|から|到) ?(\p{Nd}{1,4})(?!\p{Nd}|[.,]\p{Nd})/gu;
/** Maximum difference of the ends of a range. */
const RANGE_MAX = 100;

const CASED = new RegExp(`[${LETTER}]`, "u");
/** One or more capitalised words. */
const CAPITALISED =
  /(?<![\p{L}\p{M}\p{N}])\p{Lu}[\p{L}\p{M}]+(?:[-'’][\p{L}\p{M}]+)*(?:[ \u00a0]\p{Lu}[\p{L}\p{M}]+(?:[-'’][\p{L}\p{M}]+)*)*/gu;
/** A name before a form of address, in Japanese and Korean. */
const ADDRESSED =
  /[\p{scx=Han}\p{scx=Katakana}]{1,6}?(?=さん|さま|様|くん|君|ちゃん|氏|先生)|\p{Script=Hangul}{2,4}(?= ?(?:씨|님|선생님))/gu;
const TITLE = /^(?:Mrs?|Ms|Dr|Prof|Herr|Frau|Mme|Mlle|Monsieur|Madame|Sra?|Don|Doña|Dott|Sig)$/u;
const GENITIVE = /['’]s?$/u;
const SENTENCE_START = /(?:^|[.!?:])[^\p{L}\p{N}]*$/u;
const CALENDAR = wordOfKind("month", "day", "holiday");
/** Languages that capitalise all nouns. There, only two and more capitalised words in a row are a name. */
const NOUN_CAPITALS: ReadonlySet<string> = new Set(["de", "lb"]);
/** Minimum share of capital letters at which a text is written in capitals, so that they do not mark names. */
const SHOUTED_SHARE = 0.6;
/** Minimum length of the beginning that two forms of a longer name share, in UTF-16 code units. */
const NAME_STEM_UNITS_MIN = 4;
/** The same for scripts other than Latin. Their languages also inflect short names: Анна, Анны. */
const INFLECTED_STEM_UNITS_MIN = 3;
const LATIN = /\p{Script=Latin}/u;
/** Maximum length of the ending by which two forms of a name differ, for short names and for longer ones. */
const ENDING_UNITS_MAX = { short: 2, long: 3 };

/** The specifics of a question. @param language of the question, BCP 47; `und` if unsure */
export function specificsOf(question: string, language: string): Specifics {
  const names = [
    ...addressedIn(question).map((name) => [foldLetters(name)]),
    ...fullNamesIn(question, language).map(({ words }) => words),
  ];
  return { codes: codesIn(question, language).codes.map(({ code }) => code), names };
}

/** The codes of a question, with their places in a text that has plain digits and no times. */
export function codesIn(
  question: string,
  language: string,
): { readonly text: string; readonly codes: readonly CodeInText[] } {
  const text = plainDigits(question).replace(TIME, (time, at: number, whole: string) => {
    return isNumbered(time, whole.slice(Math.max(0, at - NEAR_UNITS), at)) ? time : " ";
  });
  const found = [...text.matchAll(CODE)].filter(({ 0: code, index }) => !isCount(text, code, index, language));
  const codes = found.map(({ 0: code, index }) => ({
    ...{ text: code, start: index, end: index + code.length, code: codeOf(code) },
  }));
  return { text, codes };
}

/** Whether a number that looks like a year identifies a thing: "flight TK 1921". */
function isNumbered(year: string, before: string): boolean {
  return DIGITS.test(year) && /(?<!\p{L})\p{Lu}{2,3}[ -]?$/u.test(before);
}

/** Whether a number only counts: "the top 3 things", "in 50 words", "list 5 reasons", "5つの理由". */
function isCount(text: string, code: string, at: number, language: string): boolean {
  if (!DIGITS.test(code) || Number(code) > COUNT_MAX) return false;
  const after = text.slice(at + code.length, at + code.length + NEAR_UNITS);
  if (COUNTER.test(after)) return true;
  if (NUMBERED.test(after) || MEASURED.test(after)) return false;
  if (LISTED.test(text.slice(Math.max(0, at - NEAR_UNITS), at))) return false;
  const before = /([\p{L}\p{M}'’]+)[^\p{L}\p{N}]*$/u
    .exec(text.slice(Math.max(0, at - NEAR_UNITS), at))?.[1]
    ?.toLowerCase();
  const isLed =
    before === undefined ||
    COUNT_LEADS.has(before) ||
    stopWordsOf(language).has(before) ||
    topiclessWordsOf(language).has(before);
  return isLed && COUNTED.test(after);
}

/** Which of the specifics a passage lacks. @param passage with its title, speaker and headings */
export function lackingSpecifics({ codes, names }: Specifics, passage: string): LackingSpecifics {
  return {
    codes: codes.length === 0 ? 0 : lackingCodes(codes, passage).length / codes.length,
    names: names.length === 0 ? 0 : lackingNames(names, passage) / names.length,
  };
}

function lackingCodes(codes: readonly Code[], passage: string): readonly Code[] {
  const text = foldLetters(plainDigits(passage));
  return codes.filter((code) => !hasCode(code, text));
}

/** Whether a folded text with plain digits contains a code, or a range that includes it. */
export function hasCode({ pattern, value }: Code, text: string): boolean {
  if (pattern.test(text) || (value !== null && NUMBER_WORDS.get(value)?.test(text))) return true;
  const ranges = value === null ? [] : [...text.matchAll(RANGE)].map(([, from, to]) => [Number(from), Number(to)]);
  return ranges.some(([from = 0, to = 0]) => value !== null && from <= value && value <= to && to - from <= RANGE_MAX);
}

function lackingNames(names: readonly (readonly string[])[], passage: string): number {
  const folded = foldLetters(passage);
  const words = spacedWords(passage).trim().split(" ");
  const isIn = (name: string) =>
    UNSPACED.test(name) ? folded.includes(name) : words.some((word) => areForms(name, word));
  return names.reduce((sum, name) => sum + name.filter((word) => !isIn(word)).length / name.length, 0);
}

/** Whether a word can say what a number belongs to. @param language BCP 47; `und` if unsure */
export function isContentWord(word: string, language: string): boolean {
  const lower = word.toLowerCase();
  return word !== "" && !stopWordsOf(language).has(lower) && !COUNT_LEADS.has(lower);
}

/** Prepares a number or a word with digits for comparison. */
export function codeOf(text: string): Code {
  const folded = foldLetters(text).replace(ORDINAL, "$1");
  const runs = folded.match(RUN) ?? [];
  // the digits of a part number are written in groups, or not: AX7719 and AX/77-19
  const digits = runs.filter((run) => DIGITS.test(run)).join("").length;
  const isGrouped = runs.some((run) => !DIGITS.test(run)) && digits >= GROUPED_DIGITS_MIN;
  const source = runs.map((run, at) => {
    const written = isGrouped && DIGITS.test(run) ? [...run].join(`${SEPARATOR}?`) : run;
    if (at === 0) return written;
    // two runs of digits need a separator; otherwise 5.0 would be found in 50
    const isBetweenDigits = DIGITS.test(run) && DIGITS.test(runs[at - 1] ?? "");
    return `${SEPARATOR}{${isBetweenDigits && !isGrouped ? 1 : 0},2}${written}`;
  });
  const [, hour, minute] = TIME_DIGITS.exec(folded) ?? [];
  if (hour !== undefined) source[0] = `(?:${folded}|${hour.replace(/^0/, "0?")}[:.h]${minute})`;
  const before = DIGITS.test(runs[0] ?? "") ? "\\p{Nd}|\\p{Nd}[.,]" : `[${LETTER}]`;
  const behind = DIGITS.test(runs.at(-1) ?? "") ? "\\p{Nd}|[.,]\\p{Nd}" : `[${LETTER}]`;
  const pattern = new RegExp(`(?<!${before})${source.join("")}(?!${behind})`, "u");
  return { pattern, value: DIGITS.test(folded) ? Number(folded) : null };
}

/** Names before a form of address, in Japanese and Korean. */
export function addressedIn(text: string): readonly string[] {
  return text.match(ADDRESSED) ?? [];
}

function hasCapitals(question: string): boolean {
  const letters = question.match(/\p{L}/gu) ?? [];
  const capitals = letters.filter((letter) => /\p{Lu}/u.test(letter)).length;
  return capitals <= SHOUTED_SHARE * letters.length && letters.some((letter) => CASED.test(letter));
}

/** The names in a question that has capital letters. @param language of the question, BCP 47; `und` if unsure */
export function fullNamesIn(question: string, language: string): readonly NameInText[] {
  if (!hasCapitals(question)) return [];
  const text = question.replace(CODE, "0");
  const hasNounCapitals = NOUN_CAPITALS.has(language);
  const names: NameInText[] = [];
  for (const { 0: run, index } of text.matchAll(CAPITALISED)) {
    const words = run.split(/[ \u00a0]/u);
    // The first word of a sentence is capitalised, whatever it is.
    if (SENTENCE_START.test(text.slice(0, index)) && (hasNounCapitals || !beginsWithName(words, language))) {
      words.shift();
    }
    if (words.length < (hasNounCapitals ? 2 : 1)) continue;
    // "Merles Lehrerin": a genitive and a noun
    if (hasNounCapitals && words[0]?.endsWith("s")) words.splice(1);
    names.push(...nameOf(words));
  }
  return names;
}

/** Runs of capitalised words in a passage, which may be names. */
export function namesInText(text: string): readonly NameInText[] {
  return Array.from(text.matchAll(CAPITALISED)).flatMap(({ 0: run }) => nameOf(run.split(/[ \u00a0]/u)));
}

function nameOf(run: readonly string[]): readonly NameInText[] {
  const named = run
    .filter((word) => !(TITLE.test(word) || CALENDAR.test(spacedWords(word))))
    .map((word) => word.replace(GENITIVE, ""));
  const words = named.flatMap((word) => spacedWords(word).trim().split(" "));
  return words.length === 0 ? [] : [{ text: named.join(" "), words }];
}

/** Whether capitalised words at the beginning of a sentence begin with a name: "Ida's shoe", "Ida Berg's school". */
function beginsWithName(words: readonly string[], language: string): boolean {
  const [first = ""] = words;
  return !stopWordsOf(language).has(first.toLowerCase()) && (words.length > 1 || GENITIVE.test(first));
}

/** Whether two words may be forms of one name: they begin alike and differ in a short ending. */
export function areForms(left: string, right: string): boolean {
  if (left === right) return true;
  let same = 0;
  while (same < left.length && left[same] === right[same]) same++;
  const shorter = Math.min(left.length, right.length);
  const ending = Math.max(left.length, right.length) - same;
  if (shorter < NAME_STEM_UNITS_MIN) return shorter > 1 && same === shorter && ending <= ENDING_UNITS_MAX.short;
  const stemMin = LATIN.test(left) ? NAME_STEM_UNITS_MIN : INFLECTED_STEM_UNITS_MIN;
  if (same < Math.max(stemMin, shorter - ENDING_UNITS_MAX.short)) return false;
  return same === shorter || ending <= ENDING_UNITS_MAX.long;
}

/** The text with digits of all scripts as 0 to 9, and without separators of thousands. */
export function plainDigits(text: string): string {
  const plain = text.normalize("NFKC").replace(/\p{Nd}/gu, (digit) => (digit <= "9" ? digit : asciiDigit(digit)));
  return plain.replace(/(?<=(?<!\d)\d{1,3})[.,'’ ](?=\d{3}(?!\d))/g, "");
}

/** The ten digits of a script follow each other, and no digit stands before its zero. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
}
