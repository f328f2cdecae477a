// Reads one time phrase of a query, such as "last week", "three months ago" or "14 March 2023", from its lexemes.
// One grammar serves all languages: words have the same meanings, and modifiers may come before or after.

import { DAY_MS } from "../../kit/clock.ts";
import { stopWordsOf } from "../../words/stop-words.ts";
import {
  type CalendarUnit,
  type ClosedSpan,
  dateOf,
  dayOf,
  dayStart,
  monthOf,
  seasonOf,
  thirdOf,
  unitOf,
  unitsBefore,
  weekdayOf,
  yearAndMonthOf,
  yearOf,
} from "./calendar.ts";
import {
  countedTimeAt,
  readCountedNames,
  readLastUnits,
  seasonBefore,
  spanOfCounted,
  weekdayBefore,
  weekendOf,
} from "./counted-times.ts";
import type { TimeLanguage } from "./lexicon.ts";
import { readDecade, readYearlyPeriod } from "./named-periods.ts";
import { hasPastForm } from "./tense.ts";
import {
  type Direction,
  found,
  has,
  hasAny,
  isLed,
  isOffset,
  isWeak,
  MONTH_LEADS,
  modifierAt,
  modifierBehind,
  numberAt,
  numbered,
  recurs,
  relativeYearAt,
  seasonAt,
  skip,
  type TimePhrase,
  type TimeText,
  unitAt,
  yearAt,
} from "./time-text.ts";

/** Number of days that "recently" reaches back. */
const RECENT_DAYS = 30;
const SATURDAY = 6;
/** Numbers outside of these bounds are not read as years unless a word says so: in queries they are mostly amounts. */
const BARE_YEAR_MIN = 1900;
const BARE_YEAR_MAX = 2099;

const WEEKDAY_LEADS = ["in", "on", "since", "before", "after", "until"];
/** Number of years, including the present one, in which each day occurs: 29 February may be eight years ago. */
const LEAP_YEARS_MAX = 9;
const PARTS = ["start", "middle", "end"] as const;

/** Reads the time phrase that begins at the lexeme `at`; null if there is none. */
export function readTimePhrase(text: TimeText, at: number): TimePhrase | null {
  return (
    readDate(text, at) ??
    readPart(text, at) ??
    readYearlyPeriod(text, at) ??
    readDecade(text, at) ??
    readFixed(text, at) ??
    readCount(text, at) ??
    readModified(text, at) ??
    readCalendarDay(text, at) ??
    readSeason(text, at) ??
    readYear(text, at) ??
    readWeekday(text, at) ??
    readWeekend(text, at) ??
    readRecently(text, at)
  );
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
    readDecade(text, start) ??
    readYearlyPeriod(text, start) ??
    readCalendarDay(text, start) ??
    readYear(text, start, true) ??
    readFixed(text, start) ??
    readModified(text, start);
  return whole === null ? null : { ...whole, span: thirdOf(whole.span, part as 0 | 1 | 2), isYearOnly: false };
}

// "yesterday", "上周五", "去年夏天", "last year in May" (the modifier and the unit in one phrase)
function readFixed(text: TimeText, at: number): TimePhrase | null {
  const { asOf } = text;
  const days = numbered(text, at, "day");
  if (days !== null) {
    const isMorning = isWeak(text, at) && (hasAny(text, at - 1, ["in", "on", "skip"]) || has(text, at - 1, "day"));
    if (isMorning) return null;
    // "heute vor einem Jahr"
    const counted = countedTimeAt(text, skip(text, at + 1));
    if (counted !== null && counted.units > 0) {
      return found(spanOfCounted({ ...counted, isExact: true, days }, asOf), counted.next);
    }
    return found(dayOf(asOf, days), at + 1);
  }
  for (const unit of ["week", "month", "quarter", "year"] as const) {
    const units = numbered(text, at, unit);
    if (units === null || !isOffset(text, at, unit)) continue;
    return refined(text, unit, unitOf(unit, asOf, units), at + 1);
  }
  return null;
}

// A weekday of a week, a day of a month, a month, season or feast of a year: "Friday of last week", "去年5月".
function refined(text: TimeText, unit: CalendarUnit, span: ClosedSpan, next: number): TimePhrase {
  const start = has(text, next, "in") ? next : skip(text, next);
  const then = skip(text, has(text, start, "in") ? start + 1 : start);
  if (unit === "month" || unit === "year") {
    // 去年的今天
    const days = isWeak(text, then) ? null : numbered(text, then, "day");
    const units = monthsBetween(span.from, text.asOf) / (unit === "year" ? 12 : 1);
    if (days !== null && has(text, then, "day+0")) return found(dayOf(unitsBefore(unit, text.asOf, units)), then + 1);
  }
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

function monthsBetween(from: number, to: number): number {
  const [first, last] = [yearAndMonthOf(from), yearAndMonthOf(to)];
  // A year begins in January, so only whole years count for it.
  return (last.year - first.year) * 12 + (first.month === 1 ? 0 : last.month - first.month);
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

// "three months ago", "two Fridays ago", "the last two weeks", "vor zwei Jahren im Mai"
function readCount(text: TimeText, at: number): TimePhrase | null {
  const counted = countedTimeAt(text, at);
  if (counted === null) return readCountedNames(text, at) ?? readLastUnits(text, at);
  const { unit, units, isExact, next } = counted;
  const span = spanOfCounted(counted, text.asOf);
  const isWhole = Number.isInteger(units) && !isExact && (unit === "week" || unit === "year");
  return isWhole ? refined(text, unit, span, next) : found(span, next);
}

// "last week", "la semaine dernière", "next Friday", "last May", "this summer"
function readModified(text: TimeText, at: number): TimePhrase | null {
  const before = modifierAt(text, at);
  if (before !== null) {
    const modified = moved(text, skip(text, before.next), before.direction);
    if (modified !== null) return modified;
  }
  const behind = modifierBehind(text, at + 1);
  const isOfWeek = numbered(text, at, "weekday") !== null && has(text, at + 2, "week");
  if (behind === null || isOfWeek) return null;
  const modified = moved(text, at, behind.direction);
  return modified === null ? null : { ...modified, next: Math.max(modified.next, behind.next) };
}

function moved(text: TimeText, at: number, direction: Direction): TimePhrase | null {
  const { asOf } = text;
  const { year, month: thisMonth } = yearAndMonthOf(asOf);
  if (has(text, at, "weekend")) return found(weekendOf(asOf, direction), at + 1);
  const unit = unitAt(text, at);
  if (unit !== null) {
    if (unit === "day" && direction === 0) return null; // "this day" names no day that can be told
    return refined(text, unit, unitOf(unit, asOf, direction), at + 1);
  }
  const weekday = numbered(text, at, "weekday");
  if (weekday !== null) {
    if (direction < 0) return found(weekdayBefore(asOf, weekday, -direction), at + 1);
    const days = weekday - weekdayOf(asOf);
    return found(dayOf(asOf, direction === 0 ? days : days + (days <= 0 ? 7 : 0) + 7 * (direction - 1)), at + 1);
  }
  const month = monthAt(text, at);
  if (month !== null) {
    const { month: named, next } = month;
    const isThisYear = direction < 0 ? named < thisMonth : named > thisMonth;
    const years = direction === 0 || !isThisYear ? direction : direction - Math.sign(direction);
    return found(monthOf(year + years, named), next);
  }
  const season = seasonAt(text, at);
  if (season === null) return null;
  if (direction < 0) return found(seasonBefore(asOf, season, -direction), at + 1);
  const seasons = [-1, 0, 1, 2].map((offset) => seasonOf(season, year + offset));
  const wanted =
    direction === 0 ? seasons.find(({ to }) => to > asOf) : seasons.filter(({ from }) => from > asOf)[direction - 1];
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
  const relative = relativeYearAt(text, lastYear) ?? null;
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

// "summer 2022", "in summer"
function readSeason(text: TimeText, at: number): TimePhrase | null {
  const season = seasonAt(text, at);
  if (season === null || recurs(text, at)) return null;
  const year = yearAt(text, at + 1);
  if (year !== null) return found(seasonOf(season, year.year), year.next, "absolute");
  const relative = relativeYearAt(text, skip(text, at + 1));
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
  if (weekday === null || recurs(text, at) || (isWeak(text, at) && !isLed(text, at))) return null;
  // "Friday last week"
  const relative = skip(text, at + 1);
  const week = isOffset(text, relative, "week") ? numbered(text, relative, "week") : null;
  if (week !== null) return found(dayOf(unitOf("week", text.asOf, week).from, weekday - 1), relative + 1);
  const modifier = modifierAt(text, relative);
  const subject = modifier === null ? relative : skip(text, modifier.next);
  if (modifier !== null && has(text, subject, "week")) {
    return found(dayOf(unitOf("week", text.asOf, modifier.direction).from, weekday - 1), subject + 1);
  }
  // "Freitag vor zwei Wochen"
  const counted = countedTimeAt(text, relative);
  if (counted !== null && counted.unit === "week" && Number.isInteger(counted.units)) {
    return found(dayOf(unitOf("week", text.asOf, -counted.units).from, weekday - 1), counted.next);
  }
  // "le lundi" is every Monday, "lundi" the last one.
  if (has(text, at - 1, "habit-before")) return null;
  const isOneDay = has(text, at, "bare-weekday") || isLed(text, at, WEEKDAY_LEADS);
  if (text.lexicon.isSpaced && !isOneDay) return null;
  return found(weekdayBefore(text.asOf, weekday, 1), at + 1);
}

// "at the weekend" in a question in the past tense: the latest one, also while it lasts
function readWeekend(text: TimeText, at: number): TimePhrase | null {
  if (!has(text, at, "weekend") || recurs(text, at) || !isPast(text) || isAttribute(text, at)) return null;
  return found(weekendOf(text.asOf, weekdayOf(text.asOf) < SATURDAY ? -1 : 0), at + 1);
}

/** Verb forms of questions about what happened, in addition to words of the past and the forms in `hasPastForm`. */
const TOLD: Readonly<Partial<Record<TimeLanguage, RegExp>>> = {
  nl: /(?<!\p{L})(?:heb|hebt|heeft|hebben|ben|bent|is|zijn)(?!\p{L}).*(?<!\p{L})\p{L}{0,5}ge\p{L}{2,}(?:d|t|en|an)(?!\p{L})/u,
  fr: /(?<!\p{L})(?:ai|as|a|avons|avez|ont)(?!\p{L}) (?:\p{L}+ )?\p{L}{2,}(?:é|e|i|u|it|is)(?!\p{L})/u,
  it: /(?<!\p{L})(?:ho|hai|ha|abbiamo|avete|hanno|siamo|sono) (?:\p{L}+ )?\p{L}{2,}(?:at|it|ut|tt|st)[oaie](?!\p{L})/u,
  ja: /(?:た|だった)(?:の|か|です)*[?？。]*$/u,
  zh: /[了过過]/u,
};

/** Whether a question is about what happened. */
function isPast({ text, lexemes, lexicon: { language } }: TimeText): boolean {
  if (lexemes.some(({ meanings }) => meanings.has("past")) || hasPastForm(text, language)) return true;
  return TOLD[language]?.test(text) === true;
}

/**
 * Whether the time is only an attribute of the next word, as in "the weekend rate". Languages that join such words need
 * no check.
 */
function isAttribute({ text, lexemes, lexicon }: TimeText, at: number): boolean {
  const [own, after] = [lexemes[at], lexemes[at + 1]];
  if (lexicon.language !== "en" || own === undefined || after === undefined) return false;
  const isJoined = /^\s$/.test(text.slice(own.end, after.start));
  return isJoined && after.meanings.size === 0 && !stopWordsOf("en").has(after.text);
}

function readRecently(text: TimeText, at: number): TimePhrase | null {
  if (!has(text, at, "recently")) return null;
  return found({ from: dayStart(text.asOf, -RECENT_DAYS), to: dayStart(text.asOf, 1) }, at + 1);
}
