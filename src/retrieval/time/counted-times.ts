// Reads counted times of a query, such as "three months ago", "vor anderthalb Jahren", "two Fridays ago" and "a year
// ago today".

import { DAY_MS } from "../../kit/clock.ts";
import {
  type CalendarUnit,
  type ClosedSpan,
  dayOf,
  dayStart,
  monthsOf,
  type Season,
  seasonOf,
  unitOf,
  unitsBefore,
  weekdayOf,
  yearAndMonthOf,
} from "./calendar.ts";
import { found, has, numberAt, numbered, seasonAt, skip, type TimePhrase, type TimeText, unitAt } from "./time-text.ts";

/** Maximum number of units in "N units ago"; a larger number before a year is a calendar year. */
const UNITS_MAX = 120;
/** Mean length of a month, in days. */
const MONTH_DAYS = 30.44;
/** A time that is a fractional number of months ago is the week around that day: this many days before and after it. */
const FRACTION_DAYS = 3;

/** A counted time: how many units before the day of the query, or after it if `units` is negative. */
export interface CountedTime {
  readonly units: number;
  readonly unit: CalendarUnit;
  /** Whether it is one day: "exactly a year ago", "a year ago today". */
  readonly isExact: boolean;
  /** Number of days after that day: -1 for "a year ago yesterday". */
  readonly days: number;
  readonly next: number;
}

/**
 * "three months ago", "vor drei Monaten", "a year ago today", "dans deux jours"; null if no such time begins at `at`.
 */
export function countedTimeAt(text: TimeText, at: number): CountedTime | null {
  const isAgo = has(text, at, "ago-before");
  const isAhead = has(text, at, "ahead-before");
  const lead = isAgo || isAhead ? skip(text, at + 1) : at;
  const first = has(text, lead, "exactly") ? lead + 1 : lead;
  const amount = amountAt(text, first, isAgo);
  if (amount === null) return null;
  const isAgoBehind = !isAgo && has(text, amount.next, "ago-after");
  const isAheadBehind = !isAgo && !isAgoBehind && !isAhead && has(text, amount.next, "ahead-after");
  if (!isAgo && !isAgoBehind && !isAhead && !isAheadBehind) return null;
  let next = amount.next + (isAgoBehind || isAheadBehind ? 1 : 0);
  const isExactly = first > lead || has(text, at - 1, "exactly");
  const isExactlyBehind = has(text, next, "exactly-after");
  if (isExactlyBehind) next += 1;
  const day = skip(text, next);
  const days = isAgo || isAgoBehind ? numbered(text, day, "day") : null;
  if (days !== null) next = day + 1;
  const isPast = isAgo || isAgoBehind;
  return {
    units: isPast ? amount.count : -amount.count,
    unit: amount.unit,
    isExact: isExactly || isExactlyBehind || days !== null,
    days: days ?? 0,
    next,
  };
}

/** The span of a counted time. */
export function spanOfCounted({ units, unit, isExact, days }: CountedTime, asOf: number): ClosedSpan {
  if (!Number.isInteger(units)) return fractionOf(unit, asOf, units);
  return isExact ? dayOf(unitsBefore(unit, asOf, units), days) : wholeUnit(unit, asOf, units);
}

// "a decade ago" is a year.
function wholeUnit(unit: CalendarUnit, asOf: number, units: number): ClosedSpan {
  return unit === "decade" ? unitOf("year", asOf, -10 * units) : unitOf(unit, asOf, -units);
}

// "1.5 years ago" is a month, "a month and a half ago" the week around that day, "1.5 weeks ago" two days.
function fractionOf(unit: CalendarUnit, asOf: number, units: number): ClosedSpan {
  const months = units * (monthsOf(unit) ?? 0);
  if (Math.abs(months) >= 2) return wholeUnit("month", asOf, Math.round(months));
  if (months !== 0) {
    const day = dayStart(asOf, -Math.round(months * MONTH_DAYS));
    return { from: dayStart(day, -FRACTION_DAYS), to: dayStart(day, FRACTION_DAYS + 1) };
  }
  const days = units * (unit === "week" ? 7 : 1);
  return { from: dayStart(asOf, -Math.ceil(days)), to: dayStart(asOf, 1 - Math.floor(days)) };
}

/** "the last two weeks", "les trois derniers mois", "los tres meses pasados", "the past half year". */
export function readLastUnits(text: TimeText, at: number): TimePhrase | null {
  const isLast = has(text, at, "last");
  const first = isLast ? skip(text, at + 1) : at;
  const amount = amountAt(text, first, isLast && has(text, first, "half"));
  if (amount === null) return isLast && has(text, first, "decade") ? lastUnits(text, 1, "decade", first + 1) : null;
  const { count, unit, next, hasLast } = amount;
  if (isLast || hasLast) return lastUnits(text, count, unit, next);
  return has(text, next, "last") && count > 1 ? lastUnits(text, count, unit, next + 1) : null;
}

function lastUnits({ asOf }: TimeText, count: number, unit: CalendarUnit, next: number): TimePhrase {
  const months = monthsOf(unit);
  const days = months === null ? Math.ceil(count * (unit === "week" ? 7 : 1)) : Math.round(count * months * MONTH_DAYS);
  const isWhole = months !== null && Number.isInteger(count * months);
  const from = isWhole ? unitsBefore("month", asOf, count * months) : dayStart(asOf, -days);
  return found({ from, to: dayStart(asOf, 1) }, next);
}

/** A number of units, and the lexeme after it. */
interface Amount {
  readonly count: number;
  readonly unit: CalendarUnit;
  readonly next: number;
  /** Whether "last" stands between number and unit: "les trois derniers mois". */
  readonly hasLast: boolean;
}

/**
 * A number of units: "two weeks", "half a year", "1.5 years", "un an et demi", "polgoda".
 * @param isLed whether a word before says that a time follows, so that the number may be missing: "hace año y medio"
 */
function amountAt(text: TimeText, at: number, isLed: boolean): Amount | null {
  const single = singleWordAmount(text, at);
  if (single !== null) return single;
  const number = countAt(text, at);
  if (number === null) {
    return amountWithoutNumber(text, at, isLed);
  }
  // Words such as 年 and года are both a unit and a filler after a calendar year.
  let subject = unitAt(text, number.next) === null ? skip(text, number.next) : number.next;
  const hasLast = has(text, subject, "last");
  if (hasLast) subject = skip(text, subject + 1);
  const unit = unitAt(text, subject);
  if (unit === null || number.count <= 0 || number.count > UNITS_MAX) return null;
  const half = Number.isInteger(number.count) ? halfBehind(text, subject + 1) : null;
  return { count: number.count + (half === null ? 0 : 0.5), unit, next: half ?? subject + 1, hasLast };
}

// "hace año y medio", "неделю назад"
function amountWithoutNumber(text: TimeText, at: number, isLed: boolean): Amount | null {
  const unit = text.lexicon.isSpaced ? unitAt(text, at) : null;
  if (unit === null) return null;
  const half = isLed ? halfBehind(text, at + 1) : null;
  if (half !== null) return { count: 1.5, unit, next: half, hasLast: false };
  return has(text, at + 1, "ago-after") ? { count: 1, unit, next: at + 1, hasLast: false } : null;
}

// Words that have number and unit in one, such as полгода.
function singleWordAmount(text: TimeText, at: number): Amount | null {
  const years = numbered(text, at, "years");
  return years === null ? null : { count: years, unit: "year", next: at + 1, hasLast: false };
}

function countAt(text: TimeText, at: number): { readonly count: number; readonly next: number } | null {
  if (has(text, at, "half")) {
    const isNumbered = text.lexicon.isSpaced && numberAt(text, at + 1) === 1;
    return { count: 0.5, next: at + (isNumbered ? 2 : 1) };
  }
  const whole = numberAt(text, at);
  // 哪一年之后 asks for a year.
  if (whole === null || has(text, at - 1, "which")) return null;
  const decimal = decimalBehind(text, at);
  if (decimal !== null) return { count: whole + decimal.share, next: decimal.next };
  // "ein halbes Jahr" is half a year, but "两个半月" and "one and a half months" are more than the number.
  if (has(text, at + 1, "half")) return { count: text.lexicon.isSpaced ? 0.5 : whole + 0.5, next: at + 2 };
  if (!text.lexicon.isSpaced && unitAt(text, at + 1) === null && has(text, skip(text, at + 1), "half")) {
    return { count: whole + 0.5, next: skip(text, at + 1) + 1 };
  }
  const half = halfBehind(text, at + 1);
  return half === null ? { count: whole, next: at + 1 } : { count: whole + 0.5, next: half };
}

/** The lexeme behind "and a half", "et demi" or 半; null if there is no half at `at`. */
function halfBehind(text: TimeText, at: number): number | null {
  if (has(text, at, "and-half")) return at + 1;
  if (!text.lexicon.isSpaced) return has(text, at, "half") ? at + 1 : null;
  if (!has(text, at, "and")) return null;
  const half = at + (numberAt(text, at + 1) === 1 ? 2 : 1);
  return has(text, half, "half") ? half + 1 : null;
}

// "1.5" and "1,5": the digits follow directly, and nothing else of the number does.
function decimalBehind(text: TimeText, at: number): { readonly share: number; readonly next: number } | null {
  const own = text.lexemes[at];
  const next = text.lexemes[at + 1]?.text === "," ? at + 2 : at + 1;
  const digits = text.lexemes[next];
  if (own?.digits == null || digits?.digits == null) return null;
  if (!/^[.,]$/.test(text.text.slice(own.end, digits.start)) || digits.text.length > 2) return null;
  return { share: digits.digits / 10 ** digits.text.length, next: next + 1 };
}

/** Reads a counted day or season, such as "two Fridays ago", "vor zwei Wochenenden" and "il y a deux étés". */
export function readCountedNames(text: TimeText, at: number): TimePhrase | null {
  const isAgo = has(text, at, "ago-before");
  const first = isAgo ? skip(text, at + 1) : at;
  const count = numberAt(text, first);
  if (count === null || !Number.isInteger(count) || count < 1 || count > UNITS_MAX) return null;
  const subject = skip(text, first + 1);
  if (!isAgo && !has(text, subject + 1, "ago-after")) return null;
  const span = nameAgo(text, subject, count);
  return span === null ? null : found(span, subject + (isAgo ? 1 : 2));
}

function nameAgo(text: TimeText, at: number, count: number): ClosedSpan | null {
  const { asOf } = text;
  if (has(text, at, "weekend")) return weekendOf(asOf, -count);
  const weekday = numbered(text, at, "weekday");
  if (weekday !== null) return weekdayBefore(asOf, weekday, count);
  const season = seasonAt(text, at);
  return season === null ? null : seasonBefore(asOf, season, count);
}

/** The weekend of a week that is counted from the week of `time`. */
export function weekendOf(time: number, weeks: number): ClosedSpan {
  const from = unitOf("week", time, weeks).from + 5 * DAY_MS;
  return { from, to: from + 2 * DAY_MS };
}

/** The `count`th last day with this weekday before the day of `time`; 1 is the latest. */
export function weekdayBefore(time: number, weekday: number, count: number): ClosedSpan {
  const days = weekday - weekdayOf(time);
  return dayOf(time, (days >= 0 ? days - 7 : days) - 7 * (count - 1));
}

/** The `count`th last season that is over at `time`; 1 is the latest. */
export function seasonBefore(time: number, season: Season, count: number): ClosedSpan {
  const { year } = yearAndMonthOf(time);
  const isOver = seasonOf(season, year).to <= time;
  return seasonOf(season, year - (isOver ? 0 : seasonOf(season, year - 1).to <= time ? 1 : 2) - (count - 1));
}
