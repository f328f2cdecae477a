// Finds a day in a text or value, in the forms that people and programs write, and formats it as `8 May 2023`. A time
// zone in the text does not change the day, because later questions refer to the day as written.

import { unixMilliseconds } from "../../kit/unix-time.ts";
/** A day found in a text at `[start, end)`, in UTF-16 code units. */
export interface FoundDay {
  /** Formatted as `8 May 2023`: day, English month, year. */
  readonly day: string;
  readonly start: number;
  readonly end: number;
}

/** The number that comes first in a day such as `5/8/2023`. */
export type NumericOrder = "day" | "month";

/**
 * Number of UTF-16 code units of a text that are searched for a day: enough for a date with its time and a few words
 * around it.
 */
const TEXT_UNITS_MAX = 200;
/** Range of plausible years. Other numbers of four digits are not read as years. */
const YEAR_MIN = 1000;
const YEAR_MAX = 2999;

/** Numbers below this are counts or years, not timestamps. This is the year 1973 in seconds. */
const TIMESTAMP_MIN = 1e8;

const ENGLISH_MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

/** For each month, the first letters of its names in English, German, French, Spanish, Italian and Portuguese. */
const MONTH_STEMS = [
  "jan jän ene gen",
  "feb fev fév",
  "mar mär",
  "apr abr avr",
  "may mai mag",
  "jun juin giu",
  "jul juil lug",
  "aug aoû ago",
  "sep set",
  "oct okt ott out",
  "nov",
  "dec dez déc dic",
] as const;
const MONTH_BY_STEM: ReadonlyMap<string, number> = new Map(
  MONTH_STEMS.flatMap((stems, position) => stems.split(" ").map((stem) => [stem, position + 1] as const)),
);
/** Month names and their abbreviations in those languages. Other words with the same first letters are not months. */
const MONTH_NAMES: ReadonlySet<string> = new Set(
  (
    "jan january januar jänner janv janvier ene enero gen gennaio janeiro feb february februar fév févr février febrero febbraio " +
    "fev fevereiro mar march märz mär mars marzo março apr april avr avril abr abril aprile may mai mayo mag maggio maio jun june " +
    "juni juin junio giu giugno junho jul july juli juil juillet julio lug luglio julho aug august août ago agosto sep sept " +
    "september septembre septiembre set settembre setembro oct october okt oktober octobre octubre ott ottobre out outubro nov " +
    "november novembre noviembre novembro dec december dez dezember déc décembre dic diciembre dicembre dezembro"
  ).split(" "),
);

const YEAR_FIRST = /(?<!\d)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)/g;
const CJK = /(?<!\d)(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]/g;
const DAY_MONTH_NAME =
  /(?<!\d)(\d{1,2})(?:st|nd|rd|th|er|[.º°])?[\s-]{1,3}(?:(?:of|de)\s)?(\p{L}{3,10})[.,]{0,2}[\s-]{1,3}(?:del?\s)?(\d{4})(?!\d)/giu;
const MONTH_NAME_DAY = /(?<!\p{L})(\p{L}{3,10})\.?[\s-]{1,3}(\d{1,2})(?:st|nd|rd|th)?,?[\s-]{1,3}(\d{4})(?!\d)/giu;
const NUMERIC = /(?<![\d/.-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])/g;
const HALF_DAY = /\d\s?[ap]\.?m\b/i;
const CLOCK = /\d:\d{2}/;

/**
 * A day in the first 200 UTF-16 code units of a text; null if there is none. If the text has days in several forms, the
 * one with the year first or a month name wins over a purely numeric one. If only one number of a day such as
 * `5/8/2023` can be a month, that number is the month. If both can, `order` decides; without `order`, the separator and
 * the time next to the day do (see `likelyOrder`).
 */
export function findDay(text: string, order: NumericOrder | null = null): FoundDay | null {
  const sample = text.slice(0, TEXT_UNITS_MAX);
  // Every form of a day contains a digit, and most texts have no digit: this check avoids the searches below.
  if (!/\d/.test(sample)) return null;
  return (
    firstMatch(sample, YEAR_FIRST, ([, year, , month, day]) => dayText(year, month, day)) ??
    firstMatch(sample, CJK, ([, year, month, day]) => dayText(year, month, day)) ??
    firstMatch(sample, DAY_MONTH_NAME, ([, day, month, year]) => dayText(year, monthNumber(month), day)) ??
    firstMatch(sample, MONTH_NAME_DAY, ([, month, day, year]) => dayText(year, monthNumber(month), day)) ??
    firstMatch(sample, NUMERIC, ([, first, separator, second, year]) => {
      const fullYear = year?.length === 2 ? `20${year}` : year;
      const isDayFirst =
        (certainOrder(Number(first), Number(second)) ?? order ?? likelyOrder(sample, separator)) === "day";
      return isDayFirst ? dayText(fullYear, second, first) : dayText(fullYear, first, second);
    })
  );
}

/**
 * The order of day and month in the numeric days of these texts. The first numeric day that can be read in one way only
 * decides; null if there is none.
 */
export function numericOrderOf(texts: Iterable<string>): NumericOrder | null {
  for (const text of texts) {
    const found = firstMatch(text.slice(0, TEXT_UNITS_MAX), NUMERIC, ([, first, , second]) =>
      certainOrder(Number(first), Number(second)),
    );
    if (found !== null) return found.day;
  }
  return null;
}

/**
 * The day in a text, or the day of a Unix timestamp (seconds or milliseconds; a number or a string of digits); null if
 * there is none.
 */
export function dayOf(value: unknown, order: NumericOrder | null = null): string | null {
  if (typeof value === "string") {
    const text = value.slice(0, TEXT_UNITS_MAX).trim();
    return /^\d{9,14}(?:\.\d{1,9})?$/.test(text) ? dayOfTimestamp(Number(text)) : (findDay(text, order)?.day ?? null);
  }
  return typeof value === "number" ? dayOfTimestamp(value) : null;
}

// The day in UTC, because a timestamp contains no time zone.
function dayOfTimestamp(timestamp: number): string | null {
  if (!(timestamp >= TIMESTAMP_MIN)) return null;
  const date = new Date(unixMilliseconds(timestamp));
  return dayText(String(date.getUTCFullYear()), String(date.getUTCMonth() + 1), String(date.getUTCDate()));
}

function firstMatch<Day extends string>(
  sample: string,
  form: RegExp,
  read: (match: RegExpMatchArray) => Day | null,
): (FoundDay & { readonly day: Day }) | null {
  for (const match of sample.matchAll(form)) {
    const day = read(match);
    if (day !== null) return { day, start: match.index, end: match.index + match[0].length };
  }
  return null;
}

function dayText(
  year: string | undefined,
  month: string | number | null | undefined,
  day: string | undefined,
): string | null {
  const [y, m, d] = [Number(year), Number(month ?? 0), Number(day)];
  if (!(y >= YEAR_MIN && y <= YEAR_MAX && m >= 1 && m <= 12 && d >= 1)) return null;
  const daysOfMonth = new Date(Date.UTC(y, m, 0)).getUTCDate();
  return d <= daysOfMonth ? `${d} ${ENGLISH_MONTHS[m - 1]} ${y}` : null;
}

function monthNumber(name: string | undefined): number | null {
  const known = (name ?? "").toLowerCase();
  if (!MONTH_NAMES.has(known)) return null;
  return MONTH_BY_STEM.get(known.slice(0, 4)) ?? MONTH_BY_STEM.get(known.slice(0, 3)) ?? null;
}

/** The order of day and month if only one of two numbers can be a month; else null. */
function certainOrder(first: number, second: number): NumericOrder | null {
  if (first > 12 && second <= 12) return "day";
  return second > 12 && first <= 12 ? "month" : null;
}

// With full stops or hyphens, the day comes before the month. With slashes, the month is assumed to come first as in
// the United States, unless the text has a time on the 24-hour clock, which the United States rarely use.
function likelyOrder(text: string, separator: string | undefined): NumericOrder {
  return separator !== "/" || (CLOCK.test(text) && !HALF_DAY.test(text)) ? "day" : "month";
}
