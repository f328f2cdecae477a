// Days, weeks, months and years in UTC, as spans of time. Pure arithmetic; other files read words.

import { DAY_MS } from "../../kit/clock.ts";

/** A span of time in Unix milliseconds, end exclusive. An end that is null is open. */
export interface TimeSpan {
  readonly from: number | null;
  readonly to: number | null;
}

/** A span with two ends. */
export interface ClosedSpan {
  readonly from: number;
  readonly to: number;
}

/** A unit of the calendar. Weeks begin on Monday. */
export type CalendarUnit = "day" | "week" | MonthlyUnit;

/** Units that are a number of months. A decade begins with a year that ends in 0. */
const UNIT_MONTHS = { month: 1, quarter: 3, "half-year": 6, year: 12, decade: 120 } as const;
type MonthlyUnit = keyof typeof UNIT_MONTHS;

/** All units of the calendar. */
export const CALENDAR_UNITS: readonly CalendarUnit[] = ["day", "week", ...(Object.keys(UNIT_MONTHS) as MonthlyUnit[])];

/** Number of months of a unit; null for days and weeks. */
export function monthsOf(unit: CalendarUnit): number | null {
  return unit === "day" || unit === "week" ? null : UNIT_MONTHS[unit];
}

/** First instant of the day `days` days after the day of `time`. */
export function dayStart(time: number, days = 0): number {
  return Math.floor(time / DAY_MS) * DAY_MS + days * DAY_MS;
}

/** The day of `time`, moved by a number of days. */
export function dayOf(time: number, days = 0): ClosedSpan {
  const from = dayStart(time, days);
  return { from, to: from + DAY_MS };
}

/** Number of the weekday of `time`: 1 for Monday, 7 for Sunday. */
export function weekdayOf(time: number): number {
  // 1 January 1970 was a Thursday.
  return ((((Math.floor(time / DAY_MS) + 3) % 7) + 7) % 7) + 1;
}

/** A month; `month` counts from 1 and may lie outside 1..12. */
export function monthOf(year: number, month: number): ClosedSpan {
  return { from: utc(year, month, 1), to: utc(year, month + 1, 1) };
}

/** A calendar year. */
export function yearOf(year: number): ClosedSpan {
  return { from: utc(year, 1, 1), to: utc(year + 1, 1, 1) };
}

/** A day of the calendar; null if it does not exist. */
export function dateOf(year: number, month: number, day: number): ClosedSpan | null {
  if (month < 1 || month > 12 || day < 1 || day > 31) return null;
  const from = utc(year, month, day);
  return new Date(from).getUTCDate() === day ? { from, to: from + DAY_MS } : null;
}

/** Year and month of `time`; months count from 1. */
export function yearAndMonthOf(time: number): { readonly year: number; readonly month: number } {
  const date = new Date(time);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1 };
}

/** The calendar unit that contains `time`, moved by a number of units. */
export function unitOf(unit: CalendarUnit, time: number, units: number): ClosedSpan {
  const months = monthsOf(unit);
  if (months === null) {
    if (unit === "day") return dayOf(time, units);
    const monday = dayStart(time, 1 - weekdayOf(time) + 7 * units);
    return { from: monday, to: monday + 7 * DAY_MS };
  }
  const { year, month } = yearAndMonthOf(time);
  const first = (Math.floor((year * 12 + month - 1) / months) + units) * months;
  return { from: monthOf(0, first + 1).from, to: monthOf(0, first + months + 1).from };
}

/** First instant of the day that lies a number of units before the day of `time`. */
export function unitsBefore(unit: CalendarUnit, time: number, units: number): number {
  const months = monthsOf(unit);
  if (months === null) return dayStart(time, -units * (unit === "week" ? 7 : 1));
  const { year, month } = yearAndMonthOf(time);
  const first = monthOf(year, month - units * months);
  const day = new Date(time).getUTCDate();
  return Math.min(first.from + (day - 1) * DAY_MS, first.to - DAY_MS);
}

/** A week of a year by its number in ISO 8601; null if the year has no such week. */
export function weekOf(year: number, week: number): ClosedSpan | null {
  // 4 January is always in the first week.
  const first = unitOf("week", utc(year, 1, 4), 0).from;
  const next = unitOf("week", utc(year + 1, 1, 4), 0).from;
  const from = first + (week - 1) * 7 * DAY_MS;
  return week >= 1 && from < next ? { from, to: from + 7 * DAY_MS } : null;
}

/** A half or a quarter of a year; `part` counts from 1. */
export function partOfYear(year: number, part: number, parts: 2 | 4): ClosedSpan {
  const months = 12 / parts;
  return { from: utc(year, (part - 1) * months + 1, 1), to: utc(year, part * months + 1, 1) };
}

/** First month of a season of the northern hemisphere. A season has three months. */
const SEASON_STARTS = { spring: 3, summer: 6, autumn: 9, winter: 12 } as const;
/** A season. */
export type Season = keyof typeof SEASON_STARTS;
/** All seasons. */
export const SEASONS = Object.keys(SEASON_STARTS) as readonly Season[];

/** A season that begins in this year, on the northern hemisphere. */
export function seasonOf(season: Season, year: number): ClosedSpan {
  const start = SEASON_STARTS[season];
  return { from: utc(year, start, 1), to: utc(year, start + 3, 1) };
}

/** One third of a span: its start, its middle or its end. */
export function thirdOf({ from, to }: ClosedSpan, part: 0 | 1 | 2): ClosedSpan {
  const third = (to - from) / 3;
  return { from: dayStart(from + part * third), to: dayStart(from + (part + 1) * third) };
}

// Date.UTC reads the years 0 to 99 as 1900 to 1999.
function utc(year: number, month: number, day: number): number {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year + (date.getUTCFullYear() - 2000), date.getUTCMonth(), date.getUTCDate());
  return date.getTime();
}
