// Reads periods that have a number or a name of their own: quarters, halves, weeks by number, decades and feasts.

import { DAY_MS } from "../../kit/clock.ts";
import { stopWordsOf } from "../../words/stop-words.ts";
import { type CalendarUnit, type ClosedSpan, monthOf, partOfYear, unitOf, weekOf, yearAndMonthOf } from "./calendar.ts";
import { feastIn } from "./feasts.ts";
import { isYear } from "./numeric-dates.ts";
import {
  endsDecade,
  found,
  has,
  hasAny,
  isLed,
  isWeak,
  type Modifier,
  modifierAt,
  modifierBehind,
  numberAt,
  numbered,
  recurs,
  relativeYearAt,
  skip,
  type TimePhrase,
  type TimeText,
  yearAt,
} from "./time-text.ts";

/** A period that comes once a year. */
interface YearlyPeriod {
  readonly in: (year: number) => ClosedSpan | null;
  readonly next: number;
}

/** "Q1 2026", "das zweite Halbjahr", "semaine 47", "2025年下半年", "last Christmas"; null if there is none at `at`. */
export function readYearlyPeriod(text: TimeText, at: number): TimePhrase | null {
  const ahead = yearAt(text, at) ?? relativeYearAt(text, at);
  const start = ahead === null ? at : skip(text, ahead.next);
  const modifier = ahead === null ? modifierAt(text, start) : null;
  const part = modifier === null ? (partAt(text, start) ?? weekNumberAt(text, start)) : null;
  const period = part ?? feastAt(text, modifier === null ? start : skip(text, modifier.next));
  if (period === null) return null;
  if (ahead !== null) return inYear(period, ahead.year, period.next, ahead.next > at + 1);
  if (modifier !== null) return moved(text, period, modifier);
  const behind = yearBehind(text, period.next);
  if (behind !== null) return inYear(period, behind.year, behind.next, true);
  if (part !== null) return isPartOfOther(text, period.next) ? null : latest(text, period);
  const after = modifierBehind(text, period.next);
  if (after !== null) return moved(text, { ...period, next: after.next }, after);
  const feast = isNamedAlone(text, at, period.next) ? latest(text, period) : null;
  return feast === null ? null : { ...feast, isAnyFeast: true };
}

function inYear(period: YearlyPeriod, year: number, next: number, isAbsolute: boolean): TimePhrase | null {
  const span = period.in(year);
  return span === null ? null : found(span, next, isAbsolute ? "absolute" : "relative");
}

/** The years around that of the query in which a period is looked for; the 53rd week comes every five or six years. */
const YEARS_AROUND = 6;

function periodsAround({ asOf }: TimeText, period: YearlyPeriod): readonly ClosedSpan[] {
  const { year } = yearAndMonthOf(asOf);
  const years = Array.from({ length: 2 * YEARS_AROUND + 1 }, (_, offset) => year - YEARS_AROUND + offset);
  return years.map((each) => period.in(each)).filter((span) => span !== null);
}

function latest(text: TimeText, period: YearlyPeriod): TimePhrase | null {
  const span = periodsAround(text, period).findLast(({ from }) => from <= text.asOf);
  return span === undefined ? null : found(span, period.next, "absolute");
}

function moved(text: TimeText, period: YearlyPeriod, { direction }: Modifier): TimePhrase | null {
  const spans = periodsAround(text, period);
  const over = spans.filter(({ to }) => to <= text.asOf);
  const ahead = spans.filter(({ from }) => from > text.asOf);
  const thisYear = period.in(yearAndMonthOf(text.asOf).year);
  const span = direction === 0 ? thisYear : direction < 0 ? over.at(direction) : ahead[direction - 1];
  return span === undefined || span === null ? null : found(span, period.next);
}

/** The year that follows a period: "of 2025", "last year", "of the year", "/2025". */
function yearBehind(text: TimeText, at: number): { readonly year: number; readonly next: number } | null {
  const start = has(text, at, "in") ? at + 1 : at;
  const year = yearAt(text, start) ?? relativeYearAt(text, skip(text, start));
  if (year !== null) return year;
  const unit = skip(text, start);
  if (unit === start || !has(text, unit, "year")) return null;
  return { year: yearAndMonthOf(text.asOf).year, next: unit + 1 };
}

// "the first quarter of the game" is part of something else than a year.
function isPartOfOther(text: TimeText, at: number): boolean {
  return text.lexicon.isSpaced && hasAny(text, at, ["of", "part-of"]);
}

/** An ordinal number from 1 to `max`, and the lexeme after it. */
function ordinalAt(text: TimeText, at: number, max: number): { readonly value: number; readonly next: number } | null {
  const start = has(text, at, "ordinal-before") ? at + 1 : at;
  const word = numbered(text, start, "o");
  if (word !== null) return word <= max ? { value: word, next: start + 1 } : null;
  const lexeme = text.lexemes[start];
  const isUnspaced = !text.lexicon.isSpaced;
  const value = lexeme?.digits ?? (isUnspaced ? numberAt(text, start) : null);
  if (lexeme === undefined || value === null || value < 1 || value > max) return null;
  if (isUnspaced) return start > at || has(text, start + 1, "quarter") ? { value, next: start + 1 } : null;
  const ending = /^(?:\.|st|nd|rd|th|er|ere|e|eme|º|ª|o|a|-\p{Script=Cyrillic}{1,2})(?!\p{L})/u.exec(
    text.text.slice(lexeme.end, lexeme.end + 5),
  )?.[0];
  if (ending === undefined) return null;
  return { value, next: start + (ending.startsWith("-") ? 2 : 1) };
}

// "Q1", "the first quarter", "erstes Halbjahr", "下半年", "the second half of 2025", "primera mitad de mayo"
function partAt(text: TimeText, at: number): YearlyPeriod | null {
  const quarter = isNumberedPart(text, at, "quarter");
  if (quarter !== null) return { in: (year) => partOfYear(year, quarter, 4), next: at + 1 };
  const half = isNumberedPart(text, at, "half-year");
  if (half !== null) return { in: (year) => partOfYear(year, half, 2), next: at + 1 };
  const ordinal = ordinalAt(text, at, 4);
  if (ordinal === null) return null;
  const { value } = ordinal;
  const subject = skip(text, ordinal.next);
  if (has(text, subject, "quarter") && !has(text, subject + 1, "ago-after")) {
    return { in: (year) => partOfYear(year, value, 4), next: subject + 1 };
  }
  if (value > 2) return null;
  if (has(text, subject, "half-year") && !has(text, subject + 1, "ago-after")) {
    return { in: (year) => partOfYear(year, value, 2), next: subject + 1 };
  }
  // "the second half" needs a year, or it may be that of a match.
  const isHalf = has(text, subject, "half") || has(text, subject, "half-of");
  return isHalf && yearBehind(text, subject + 1) !== null
    ? { in: (year) => partOfYear(year, value, 2), next: subject + 1 }
    : null;
}

function isNumberedPart(text: TimeText, at: number, unit: CalendarUnit): number | null {
  const value = numbered(text, at, unit);
  return value !== null && value >= 1 && value <= 4 ? value : null;
}

// "week 47", "KW 47", "47. Woche", "第47周", "47주차"
function weekNumberAt(text: TimeText, at: number): YearlyPeriod | null {
  const isNamed = has(text, at, "week-number");
  const number = isNamed || isSingularWeek(text, at) ? (text.lexemes[at + 1]?.digits ?? null) : null;
  if (number !== null && !hasAny(text, at + 2, ["day", "month", "year", "every-after"])) {
    return weekPeriod(number, at + 2);
  }
  const ordinal = ordinalAt(text, at, 53);
  if (ordinal !== null && isSingularWeek(text, ordinal.next)) return weekPeriod(ordinal.value, ordinal.next + 1);
  const digits = text.lexemes[at]?.digits ?? null;
  return digits !== null && has(text, at + 1, "week-number-after") ? weekPeriod(digits, at + 2) : null;
}

function isSingularWeek(text: TimeText, at: number): boolean {
  return has(text, at, "week") && !has(text, at, "plural") && !has(text, at + 1, "ago-after");
}

function weekPeriod(week: number, next: number): YearlyPeriod | null {
  return week >= 1 && week <= 53 ? { in: (year) => weekOf(year, week), next } : null;
}

function feastAt(text: TimeText, at: number): YearlyPeriod | null {
  if (recurs(text, at)) return null;
  for (const meaning of text.lexemes[at]?.meanings ?? []) {
    if (meaning.startsWith("feast ")) {
      const rule = meaning.slice("feast ".length);
      return { in: (year) => feastIn(year, rule), next: at + 1 };
    }
  }
  return null;
}

/** Prepositions that make a feast an attribute without an article: "sapin de Noël", "albero di Natale". */
const ATTRIBUTIVE: ReadonlySet<string> = new Set(["de", "di", "d"]);

// Without a year, "the Christmas party", "sapin de Noël" and クリスマスケーキ name no time.
function isNamedAlone(text: TimeText, at: number, next: number): boolean {
  const own = text.lexemes[at];
  const before = text.lexemes[at - 1];
  const after = text.lexemes[next];
  if (own === undefined) return false;
  if (isWeak(text, at) && !isLed(text, at, ["on", "since", "before", "after", "until"])) return false;
  const { language, isSpaced } = text.lexicon;
  if (!isSpaced)
    return !(
      /[\p{Script=Katakana}ー]$/u.test(own.text) && /^[\p{Script=Katakana}\p{Script=Han}]/u.test(after?.text ?? "")
    );
  if (before !== undefined && ATTRIBUTIVE.has(before.text)) return false;
  if (language !== "en" && language !== "nl") return true;
  // Feasts of several words, such as "New Year's Eve", have their noun with them.
  if (own.text.includes(" ")) return true;
  if (before !== undefined && has(text, at - 1, "skip") && !has(text, at - 1, "of")) return false;
  const isJoined = after !== undefined && /^\s$/.test(text.text.slice(own.end, after.start));
  return !isJoined || after.meanings.size > 0 || stopWordsOf(language).has(after.text);
}

// "the 1990s", "in den 90ern", "les années 90", "1990年代", "the nineties"
/** A decade by its digits or its name; null if there is none at `at`. */
export function readDecade(text: TimeText, at: number): TimePhrase | null {
  const named = numbered(text, at, "decade");
  if (named !== null) {
    const before = text.lexemes[at - 1]?.text;
    const isDecade = !isWeak(text, at) || (before !== undefined && has(text, at - 1, "decade-lead"));
    return isDecade ? found(decadeOf(named), at + 1, "absolute") : null;
  }
  const isBefore = has(text, at, "decade-before");
  const first = isBefore ? at + 1 : at;
  const inWords = isBefore ? numbered(text, first, "tens") : null;
  if (inWords !== null) return found(decadeOf(1900 + inWords), first + 1, "absolute");
  const digits = text.lexemes[first]?.digits ?? null;
  if (digits === null || digits % 10 !== 0) return null;
  const isAfter = !isBefore && endsDecade(text, first + 1);
  if (!isBefore && !isAfter) return null;
  const next = first + (isAfter ? 2 : 1);
  if (isYear(digits)) return found(decadeOf(digits), next, "absolute");
  // "a 90s timeout" is 90 seconds.
  const isMarked =
    isBefore || !text.lexicon.isSpaced || hasAny(text, at - 1, ["decade-lead", "start", "middle", "end"]);
  if (digits < 10 || digits > 90 || !isMarked) return null;
  const { year } = yearAndMonthOf(text.asOf);
  return found(decadeOf(digits + (2000 + digits <= year ? 2000 : 1900)), next, "absolute");
}

function decadeOf(year: number): ClosedSpan {
  return unitOf("decade", monthOf(year, 1).from + DAY_MS, 0);
}
