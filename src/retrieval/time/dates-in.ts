// Finds the days and months that a text names, such as "14 March 2023", "on 3 June" and "2023年5月". Knows names of
// months in the languages with Latin letters and in Russian, numbered months in Chinese, Japanese and Korean, and dates
// in digits in all languages.

import { DAY_MS } from "../../kit/clock.ts";
import { fold } from "../../kit/fold.ts";
import { type ClosedSpan, dateOf, monthOf, yearAndMonthOf } from "./calendar.ts";
import { LATIN_LANGUAGES, lexiconOf, type TimeLanguage, withoutDiacritics } from "./lexicon.ts";
import { isYear, numericDatesIn } from "./numeric-dates.ts";

/** Maximum length of a text that is searched, in UTF-16 code units, and maximum number of dates that are found. */
const TEXT_UNITS_MAX = 2_000;
const DATES_MAX = 16;
/** A day without a year is at most this far from the day on which the text was written. */
const UNDATED_DAYS_MAX = 183;

let monthNames: ReadonlyMap<string, number> | null = null;

/** Month by name, in the languages with Latin letters and in Russian. */
function monthsByName(): ReadonlyMap<string, number> {
  if (monthNames !== null) return monthNames;
  const names = new Map<string, number>();
  const languages: readonly TimeLanguage[] = [...LATIN_LANGUAGES, "ru"];
  for (const language of languages) {
    for (const [name, meanings] of lexiconOf(language).meanings) {
      for (const meaning of meanings) {
        const month = /^month(\d+)$/.exec(meaning)?.[1];
        if (month !== undefined) names.set(name, Number(month));
      }
    }
  }
  monthNames = names;
  return names;
}

const DAY_MONTH =
  /(?<![\d.,])(\d{1,2})(?:st|nd|rd|th|er|[.º°])?[\s-]{1,2}(?:(?:of|de|d'|di)\s)?(\p{L}{3,10})\.?(?:,?[\s-]{1,2}(?:del?\s)?(\d{4}))?(?!\d)/gu;
const MONTH_DAY = /(?<!\p{L})(\p{L}{3,10})\.?\s(\d{1,2})(?:st|nd|rd|th)?(?:,?\s(\d{4}))?(?![\d:])/gu;
const MONTH_YEAR = /(?<!\p{L})(\p{L}{3,10})\.?,?\s(?:del?\s)?(\d{4})(?!\d)/gu;
const CJK_MONTH = /(?:(\d{4})\s?[年년]\s?)?(?<!\d)(\d{1,2})\s?[月월](?:\s?(\d{1,2})\s?[日号號일])?(?!\d)/gu;

/**
 * The days and months that a text names. A day or month without a year is the one nearest to the day on which the text
 * was written.
 * @param writtenAt Unix milliseconds; null if unknown, so that dates without a year are left out
 */
export function datesIn(text: string, writtenAt: number | null): ClosedSpan[] {
  return locatedDatesIn(text, writtenAt).map(({ span }) => span);
}

/** A day or month, and the words of a text that name it. */
export interface LocatedDate {
  readonly span: ClosedSpan;
  readonly text: string;
}

/** Like `datesIn`, but also returns the words of the text. */
export function locatedDatesIn(text: string, writtenAt: number | null): LocatedDate[] {
  const sample = text.slice(0, TEXT_UNITS_MAX);
  if (!/\d/.test(sample)) return [];
  const plain = withoutDiacritics(fold(sample));
  const found = numericDatesIn(plain, "day");
  const add = (match: RegExpMatchArray, span: ClosedSpan | null) => {
    const start = match.index ?? 0;
    const end = start + match[0].length;
    const isTaken = found.some((other) => start < other.end && other.start < end);
    if (span !== null && !isTaken && found.length < DATES_MAX) found.push({ span, start, end });
  };
  const read = (year: string | undefined, month: number | null, day: string | undefined): ClosedSpan | null => {
    if (month === null) return null;
    return year === undefined ? nearest(writtenAt, month, day) : dated(Number(year), month, day);
  };
  for (const match of plain.matchAll(DAY_MONTH)) add(match, read(match[3], monthNamed(match[2]), match[1]));
  for (const match of plain.matchAll(MONTH_DAY)) add(match, read(match[3], monthNamed(match[1]), match[2]));
  for (const match of plain.matchAll(MONTH_YEAR)) add(match, read(match[2], monthNamed(match[1]), undefined));
  for (const match of plain.matchAll(CJK_MONTH)) {
    const month = Number(match[2]);
    add(match, read(match[1], month >= 1 && month <= 12 ? month : null, match[3]));
  }
  const shown = plain.length === sample.length ? sample : plain;
  return found.slice(0, DATES_MAX).map(({ span, start, end }) => ({ span, text: shown.slice(start, end) }));
}

function monthNamed(name: string | undefined): number | null {
  return monthsByName().get(name ?? "") ?? null;
}

function dated(year: number, month: number, day: string | undefined): ClosedSpan | null {
  if (!isYear(year)) return null;
  return day === undefined ? monthOf(year, month) : dateOf(year, month, Number(day));
}

function nearest(writtenAt: number | null, month: number, day: string | undefined): ClosedSpan | null {
  if (writtenAt === null) return null;
  const { year } = yearAndMonthOf(writtenAt);
  const spans = [year - 1, year, year + 1].map((each) => dated(each, month, day)).filter((span) => span !== null);
  const distance = ({ from }: ClosedSpan) => Math.abs(from - writtenAt);
  const best = spans.sort((left, right) => distance(left) - distance(right))[0];
  return best !== undefined && distance(best) <= UNDATED_DAYS_MAX * DAY_MS ? best : null;
}
