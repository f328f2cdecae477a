// The days of feasts: fixed ones, those that follow Easter, those of the lunar calendar, and Thanksgiving.

import { DAY_MS } from "../../kit/clock.ts";
import { once } from "../../kit/once.ts";
import { type ClosedSpan, dateOf, monthOf, weekdayOf } from "./calendar.ts";

/**
 * The days of a feast in a year; null if they are not known.
 * @param rule meaning of a word list without `feast `: a first day and a number of days, such as `12-25 1`. The first
 *   day is a month and a day; or `easter`, `orthodox-easter` or `thanksgiving` and a number of days after it; or
 *   `lunar` with month and day of the Chinese calendar.
 */
export function feastIn(year: number, rule: string): ClosedSpan | null {
  const match = /^(?:(?:(lunar)-)?(\d+)-(\d+)|(easter|orthodox-easter|thanksgiving)([+-]\d+)) (\d+)$/.exec(rule);
  if (match === null) return null;
  const [, lunar, month, day, movable, offset, days] = match;
  const first =
    movable !== undefined
      ? MOVABLE[movable as keyof typeof MOVABLE](year) + Number(offset) * DAY_MS
      : lunar === undefined
        ? dateOf(year, Number(month), Number(day))?.from
        : lunarDay(year, Number(month), Number(day));
  return first === undefined || first === null ? null : { from: first, to: first + Number(days) * DAY_MS };
}

const MOVABLE = { easter, "orthodox-easter": orthodoxEaster, thanksgiving } as const;

// Easter Sunday of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher.
function easter(year: number): number {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const yearOfCentury = year % 100;
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30;
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(yearOfCentury / 4) - epact - (yearOfCentury % 4)) % 7;
  const late = Math.floor((golden + 11 * epact + 22 * weekday) / 451);
  const days = epact + weekday - 7 * late + 114;
  return Date.UTC(year, Math.floor(days / 31) - 1, (days % 31) + 1);
}

// Orthodox Easter Sunday by the algorithm of Meeus, moved from the Julian to the Gregorian calendar.
function orthodoxEaster(year: number): number {
  const moon = (19 * (year % 19) + 15) % 30;
  const weekday = (2 * (year % 4) + 4 * (year % 7) - moon + 34) % 7;
  const days = moon + weekday + 114;
  const behind = Math.floor(year / 100) - Math.floor(year / 400) - 2;
  return Date.UTC(year, Math.floor(days / 31) - 1, (days % 31) + 1 + behind);
}

// The fourth Thursday of November.
function thanksgiving(year: number): number {
  const { from } = monthOf(year, 11);
  return from + (((4 - weekdayOf(from) + 7) % 7) + 21) * DAY_MS;
}

// Made at the first question for a lunar day, because it takes 20 ms, which would make each start slower.
const lunarCalendar = once(
  () => new Intl.DateTimeFormat("en-u-ca-chinese", { month: "numeric", day: "numeric", timeZone: "UTC" }),
);

/** The Chinese year begins between 21 January and 21 February. */
const LUNAR_NEW_YEAR = { first: 20, days: 33 } as const;
/** Days of a lunar month, at most. */
const LUNAR_MONTH_DAYS = 30;

const lunarDays = new Map<string, number | null>();

// A day of the Chinese calendar. Leap months are written with "bis" and never match.
function lunarDay(year: number, month: number, day: number): number | null {
  const key = `${year}-${month}-${day}`;
  let found = lunarDays.get(key);
  if (found === undefined) {
    const first = Date.UTC(year, 0, LUNAR_NEW_YEAR.first + Math.floor((month - 1) * 29.5) + day - 1);
    const length = LUNAR_NEW_YEAR.days + LUNAR_MONTH_DAYS + 2;
    const days = Array.from({ length }, (_, offset) => first + offset * DAY_MS);
    const calendar = lunarCalendar();
    found = days.find((each) => calendar.format(each) === `${month}/${day}`) ?? null;
    lunarDays.set(key, found);
  }
  return found;
}
