// The input of the grammar of times, and predicates on lexemes that all its parts use. The parts are time-phrases.ts,
// counted-times.ts and named-periods.ts.

import {
  CALENDAR_UNITS,
  type CalendarUnit,
  type ClosedSpan,
  SEASONS,
  type Season,
  yearAndMonthOf,
} from "./calendar.ts";
import type { Lexeme, Lexicon } from "./lexicon.ts";
import { type FoundDate, isYear } from "./numeric-dates.ts";

/** Whether a phrase counts from the day of the query, or names dates. */
export type TimeForm = "relative" | "absolute";

/** A time phrase that was read: its span, and the lexeme after it. */
export interface TimePhrase {
  readonly span: ClosedSpan;
  readonly form: TimeForm;
  /** Whether the phrase is no more than a year. Full text already finds a year that is written in a passage. */
  readonly isYearOnly: boolean;
  /** Whether it is a feast without a year. The span is that of the latest one, which is only probably meant. */
  readonly isAnyFeast?: boolean;
  readonly next: number;
}

/** The input of the grammar: lexemes, dates in digits, and the time of the query. */
export interface TimeText {
  /** The folded text. */
  readonly text: string;
  readonly lexemes: readonly Lexeme[];
  readonly dates: readonly FoundDate[];
  readonly lexicon: Lexicon;
  readonly asOf: number;
}

/** A time phrase; relative unless said otherwise. */
export function found(span: ClosedSpan, next: number, form: TimeForm = "relative", isYearOnly = false): TimePhrase {
  return { span, form, isYearOnly, next };
}

/** Whether a lexeme has a meaning. */
export function has({ lexemes }: TimeText, at: number, meaning: string): boolean {
  return lexemes[at]?.meanings.has(meaning) === true;
}

/** Whether a lexeme has one of the meanings. */
export function hasAny(text: TimeText, at: number, meanings: readonly string[]): boolean {
  return meanings.some((meaning) => has(text, at, meaning));
}

/** Whether a lexeme is a time only next to other words for time, because it has another meaning. */
export function isWeak(text: TimeText, at: number): boolean {
  return has(text, at, "weak");
}

/** The number after a prefix in the meanings of a lexeme, such as 5 in `month5`; null if it has none. */
export function numbered({ lexemes }: TimeText, at: number, prefix: string): number | null {
  for (const meaning of lexemes[at]?.meanings ?? []) {
    if (meaning.startsWith(prefix)) {
      const digits = meaning.slice(prefix.length);
      if (/^[+-]?\d+(?:\.\d)?$/.test(digits)) return Number(digits);
    }
  }
  return null;
}

/** A number in digits or as a word. */
export function numberAt(text: TimeText, at: number): number | null {
  return text.lexemes[at]?.digits ?? numbered(text, at, "n");
}

/** Meanings that lead a phrase, so that an ambiguous word after them is a time. */
const LEADS = ["in", "on", "since", "before", "after", "until", "between", "from", "to", "of", "last", "this", "next"];

/** Whether the phrase at `at` follows a word with one of these meanings, apart from articles. */
export function isLed(text: TimeText, at: number, meanings: readonly string[] = LEADS): boolean {
  let before = at - 1;
  while (before > 0 && !hasAny(text, before, meanings) && has(text, before, "skip")) before -= 1;
  return hasAny(text, before, meanings);
}

/** Meanings that lead a month. An article is none: "el mar" is the sea. */
export const MONTH_LEADS = LEADS.filter((meaning) => meaning !== "on");

/** Whether the phrase at `at` is said to recur, as in "every Friday" and "月曜日ごとに". Such a phrase names no time. */
export function recurs(text: TimeText, at: number): boolean {
  return has(text, at - 1, "every") || has(text, at + 1, "every-after") || has(text, at, "plural");
}

/** The first lexeme from `at` on that is not an article or the like. */
export function skip(text: TimeText, at: number): number {
  let next = at;
  while (has(text, next, "skip") || has(text, next, "of")) next += 1;
  return next;
}

/** The calendar unit that a lexeme means. */
export function unitAt(text: TimeText, at: number): CalendarUnit | null {
  return CALENDAR_UNITS.find((unit) => has(text, at, unit)) ?? null;
}

/** The season that a lexeme means. */
export function seasonAt(text: TimeText, at: number): Season | null {
  return SEASONS.find((season) => has(text, at, season)) ?? null;
}

/** Whether a lexeme means a unit counted from today. Offsets have a sign (`month-1`), months of the year none. */
export function isOffset({ lexemes }: TimeText, at: number, unit: string): boolean {
  return [...(lexemes[at]?.meanings ?? [])].some(
    (meaning) => /^[+-]\d+$/.test(meaning.slice(unit.length)) && meaning.startsWith(unit),
  );
}

/** Number of units by which a modifier moves: -2 for "before last", -1 for "last", 0, 1 and 2 for "after next". */
export type Direction = -2 | -1 | 0 | 1 | 2;

/** A modifier, and the lexeme after it. */
export interface Modifier {
  readonly direction: Direction;
  readonly next: number;
}

const MODIFIERS: readonly (readonly [meaning: string, direction: Direction])[] = [
  ["before-last", -2],
  ["after-next", 2],
  ["last", -1],
  ["this", 0],
  ["next", 1],
];

/** The modifier that a lexeme means. */
export function modifierAt(text: TimeText, at: number): Modifier | null {
  const modifier = MODIFIERS.find(([meaning]) => has(text, at, meaning));
  return modifier === undefined ? null : { direction: modifier[1], next: at + 1 };
}

/** The modifier behind a subject, such as "last" in "semaine dernière" and "before last" in "the week before last". */
export function modifierBehind(text: TimeText, at: number): Modifier | null {
  const isBefore = has(text, at, "before") && has(text, at + 1, "last");
  const isAfter = has(text, at, "after") && has(text, at + 1, "next");
  if (!isBefore && !isAfter) return modifierAt(text, at);
  // "the Friday before last week" is another Friday, but "the week before last week" is the week before last.
  const isRepeated = text.lexemes[at + 2]?.text === text.lexemes[at - 1]?.text;
  if (!isRepeated && isTimeWord(text, at + 2)) return null;
  return { direction: isBefore ? -2 : 2, next: at + (isRepeated ? 3 : 2) };
}

function isTimeWord(text: TimeText, at: number): boolean {
  const names = [...(text.lexemes[at]?.meanings ?? [])];
  return names.some((name) => /^(?:day|week|month|quarter|half-year|year|decade|weekend|weekday|feast)/.test(name));
}

/** A year in four digits, after articles and commas; in Chinese, Japanese and Korean with the word for year. */
export function yearAt(text: TimeText, at: number): { readonly year: number; readonly next: number } | null {
  const start = skip(text, at);
  const year = text.lexemes[start]?.digits ?? null;
  if (year === null || !isYear(year) || isPartOfNumber(text, start) || endsDecade(text, start + 1)) return null;
  if (text.lexicon.isSpaced) return { year, next: start + 1 };
  return has(text, start + 1, "year") ? { year, next: start + 2 } : null;
}

/** Whether a lexeme makes the digits directly before it a decade, as "s" does in "1990s". */
export function endsDecade(text: TimeText, at: number): boolean {
  const [digits, ending] = [text.lexemes[at - 1], text.lexemes[at]];
  if (digits === undefined || ending === undefined || !has(text, at, "decade-after")) return false;
  return /^['’-]?$/.test(text.text.slice(digits.end, ending.start));
}

/** Whether other digits follow or precede directly, as in a telephone number. */
function isPartOfNumber({ lexemes }: TimeText, at: number): boolean {
  const [before, own, after] = [lexemes[at - 1], lexemes[at], lexemes[at + 1]];
  const isJoined = (left: Lexeme | undefined, right: Lexeme | undefined) =>
    left?.digits != null && right?.digits != null && right.start - left.end <= 1 && left.text.length > 2;
  return isJoined(before, own) || isJoined(own, after);
}

/** A year that is counted from the day of the query, such as "last year" and 去年. */
export function relativeYearAt(text: TimeText, at: number): { readonly year: number; readonly next: number } | null {
  const fixed = isOffset(text, at, "year") ? numbered(text, at, "year") : null;
  const { year } = yearAndMonthOf(text.asOf);
  if (fixed !== null) return { year: year + fixed, next: at + 1 };
  const modifier = modifierAt(text, at);
  const subject = modifier === null ? at : skip(text, modifier.next);
  if (modifier !== null && has(text, subject, "year")) return { year: year + modifier.direction, next: subject + 1 };
  const behind = has(text, at, "year") ? modifierBehind(text, at + 1) : null;
  return behind === null ? null : { year: year + behind.direction, next: behind.next };
}
