// Dates in digits, such as 2023-05-14, 14.5.2023 and 2023年5月14日, in texts of any language.

import { type ClosedSpan, dateOf, monthOf } from "./calendar.ts";

/** A date in a text at `[start, end)`, in UTF-16 code units. */
export interface FoundDate {
  readonly span: ClosedSpan;
  readonly start: number;
  readonly end: number;
}

/** The number that comes first in a date such as `5/8/2023`, if both can be a month. */
export type NumericOrder = "day" | "month";

const YEAR_MIN = 1000;
const YEAR_MAX = 2999;

// A date does not go on with a letter or a further number on either side, as versions, addresses and part numbers do.
const YEAR_FIRST = /(?<![\d.-]|\p{Script=Latin}-?)(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|[.:/]\d|-[\p{L}\d])/gu;
const YEAR_MONTH = /(?<![\d.-]|\p{Script=Latin}-?)(\d{4})-(\d{2})(?![\d-]|[.:/]\d)/gu;
const YEAR_LAST = /(?<![\d/.-]|\p{Script=Latin}-?)(\d{1,2})([-/.])\s?(\d{1,2})\2\s?(\d{4}|\d{2})(?![\d/-]|[.:]\d)/gu;
const CJK_DAY = /(?<!\d)(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日号號일]/g;

/**
 * The dates in digits in a text, in no particular order.
 * @param order decides where both numbers can be a month. With full stops or hyphens, the day is always first.
 */
export function numericDatesIn(text: string, order: NumericOrder): FoundDate[] {
  if (!/\d{2}/.test(text)) return [];
  const found: FoundDate[] = [];
  const add = (match: RegExpMatchArray, span: ClosedSpan | null) => {
    const start = match.index ?? 0;
    if (span !== null) found.push({ span, start, end: start + match[0].length });
  };
  for (const match of text.matchAll(YEAR_FIRST)) add(match, dateAt(match[1], match[3], match[4]));
  for (const match of text.matchAll(CJK_DAY)) add(match, dateAt(match[1], match[2], match[3]));
  for (const match of text.matchAll(YEAR_MONTH)) {
    const [year, month] = [Number(match[1]), Number(match[2])];
    add(match, isYear(year) && month >= 1 && month <= 12 ? monthOf(year, month) : null);
  }
  for (const match of text.matchAll(YEAR_LAST)) {
    const [, first = "", separator, second = "", lastDigits = ""] = match;
    const year = lastDigits.length === 2 ? `20${lastDigits}` : lastDigits;
    const isDayFirst = Number(first) > 12 || separator !== "/" || (order === "day" && Number(second) <= 12);
    add(match, isDayFirst ? dateAt(year, second, first) : dateAt(year, first, second));
  }
  return found;
}

/** Whether a number is a plausible year. */
export function isYear(value: number): boolean {
  return value >= YEAR_MIN && value <= YEAR_MAX;
}

function dateAt(year: string | undefined, month: string | undefined, day: string | undefined): ClosedSpan | null {
  return isYear(Number(year)) ? dateOf(Number(year), Number(month), Number(day)) : null;
}
