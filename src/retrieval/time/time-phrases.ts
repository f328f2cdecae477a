// Reads one time phrase of a query, such as "last week", "three months ago" or "14 March 2023", from its lexemes.
// One grammar serves all languages: words have the same meanings, and modifiers may come before or after.

import {
  type CalendarUnit,
  type ClosedSpan,
  DAY_MS,
  dateOf,
  dayOf,
  dayStart,
  monthOf,
  SEASONS,
  type Season,
  seasonOf,
  thirdOf,
  unitOf,
  unitsBefore,
  weekdayOf,
  yearAndMonthOf,
  yearOf,
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
  readonly next: number;
}

/** What the grammar reads: lexemes, dates in digits, and the time of the query. */
export interface TimeText {
  readonly lexemes: readonly Lexeme[];
  readonly dates: readonly FoundDate[];
  readonly lexicon: Lexicon;
  readonly asOf: number;
}

const UNITS: readonly CalendarUnit[] = ["day", "week", "month", "year"];
/** Number of days that "recently" reaches back. */
const RECENT_DAYS = 30;
/** Years before this are not read as years unless a word says so: in queries they are mostly amounts. */
const BARE_YEAR_MIN = 1900;
const BARE_YEAR_MAX = 2099;
/** Maximum number of units in "N units ago"; a larger number before a year is a calendar year. */
const UNITS_MAX = 120;

/** Meanings that lead a phrase, so that an ambiguous word after them is a time. */
const LEADS = ["in", "on", "since", "before", "after", "until", "between", "from", "to", "of", "last", "this", "next"];
/** An article is no lead of a month: "el mar" is the sea. */
const MONTH_LEADS = LEADS.filter((meaning) => meaning !== "on");
const WEEKDAY_LEADS = ["in", "on", "since", "before", "after", "until"];
/** Maximum number of years between two days 29 February, which is also enough for any other day. */
const LEAP_YEARS_MAX = 9;
const PARTS = ["start", "middle", "end"] as const;

/** Reads the time phrase that begins at the lexeme `at`; null if there is none. */
export function readTimePhrase(text: TimeText, at: number): TimePhrase | null {
  return (
    readDate(text, at) ??
    readPart(text, at) ??
    readFixed(text, at) ??
    readCount(text, at) ??
    readModified(text, at) ??
    readCalendarDay(text, at) ??
    readSeason(text, at) ??
    readYear(text, at) ??
    readWeekday(text, at) ??
    readRecently(text, at)
  );
}

function has({ lexemes }: TimeText, at: number, meaning: string): boolean {
  return lexemes[at]?.meanings.has(meaning) === true;
}

function hasAny(text: TimeText, at: number, meanings: readonly string[]): boolean {
  return meanings.some((meaning) => has(text, at, meaning));
}

/** Whether a lexeme is a time only next to other words for time, because it has another meaning. */
function isWeak(text: TimeText, at: number): boolean {
  return has(text, at, "weak");
}

/** The number after a prefix in the meanings of a lexeme, such as 5 in `month5`; null if it has none. */
function numbered({ lexemes }: TimeText, at: number, prefix: string): number | null {
  for (const meaning of lexemes[at]?.meanings ?? []) {
    if (meaning.startsWith(prefix)) {
      const digits = meaning.slice(prefix.length);
      if (/^[+-]?\d+$/.test(digits)) return Number(digits);
    }
  }
  return null;
}

/** Whether the phrase at `at` follows a word with one of these meanings, apart from articles. */
function isLed(text: TimeText, at: number, meanings: readonly string[] = LEADS): boolean {
  let before = at - 1;
  while (before > 0 && !hasAny(text, before, meanings) && has(text, before, "skip")) before -= 1;
  return hasAny(text, before, meanings);
}

/** The first lexeme from `at` on that is not an article or the like. */
function skip(text: TimeText, at: number): number {
  let next = at;
  while (has(text, next, "skip") || has(text, next, "of")) next += 1;
  return next;
}

/** A number in digits or as a word. */
function numberAt(text: TimeText, at: number): number | null {
  return text.lexemes[at]?.digits ?? numbered(text, at, "n");
}

function unitAt(text: TimeText, at: number): CalendarUnit | null {
  return UNITS.find((unit) => has(text, at, unit)) ?? null;
}

function seasonAt(text: TimeText, at: number): Season | null {
  return SEASONS.find((season) => has(text, at, season)) ?? null;
}

function found(span: ClosedSpan, next: number, form: TimeForm = "relative", isYearOnly = false): TimePhrase {
  return { span, form, isYearOnly, next };
}

function readDate(text: TimeText, at: number): TimePhrase | null {
  const lexeme = text.lexemes[at];
  const date = text.dates.find(({ start, end }) => lexeme !== undefined && start <= lexeme.start && lexeme.start < end);
  if (date === undefined || lexeme === undefined) return null;
  let next = at;
  while ((text.lexemes[next]?.start ?? Number.POSITIVE_INFINITY) < date.end) next += 1;
  return found(date.span, next, "absolute");
}

// "early 2023", "end of May", "2023年初"
function readPart(text: TimeText, at: number): TimePhrase | null {
  const part = PARTS.findIndex((each) => has(text, at, each));
  if (part === -1) return null;
  const start = skip(text, at + 1);
  const whole =
    readCalendarDay(text, start) ?? readYear(text, start, true) ?? readFixed(text, start) ?? readModified(text, start);
  return whole === null ? null : { ...whole, span: thirdOf(whole.span, part as 0 | 1 | 2), isYearOnly: false };
}

// "yesterday", "上周五", "去年夏天", "last year in May" (the modifier and the unit in one phrase)
function readFixed(text: TimeText, at: number): TimePhrase | null {
  const { asOf } = text;
  const days = numbered(text, at, "day");
  if (days !== null) {
    const isMorning = isWeak(text, at) && (hasAny(text, at - 1, ["in", "on", "skip"]) || has(text, at - 1, "day"));
    return isMorning ? null : found(dayOf(asOf, days), at + 1);
  }
  for (const unit of ["week", "month", "year"] as const) {
    const units = numbered(text, at, unit === "month" ? "month" : unit);
    if (units === null || !isOffset(text, at, unit)) continue;
    return refined(text, unit, unitOf(unit, asOf, units), at + 1);
  }
  return null;
}

// Offsets are written with a sign (`month-1`, `week+0`), months of the year without (`month5`).
function isOffset({ lexemes }: TimeText, at: number, unit: string): boolean {
  return [...(lexemes[at]?.meanings ?? [])].some(
    (meaning) => /^[+-]\d+$/.test(meaning.slice(unit.length)) && meaning.startsWith(unit),
  );
}

// A weekday of a week, a day of a month, a month or season of a year: "Friday of last week", "去年5月".
function refined(text: TimeText, unit: CalendarUnit, span: ClosedSpan, next: number): TimePhrase {
  const then = skip(text, hasAny(text, next, ["in"]) ? next + 1 : next);
  if (unit === "week") {
    const weekday = numbered(text, then, "weekday") ?? (text.lexicon.isSpaced ? null : numbered(text, then, "n"));
    if (weekday !== null && weekday <= 7) return found(dayOf(span.from, weekday - 1), then + 1);
  }
  if (unit === "month") {
    const day = numberAt(text, then);
    if (day !== null && has(text, then + 1, "day") && span.from + (day - 1) * DAY_MS < span.to) {
      return found(dayOf(span.from, day - 1), then + 2);
    }
  }
  if (unit === "year") {
    const { year } = yearAndMonthOf(span.from);
    const season = seasonAt(text, then);
    if (season !== null) return found(seasonOf(season, year), then + 1);
    const month = monthAt(text, then);
    if (month !== null) {
      const after = month.next;
      const day = text.lexicon.isSpaced ? null : numberAt(text, after);
      const date = day !== null && has(text, after + 1, "day") ? dateOf(year, month.month, day) : null;
      return date === null ? found(monthOf(year, month.month), after) : found(date, after + 2);
    }
  }
  return found(span, next);
}

/** A month by its name, or in Chinese, Japanese and Korean by its number ("5月", but not in "5か月前"). */
function monthAt(text: TimeText, at: number): { readonly month: number; readonly next: number } | null {
  const named = numbered(text, at, "month");
  if (named !== null && named >= 1 && named <= 12 && !isOffset(text, at, "month"))
    return { month: named, next: at + 1 };
  if (text.lexicon.isSpaced) return null;
  const month = numberAt(text, at);
  const isNumbered =
    month !== null && month >= 1 && month <= 12 && ["月", "월"].includes(text.lexemes[at + 1]?.text ?? "");
  return isNumbered && !has(text, at + 2, "ago-after") ? { month, next: at + 2 } : null;
}

// "three months ago", "vor drei Monaten", "the last two weeks", "dans deux jours"
function readCount(text: TimeText, at: number): TimePhrase | null {
  const { asOf } = text;
  const isAgo = has(text, at, "ago-before");
  const isAhead = has(text, at, "ahead-before");
  const isLast = has(text, at, "last");
  const first = isAgo || isAhead || isLast ? skip(text, at + 1) : at;
  const count = numberAt(text, first);
  if (count === null || count < 1) return null;
  let after = skip(text, first + 1);
  // "les trois derniers mois"
  const isLastBetween = has(text, after, "last");
  if (isLastBetween) after = skip(text, after + 1);
  const unit = unitAt(text, after);
  if (unit === null || count > UNITS_MAX) return null;
  if (isLast || isLastBetween) {
    const from = unitsBefore(unit, asOf, count);
    return found({ from, to: dayStart(asOf, 1) }, after + 1);
  }
  if (isAgo) return found(unitOf(unit, asOf, -count), after + 1);
  if (has(text, after + 1, "ago-after")) return found(unitOf(unit, asOf, -count), after + 2);
  if (isAhead || has(text, after + 1, "ahead-after")) {
    return found(unitOf(unit, asOf, count), after + (isAhead ? 1 : 2));
  }
  // "trois derniers mois" with the adjective behind: "los tres meses pasados"
  if (has(text, after + 1, "last") && count > 1) {
    return found({ from: unitsBefore(unit, asOf, count), to: dayStart(asOf, 1) }, after + 2);
  }
  return null;
}

// "last week", "la semaine dernière", "next Friday", "last May", "this summer"
function readModified(text: TimeText, at: number): TimePhrase | null {
  const before = modifierAt(text, at);
  if (before !== null) {
    const subject = skip(text, at + 1);
    const modified = moved(text, subject, before);
    if (modified !== null) return modified;
  }
  const behind = modifierAt(text, at + 1);
  const isOfWeek = numbered(text, at, "weekday") !== null && has(text, at + 2, "week");
  if (behind === null || isOfWeek) return null;
  const modified = moved(text, at, behind);
  return modified === null ? null : { ...modified, next: Math.max(modified.next, at + 2) };
}

function modifierAt(text: TimeText, at: number): -1 | 0 | 1 | null {
  if (has(text, at, "last")) return -1;
  if (has(text, at, "this")) return 0;
  return has(text, at, "next") ? 1 : null;
}

function moved(text: TimeText, at: number, direction: -1 | 0 | 1): TimePhrase | null {
  const { asOf } = text;
  const { year, month: thisMonth } = yearAndMonthOf(asOf);
  if (has(text, at, "weekend")) {
    const saturday = unitOf("week", asOf, direction).from + 5 * DAY_MS;
    return found({ from: saturday, to: saturday + 2 * DAY_MS }, at + 1);
  }
  const unit = unitAt(text, at);
  if (unit !== null) {
    if (unit === "day" && direction === 0) return null; // "this day" names no day that can be told
    return refined(text, unit, unitOf(unit, asOf, direction), at + 1);
  }
  const weekday = numbered(text, at, "weekday");
  if (weekday !== null) {
    const days = weekday - weekdayOf(asOf);
    const offset = direction === 0 ? days : direction === 1 ? days + (days <= 0 ? 7 : 0) : days - (days >= 0 ? 7 : 0);
    return found(dayOf(asOf, offset), at + 1);
  }
  const month = monthAt(text, at);
  if (month !== null) {
    const { month: named, next } = month;
    const isOver = direction === -1 ? named < thisMonth : direction === 1 ? named > thisMonth : true;
    return found(monthOf(year + (isOver ? 0 : direction), named), next);
  }
  const season = seasonAt(text, at);
  if (season === null) return null;
  const years = [-2, -1, 0, 1].map((offset) => seasonOf(season, year + offset));
  const wanted =
    direction === -1
      ? years.findLast(({ to }) => to <= asOf)
      : direction === 1
        ? years.find(({ from }) => from > asOf)
        : years.find(({ to }) => to > asOf);
  return wanted === undefined ? null : found(wanted, at + 1);
}

// "14 March 2023", "March 14th, 2023", "May 2023", "in May", "2023年5月14日"
function readCalendarDay(text: TimeText, at: number): TimePhrase | null {
  if (!text.lexicon.isSpaced) return readNumberedDay(text, at);
  const day = text.lexemes[at]?.digits ?? null;
  if (day !== null && day >= 1 && day <= 31) {
    const month = monthAt(text, skip(text, at + 1));
    if (month === null) return null;
    const year = yearAt(text, month.next);
    return calendarDay(text, { ...month, day, year });
  }
  const month = monthAt(text, at);
  if (month === null) return null;
  const following = text.lexemes[skip(text, month.next)]?.digits ?? null;
  if (following !== null && following >= 1 && following <= 31) {
    const next = skip(text, month.next) + 1;
    return calendarDay(text, { month: month.month, next, day: following, year: yearAt(text, next) });
  }
  const year = yearAt(text, month.next);
  if (year !== null) return found(monthOf(year.year, month.month), year.next, "absolute");
  const lastYear = skip(text, hasAny(text, month.next, ["in"]) ? month.next + 1 : month.next);
  const relative = readFixedYear(text, lastYear) ?? null;
  if (relative !== null) return found(monthOf(relative.year, month.month), relative.next);
  if (isWeak(text, at) && !isLed(text, at, MONTH_LEADS)) return null;
  return found(latestMonth(text.asOf, month.month), month.next, "absolute");
}

function calendarDay(
  { asOf }: TimeText,
  given: { month: number; day: number; next: number; year: { year: number; next: number } | null },
): TimePhrase | null {
  const { month, day, next, year } = given;
  if (year !== null) {
    const date = dateOf(year.year, month, day);
    return date === null ? null : found(date, year.next, "absolute");
  }
  const thisYear = yearAndMonthOf(asOf).year;
  const dates = Array.from({ length: LEAP_YEARS_MAX }, (_, before) => dateOf(thisYear - before, month, day));
  const date = dates.find((each) => each !== null && each.from <= asOf) ?? null;
  return date === null ? null : found(date, next, "absolute");
}

function readNumberedDay(text: TimeText, at: number): TimePhrase | null {
  const year = yearAt(text, at);
  const from = year === null ? at : skip(text, year.next);
  const month = monthAt(text, from);
  if (month === null) return null;
  const day = numberAt(text, month.next);
  if (day !== null && has(text, month.next + 1, "day")) {
    return calendarDay(text, {
      month: month.month,
      day,
      next: month.next + 2,
      year: year && { ...year, next: month.next + 2 },
    });
  }
  const span = year === null ? latestMonth(text.asOf, month.month) : monthOf(year.year, month.month);
  return found(span, month.next, "absolute");
}

function latestMonth(asOf: number, month: number): ClosedSpan {
  const { year, month: thisMonth } = yearAndMonthOf(asOf);
  return monthOf(month <= thisMonth ? year : year - 1, month);
}

/** A year in four digits, after articles and commas; in Chinese, Japanese and Korean with the word for year. */
function yearAt(text: TimeText, at: number): { readonly year: number; readonly next: number } | null {
  const start = skip(text, at);
  const year = text.lexemes[start]?.digits ?? null;
  if (year === null || !isYear(year) || isPartOfNumber(text, start)) return null;
  if (text.lexicon.isSpaced) return { year, next: start + 1 };
  return has(text, start + 1, "year") ? { year, next: start + 2 } : null;
}

/** Whether other digits follow or precede directly, as in a telephone number. */
function isPartOfNumber({ lexemes }: TimeText, at: number): boolean {
  const [before, own, after] = [lexemes[at - 1], lexemes[at], lexemes[at + 1]];
  const isJoined = (left: Lexeme | undefined, right: Lexeme | undefined) =>
    left?.digits != null && right?.digits != null && right.start - left.end <= 1 && left.text.length > 2;
  return isJoined(before, own) || isJoined(own, after);
}

function readFixedYear(text: TimeText, at: number): { readonly year: number; readonly next: number } | null {
  const fixed = isOffset(text, at, "year") ? numbered(text, at, "year") : null;
  const modifier = fixed === null ? (modifierAt(text, at) ?? null) : null;
  const { year } = yearAndMonthOf(text.asOf);
  if (fixed !== null) return { year: year + fixed, next: at + 1 };
  if (modifier !== null && has(text, skip(text, at + 1), "year"))
    return { year: year + modifier, next: skip(text, at + 1) + 1 };
  const behind = has(text, at, "year") ? modifierAt(text, at + 1) : null;
  return behind === null ? null : { year: year + behind, next: at + 2 };
}

// "summer 2022", "in summer"
function readSeason(text: TimeText, at: number): TimePhrase | null {
  const season = seasonAt(text, at);
  if (season === null) return null;
  const year = yearAt(text, at + 1);
  if (year !== null) return found(seasonOf(season, year.year), year.next, "absolute");
  const relative = readFixedYear(text, skip(text, at + 1));
  if (relative !== null) return found(seasonOf(season, relative.year), relative.next);
  if (text.lexicon.isSpaced && !isLed(text, at)) return null;
  const { year: thisYear } = yearAndMonthOf(text.asOf);
  const latest = [thisYear, thisYear - 1].map((each) => seasonOf(season, each)).find(({ from }) => from <= text.asOf);
  return latest === undefined ? null : found(latest, at + 1, "absolute");
}

// "2019", "2019年"
function readYear(text: TimeText, at: number, isPart = false): TimePhrase | null {
  const year = yearAt(text, at);
  if (year === null) return null;
  const isPlausible = year.year >= BARE_YEAR_MIN && year.year <= BARE_YEAR_MAX;
  const isMarked = isPart || isLed(text, at) || !text.lexicon.isSpaced;
  const isAtEdge = at === 0 || year.next >= text.lexemes.length;
  if (!isMarked && !(isPlausible && isAtEdge)) return null;
  if (!isPlausible && !isMarked) return null;
  const part = text.lexicon.isSpaced ? -1 : PARTS.findIndex((each) => has(text, year.next, each));
  if (part !== -1) return found(thirdOf(yearOf(year.year), part as 0 | 1 | 2), year.next + 1, "absolute");
  return found(yearOf(year.year), year.next, "absolute", true);
}

// "on Monday": the latest Monday before the day of the query
function readWeekday(text: TimeText, at: number): TimePhrase | null {
  const weekday = numbered(text, at, "weekday");
  if (weekday === null || (isWeak(text, at) && !isLed(text, at))) return null;
  // "Friday last week"
  const relative = skip(text, at + 1);
  const week = isOffset(text, relative, "week") ? numbered(text, relative, "week") : null;
  if (week !== null) return found(dayOf(unitOf("week", text.asOf, week).from, weekday - 1), relative + 1);
  const modifier = modifierAt(text, relative);
  if (modifier !== null && has(text, skip(text, relative + 1), "week")) {
    return found(dayOf(unitOf("week", text.asOf, modifier).from, weekday - 1), skip(text, relative + 1) + 1);
  }
  if (text.lexicon.isSpaced && !isLed(text, at, WEEKDAY_LEADS)) return null;
  const days = weekday - weekdayOf(text.asOf);
  return found(dayOf(text.asOf, days >= 0 ? days - 7 : days), at + 1);
}

function readRecently(text: TimeText, at: number): TimePhrase | null {
  if (!has(text, at, "recently")) return null;
  return found({ from: dayStart(text.asOf, -RECENT_DAYS), to: dayStart(text.asOf, 1) }, at + 1);
}
