// Series: things that differ only in a number, a code, a name or a day, such as cabins 3, 4 and 5. Finds which members
// of a series a question names, and which ones a passage is about.

import type { NamedTime } from "../domain/ranking.ts";
import { DAY_MS } from "../kit/clock.ts";
import { foldLetters, spacedWords } from "../words/word-patterns.ts";
import { numberedWords, withDigits } from "./number-words.ts";
import {
  addressedIn,
  areForms,
  type CodeInText,
  codeOf,
  codesIn,
  fullNamesIn,
  hasCode,
  isContentWord,
  type NameInText,
  namesInText,
  plainDigits,
} from "./specifics.ts";
import type { ClosedSpan } from "./time/calendar.ts";
import { type LocatedDate, locatedDatesIn } from "./time/dates-in.ts";

/** A passage in the form in which it is compared with a series. */
export interface SeriesText {
  /** The passage with its title and headings. */
  readonly text: string;
  /** When it was said or happened, Unix milliseconds; empty if unknown. */
  readonly happenedAt: readonly number[];
  /** Unix milliseconds. */
  readonly storedAt: number;
}

/** A member of a series, as a question names it. */
export interface Member {
  /** The words of the question, such as "cabin 9". */
  readonly text: string;
  /** How a passage names the member. */
  readonly presence: (passage: SeriesText) => Presence;
}

/** How a passage names a member: `placed` as in "cabin 9", `somewhere` as in "9 guests". */
export type Presence = "placed" | "somewhere" | "absent";

/** The members of a series that a question names. */
export interface Series {
  /** At least one; several if the question names them together, as in "cabins 4 and 9". */
  readonly asked: readonly Member[];
  /** Whether texts often name members in other words, as with persons. */
  readonly isRenamed: boolean;
  /** The other members that a passage names, in its words. */
  readonly othersIn: (passage: SeriesText) => readonly string[];
}

/** When and in which language a question is asked. */
export interface AskedSeries {
  /** BCP 47; `und` if unsure. */
  readonly language: string;
  /** Unix milliseconds. */
  readonly asOf: number;
  /** The time that the question names. */
  readonly time: NamedTime | null;
}

/** Maximum number of series and of codes in a question; the rest is ignored. */
const SERIES_MAX = 8;
const CODES_MAX = 16;

/** The series of which a question names members. */
export function seriesIn(question: string, asked: AskedSeries): readonly Series[] {
  // the number in "3 days ago" names no member of a series
  const isDated = asked.time === null || locatedDatesIn(asked.time.expression, asked.asOf).length > 0;
  const untimed = isDated ? question : question.replace(asked.time?.expression ?? "", " ");
  const all = [
    ...codeSeries(untimed, asked.language),
    ...nameSeries(question, asked.language),
    ...addressedSeries(question),
    ...daySeries(question, asked),
  ];
  const keyOf = ({ asked: members }: Series) => members.map(({ text }) => text).join();
  const unique = all.filter((each, at) => all.findIndex((other) => keyOf(other) === keyOf(each)) === at);
  return unique.slice(0, SERIES_MAX);
}

// ---- numbers and codes

const LETTER = "\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}";
/** A number or code in a folded text. */
const TOKEN = `(?:[${LETTER}]{1,8}[-_./ ]?)?\\p{Nd}[${LETTER}\\p{Nd}]*(?:[-_./:][${LETTER}\\p{Nd}]+)*`;
const NOT_IN_WORD = "(?<![\\p{L}\\p{M}\\p{N}])";
/** Words that may be between a thing and its number, as in "cabin no. 9". */
const NUMBER_WORD = "(?:no|nr|nos|num|number|nummer|numero|nro|номер|の?番号|号码|號碼|번호)";
const MARKS = "[ \\u00a0#:№°º.-]{0,3}";
const SPACED_WORD =
  "(?:(?![\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}])[\\p{L}\\p{M}])+";
const LEAD = new RegExp(`(${SPACED_WORD})((?:[ \\u00a0]?${NUMBER_WORD}\\.?)?)${MARKS}$`, "iu");
const JOINED_LEAD = new RegExp(
  `([\\p{Script=Han}\\p{Script=Katakana}ー]{2,}|[\\p{Script=Hangul}\\p{Script=Thai}]{2,}|[ぁ-ゖ]{3,})((?:[ ]?${NUMBER_WORD})?) ?$`,
  "u",
);
/**
 * Conjunctions of Chinese and Japanese at the end of a text: what precedes them belongs to the first of two members.
 */
const JOINED_CONJUNCTION = /[和与與及跟]$/u;
const NUMBER_WORD_ALONE = new RegExp(`^${NUMBER_WORD}$`, "iu");
const NUMBER_WORD_END = new RegExp(`${NUMBER_WORD}$`, "u");
/**
 * Number of UTF-16 code units before a number that count as its lead (the word that says what is numbered) in scripts
 * without spaces.
 */
const UNSPACED_LEAD_UNITS = { han: 2, thai: 4 };
/** Stop words that may say what a number belongs to. */
const LABELS: ReadonlySet<string> = new Set(numberedWords("labels"));
const NUMBER_LEAD = new RegExp(`(?:^|[^\\p{L}])${NUMBER_WORD}\\.?${MARKS}$`, "iu");
const UNIT = /^[ \u00a0-]?([\p{L}][\p{L}\p{M}]*)/u;
/** Chinese, Japanese and Korean words after a number that identifies a thing. */
const JOINED_UNIT =
  /^ ?(号[室房楼館馆机車车]?|號|番[線地]?|便|階|层|樓|楼|室|房|章|課|课|版|型|線|线|路|班|組|组|页|頁|巻|卷|期|번|호실|호|층|동|편|장|과)/u;
/** Words before a number that is only the bound of an amount. */
const BOUNDS: ReadonlySet<string> = new Set(numberedWords("bounds"));
/** Units of amounts and durations. A number before one of them identifies nothing. */
const AMOUNT = new RegExp(
  `^(?:${numberedWords("amounts")
    .map((word) => word.replace("*", "\\p{L}{0,3}"))
    .join("|")})$`,
  "u",
);
/** Number of UTF-16 code units around a code in which its lead and unit are searched. */
const NEAR_UNITS = 40;
/** Maximum number of letters of the ending by which two forms of a word differ. */
const ENDING_UNITS_MAX = 4;
const CONJUNCTION =
  /^[\s,、，&/+]*(?:and|or|und|oder|sowie|et|ou|y|e|o|i|lub|a|и|или|та|й|en|of|og|och|eller|ve|veya|と|や|和|与|與|或|및|과|와)?[\s,、，]*$/iu;
/** Letters at the beginning of a code, and the sign between them and its digits. */
const PREFIX = new RegExp(`^([${LETTER}]{1,8})([-_./]?)\\p{Nd}`, "u");
/** A number with its unit or noun in one word, as in "40-mg-Tabletten". */
const COMPOUND =
  /^(\p{Nd}+(?:[.,]\p{Nd}+)?)(?:-\p{L}{2,}(?:-\p{L}{2,})*|(?:mg|mcg|µg|g|kg|[mcd]?l|km|[mc]?m|kWh?|W|V|[GTM]B|[kMG]?Hz))$/u;
/** Units in all their forms. */
const UNIT_FORMS: readonly string[] = [
  "mg|milligramm?e?s?|miligramos?|milligrammi|мг|миллиграмм\\p{L}{0,2}",
  "g|gr|gramm?e?s?|gramos?|grammi|г|грамм\\p{L}{0,2}",
  "kg|kilos?|kilogramm?e?s?|kilogramos?|кг|килограмм\\p{L}{0,2}",
  "ml|millilit(?:er|re)s?|mililitros?|мл|миллилитр\\p{L}{0,2}",
  "l|lit(?:er|re|ro|ri)s?|л|литр\\p{L}{0,2}",
  "km|kilomet(?:er|re|ro)s?|chilometri|км|километр\\p{L}{0,2}",
  "cm|centimet(?:er|re|ro)s?|zentimeter|centimetri|см",
  "mm|millimet(?:er|re)s?|milimetros?|millimetri|мм",
  "m|met(?:er|re|ro)s?|metri|м|метр\\p{L}{0,2}",
];
const CHAINED = /^\p{Nd}+(?:[-/]\p{Nd}+)+$/u;

/** The words around a code, which say of what series it is a member. */
interface Place {
  /** Word or words before the code, with the signs between; null if they say nothing about it. */
  readonly lead: string | null;
  readonly unit: string | null;
}

interface PlacedCode extends CodeInText {
  readonly place: Place;
}

function codeSeries(question: string, language: string): readonly Series[] {
  const { text, codes } = codesIn(withDigits(question, language), language);
  const placed = codes
    .slice(0, CODES_MAX)
    .map(apart)
    .map((code) => ({ ...code, place: placeOf(text, code, language) }));
  const groups: PlacedCode[][] = [];
  for (const code of placed) {
    const group = groups.at(-1);
    const before = group?.at(-1);
    if (group !== undefined && before !== undefined && areListed(text, before, code)) group.push(code);
    else groups.push([code]);
  }
  return groups.flatMap((found) => {
    // a word before a code says more than the word after it: "trains 204 and 218 leave"
    const isLed = found.some(({ place }) => place.lead !== null);
    const group = found.map((code) => (isLed ? { ...code, place: withoutWord(code.place) } : code));
    const others = othersPattern(group);
    return others === null ? [] : [seriesOfCodes({ text, language }, group, others)];
  });
}

/** Separates the number of a compound word: the rest of the word becomes its unit. */
function apart(code: CodeInText): CodeInText {
  const number = COMPOUND.exec(code.text)?.[1];
  return number === undefined ? code : { ...code, text: number, end: code.start + number.length, code: codeOf(number) };
}

function placeOf(text: string, { start, end, text: code }: CodeInText, language: string): Place {
  const before = text.slice(Math.max(0, start - NEAR_UNITS), start);
  const after = text.slice(end, end + NEAR_UNITS);
  const joined = JOINED_CONJUNCTION.test(before) ? undefined : JOINED_LEAD.exec(before)?.[0];
  const spaced = LEAD.exec(before);
  const isLabel = (word: string) => isContentWord(word, language) || LABELS.has(word.toLowerCase());
  const own = spaced !== null && isLabel(spaced[1] ?? "") ? spaced[0] : null;
  const lead = joined ?? own ?? NUMBER_LEAD.exec(before)?.[0] ?? null;
  const word = UNIT.exec(after)?.[1] ?? "";
  const isBound = BOUNDS.has(foldLetters(/([\p{L}\p{M}]+)[^\p{L}]*$/u.exec(before)?.[1] ?? ""));
  const hasUnit = !isBound && !AMOUNT.test(foldLetters(word)) && isContentWord(word, language) && /^\p{Nd}/u.test(code);
  const cased = hasUnit && new RegExp(`^[${LETTER}]`, "u").test(word) ? word : null;
  return { lead, unit: JOINED_UNIT.exec(after)?.[1] ?? cased };
}

/** A place without the word after the code, unless that word is a unit, as in "Ramipril 20 mg". */
function withoutWord({ lead, unit }: Place): Place {
  return { lead, unit: unit !== null && (JOINED_UNIT.test(unit) || unit.length < ENDING_UNITS_MAX) ? unit : null };
}

/** Whether two codes are named together: "cabins 4 and 9", "cabin 4 and cabin 9". */
function areListed(text: string, first: PlacedCode, second: PlacedCode): boolean {
  const between = text.slice(first.end, second.start);
  const repeated = [first.place.lead, second.place.lead, first.place.unit]
    .filter((words) => words !== null)
    .sort((left, right) => right.length - left.length);
  const rest = repeated.reduce((left, words) => left.replace(words.trim(), " "), between);
  return between.trim() !== "" && CONJUNCTION.test(rest) && !/^\s+$/u.test(rest.replace(/^-$/, " "));
}

/**
 * Pattern for members of the series of these codes, with the code as group `code`; null if no words around the codes
 * say of what series they are.
 */
function othersPattern(codes: readonly PlacedCode[]): RegExp | null {
  const sources = codes.flatMap(({ text, place: { lead, unit } }) => [
    ...(lead === null ? [] : [`${leadSource(lead)}(?<code>${TOKEN})`]),
    ...(unit === null ? [] : [`${NOT_IN_WORD}(?<code>\\p{Nd}[\\p{Nd}.,${LETTER}]*?)[ \\u00a0-]?${unitSource(unit)}`]),
    ...shapeSources(foldLetters(text), lead !== null),
  ]);
  const unique = [...new Set(sources)].map((source) => `(?:${source})`);
  return unique.length === 0 ? null : new RegExp(unique.join("|"), "gu");
}

function leadSource(lead: string): string {
  const joined = JOINED_LEAD.exec(lead);
  if (joined !== null) {
    const word = (joined[1] ?? "").replace(NUMBER_WORD_END, "");
    const { han, thai } = UNSPACED_LEAD_UNITS;
    const length = /\p{Script=Han}$/u.test(word) ? han : /\p{Script=Thai}$/u.test(word) ? thai : word.length;
    const own = word.slice(-length);
    const whole = word === "" ? joined[0].trim() : word;
    return `(?:${RegExp.escape(whole)}|${RegExp.escape(own === "" ? whole : own)})(?: ?${NUMBER_WORD})? ?`;
  }
  const [, word = ""] = LEAD.exec(lead) ?? [];
  if (NUMBER_WORD_ALONE.test(word)) return `${NOT_IN_WORD}${NUMBER_WORD}\\.?${MARKS}`;
  return `${NOT_IN_WORD}${wordSource(word)}(?:[ \\u00a0]?${NUMBER_WORD}\\.?)?${MARKS}`;
}

/** Pattern source for a unit, or for a word after a number, in any of its forms. */
function unitSource(unit: string): string {
  const folded = foldLetters(unit);
  const forms = UNIT_FORMS.find((each) => new RegExp(`^(?:${each})$`, "u").test(folded));
  return forms === undefined ? wordSource(unit) : `(?:${forms})(?![\\p{L}\\p{M}])`;
}

/** Pattern source for a word in any of its forms. */
function wordSource(word: string): string {
  const folded = foldLetters(word);
  const isSpaced = new RegExp(`^[${LETTER}]`, "u").test(folded);
  if (!isSpaced) return RegExp.escape(folded);
  if (folded.length < ENDING_UNITS_MAX) return `${RegExp.escape(folded)}(?![\\p{L}\\p{M}])`;
  const stem = folded.slice(0, Math.max(ENDING_UNITS_MAX, folded.length - 2));
  return `${RegExp.escape(stem)}[\\p{L}\\p{M}]{0,${ENDING_UNITS_MAX}}(?![\\p{L}\\p{M}])`;
}

/**
 * Pattern sources for codes of the same shape: with the same letters in front, as KX-4475 and KX-4452, or with the same
 * chain of digits, as 88-1204 and 88-1233.
 */
function shapeSources(code: string, hasLead: boolean): readonly string[] {
  const [, letters = "", sign = ""] = PREFIX.exec(code) ?? [];
  if (letters.length > 1 || (letters !== "" && sign !== "")) {
    return [`${NOT_IN_WORD}(?<code>${letters}[-_./ ]?\\p{Nd}[${LETTER}\\p{Nd}]*)`];
  }
  if (hasLead || !CHAINED.test(code)) return [];
  const chain = code.replace(/\p{Nd}+/gu, (digits) => `\\p{Nd}{${digits.length}}`);
  return [`(?<![\\p{L}\\p{N}]|\\p{Nd}[-/.])(?<code>${chain})(?![\\p{L}\\p{N}]|[-/]\\p{Nd})`];
}

function seriesOfCodes(
  { text: question, language }: Pick<AskedSeries, "language"> & { readonly text: string },
  codes: readonly PlacedCode[],
  others: RegExp,
): Series {
  const isAsked = (code: string) => codes.some((asked) => hasCode(asked.code, code));
  const placesIn = once((passage) =>
    membersIn(plainTextOf({ ...passage, text: withDigits(passage.text, language) }), others),
  );
  return {
    asked: codes.map((asked) => ({
      text: wordsOf(question, asked),
      presence: (passage) => {
        if (placesIn(passage).some((found) => hasCode(asked.code, found.code))) return "placed";
        return hasCode(asked.code, plainTextOf(passage).folded) ? "somewhere" : "absent";
      },
    })),
    isRenamed: false,
    othersIn: (passage) =>
      placesIn(passage)
        .filter((found) => !isAsked(found.code))
        .map((found) => found.words),
  };
}

/** A code with the words around it, as the question has them. */
function wordsOf(question: string, { start, end, place: { lead, unit } }: PlacedCode): string {
  const behind = unit === null ? "" : (question.slice(end).split(unit)[0] ?? "") + unit;
  return `${lead ?? ""}${question.slice(start, end)}${behind}`.trim();
}

/** A passage with digits 0 to 9, and the same text folded. */
interface PlainText {
  readonly shown: string;
  readonly folded: string;
}

const plainTextOf = once(({ text }): PlainText => {
  const shown = plainDigits(text);
  const folded = foldLetters(shown);
  return { folded, shown: folded.length === shown.length ? shown : folded };
});

/** Caches the result of `read` for each passage, because several members are searched in it. */
function once<Read>(read: (passage: SeriesText) => Read): (passage: SeriesText) => Read {
  const known = new WeakMap<SeriesText, { readonly value: Read }>();
  return (passage) => {
    const found = known.get(passage) ?? { value: read(passage) };
    known.set(passage, found);
    return found.value;
  };
}

/** Members of a series in a passage, by folded code, each with the words of the passage. */
function membersIn(
  { shown, folded }: PlainText,
  pattern: RegExp,
): readonly { readonly code: string; readonly words: string }[] {
  return Array.from(folded.matchAll(pattern), ({ 0: match, index, groups }) => ({
    code: groups?.code ?? "",
    words: shown.slice(index, index + match.length).trim(),
  }));
}

// ---- names

/**
 * Series of names of several words. Other members share the first or the last word, such as persons with the same
 * surname.
 */
function nameSeries(question: string, language: string): readonly Series[] {
  const capitalised = fullNamesIn(question, language).filter(({ words }) => words.length > 1);
  const isCased = hasCased(question);
  const names = isCased ? capitalised : pairsIn(question, language);
  const groups: (typeof names)[number][][] = [];
  for (const name of names) {
    const group = groups.find(([first]) => first?.words.at(-1) === name.words.at(-1));
    if (group === undefined) groups.push([name]);
    else group.push(name);
  }
  return groups.map((group) => ({
    asked: group.map(({ text, words }) => ({ text, presence: (passage) => presenceOfName(words, wordsIn(passage)) })),
    isRenamed: true,
    othersIn: ({ text }) =>
      namesInText(text)
        .filter((found) => !group.some(({ words }) => isNamedBy(words, found.words)))
        .flatMap((found) =>
          group.map(({ words }) => neighbourIn(words, found, isCased)).filter((other) => other !== null),
        ),
  }));
}

/** Whether capital letters can show the names in a text: it has some, or no lower-case letters either. */
function hasCased(text: string): boolean {
  return /\p{Lu}/u.test(text) || !/\p{Ll}/u.test(text);
}

/**
 * Pairs of adjacent content words of a question. Some of them may be names without capitals: "phone number of gordon
 * acheson".
 */
function pairsIn(question: string, language: string): readonly NameInText[] {
  const words = question.match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.slice(1).flatMap((last, at) => {
    const pair = [words[at] ?? "", last];
    if (!pair.every((word) => isContentWord(word, language)) || !question.includes(pair.join(" "))) return [];
    return [{ text: pair.join(" "), words: pair.map(foldLetters) }];
  });
}

const wordsIn = once(({ text }) => spacedWords(text).trim().split(" "));

function presenceOfName(name: readonly string[], words: readonly string[]): Presence {
  const isIn = (part: string) => words.some((word) => areForms(part, word));
  if (name.every(isIn)) return "placed";
  // "Gordon's number" may be Gordon Acheson's
  return isIn(name[0] ?? "") ? "somewhere" : "absent";
}

/**
 * The name in capitalised words that shares its last word with a name, or if `isName`, its first one; null if there is
 * none.
 */
function neighbourIn(name: readonly string[], { text, words }: NameInText, isName: boolean): string | null {
  if (words.length < 2) return null;
  const shares = (at: number) => areForms(name.at(at) ?? "", words.at(at) ?? "");
  if (shares(0) === shares(-1) || (shares(0) && !isName)) return null;
  // "Call Miriam Acheson" has as many words as the name behind "Call"
  const shown = text.split(" ");
  return (shares(0) ? shown.slice(0, name.length) : shown.slice(-name.length)).join(" ");
}

function isNamedBy(name: readonly string[], other: readonly string[]): boolean {
  return name.every((part) => other.some((word) => areForms(part, word)));
}

/** Names before a form of address, in Japanese and Korean. */
function addressedSeries(question: string): readonly Series[] {
  const names = addressedIn(question);
  if (names.length === 0) return [];
  return [
    {
      asked: names.map((name) => ({
        text: name,
        presence: ({ text }) => (foldLetters(text).includes(foldLetters(name)) ? "placed" : "absent"),
      })),
      isRenamed: true,
      othersIn: ({ text }) => addressedIn(text).filter((other) => !names.includes(other)),
    },
  ];
}

// ---- days

/** Maximum distance of a time zone from UTC. */
const ZONE_MS_MAX = 14 * 3_600_000;

function daySeries(question: string, { asOf, time }: AskedSeries): readonly Series[] {
  // a day that only bounds a time, as in "before 5 May"
  if (time !== null && (time.from === null || time.to === null)) return [];
  const days = locatedDatesIn(question, asOf).filter(({ span }) => isDay(span));
  const isRange = time !== null && days.length > 1 && Number(time.to) - Number(time.from) > DAY_MS;
  if (days.length === 0 || isRange) return [];
  const datesOf = once(({ text, happenedAt, storedAt }) => locatedDatesIn(text, happenedAt[0] ?? storedAt));
  const isOn = (date: LocatedDate, day: LocatedDate) =>
    YEAR.test(day.text) && YEAR.test(date.text)
      ? date.span.from < day.span.to && day.span.from < date.span.to
      : isDay(date.span) && monthDayOf(date.span) === monthDayOf(day.span);
  return [
    {
      asked: days.map((day) => ({
        text: day.text,
        presence: (passage) => {
          const dates = datesOf(passage);
          if (dates.some((date) => isOn(date, day))) return "placed";
          const { happenedAt, storedAt } = passage;
          const isThen = (at: number) => day.span.from - ZONE_MS_MAX <= at && at < day.span.to + ZONE_MS_MAX;
          // a passage that names no day is about the day on which it was stored
          const isStoredThen = dates.length === 0 && happenedAt.length === 0 && isThen(storedAt);
          if (happenedAt.some(isThen) || isStoredThen) return "placed";
          return isWithin(day, dates) ? "somewhere" : "absent";
        },
      })),
      isRenamed: false,
      othersIn: (passage) =>
        datesOf(passage)
          .filter((date) => isDay(date.span) && !days.some((day) => isOn(date, day)))
          .filter((date) => !isBound(date, passage.text))
          .map(({ text }) => text),
    },
  ];
}

/** Words before a day that only bounds a time, as in "until Monday". */
const BOUND_BEFORE =
  /(?:^|[^\p{L}])(?:until|till|by|from|since|before|after|starting|bis(?: zum)?|ab(?: dem)?|seit(?: dem)?|vor(?: dem)?|nach(?: dem)?|jusqu['’]au|depuis le|avant le|après le|à partir du|hasta el|desde el|antes del|después del|a partir del|fino al|dal|prima del|dopo il|até|desde|tot|vanaf|sinds|voor|na|до|с|после|do|od|po) (?:the )?$/iu;
/** Words after such a day. */
const BOUND_BEHIND =
  /^ ?(?:まで|から|以降|以前|より|至|之前|之后|前|后|까지|부터|이후|이전|tarihine kadar|'?(?:e|a|ye|ya) kadar)/u;

function isBound({ text: date }: LocatedDate, text: string): boolean {
  const at = text.indexOf(date);
  const [before, behind] = [text.slice(Math.max(0, at - NEAR_UNITS), at), text.slice(at + date.length)];
  return at !== -1 && (BOUND_BEFORE.test(before) || BOUND_BEHIND.test(behind));
}

/** Whether a day is between the first and the last of several dates, such as those of "from 3 to 9 May". */
function isWithin({ span }: LocatedDate, dates: readonly LocatedDate[]): boolean {
  const [first, last] = [
    Math.min(...dates.map((date) => date.span.from)),
    Math.max(...dates.map((date) => date.span.to)),
  ];
  return dates.length > 1 && first <= span.from && span.to <= last;
}

const YEAR = /\p{Nd}{4}/u;

function monthDayOf({ from }: ClosedSpan): string {
  return new Date(from).toISOString().slice("2026-".length, "2026-11-29".length);
}

function isDay({ from, to }: ClosedSpan): boolean {
  return to - from <= DAY_MS;
}
