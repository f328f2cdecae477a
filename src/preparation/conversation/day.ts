// On which day something was said, as people and programs write it: found in a text, and written as `8 May 2023`.
// Days are taken as written, whatever the time zone beside them: whoever asks later means the day that stood there.

/** A day found in a text, `[start, end)` in UTF-16 units of it. */
export interface FoundDay {
  /** As `8 May 2023`: day, English month, year. */
  readonly day: string;
  readonly start: number;
  readonly end: number;
}

/** Which number comes first in a day such as `5/8/2023`. */
export type NumericOrder = "day" | "month";

/** Units of a text in which a day is looked for: a date with its time and a few words around it. */
const TEXT_UNITS_MAX = 200;
/** Years that are believed; other numbers of four digits are something else. */
const YEAR_MIN = 1000;
const YEAR_MAX = 2999;
/** Numbers below are Unix seconds, others milliseconds: as seconds the year 5138, as milliseconds March 1973. */
const SECONDS_BELOW = 1e11;
/** Numbers below are no time stamp but a count or a year: as seconds the year 1973. */
const STAMP_MIN = 1e8;

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

/** By month the first letters that name it in English, German, French, Spanish, Italian and Portuguese. */
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
/** Longest name of a month in those languages (`settembre`, `septiembre`), and no word that is one letter longer. */
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
 * The first day that a text names, in its first 200 units; null when it names none. A day such as `5/8/2023` is read in
 * `order` where that is known; else by what can be a month, then by the clock beside it (am and pm: month first).
 */
export function findDay(text: string, order: NumericOrder | null = null): FoundDay | null {
  const sample = text.slice(0, TEXT_UNITS_MAX);
  // Nearly every text that is asked about has none, and a digit is what all forms share.
  if (!/\d/.test(sample)) return null;
  return (
    firstOf(sample, YEAR_FIRST, ([, year, , month, day]) => dayText(year, month, day)) ??
    firstOf(sample, CJK, ([, year, month, day]) => dayText(year, month, day)) ??
    firstOf(sample, DAY_MONTH_NAME, ([, day, month, year]) => dayText(year, monthNumber(month), day)) ??
    firstOf(sample, MONTH_NAME_DAY, ([, month, day, year]) => dayText(year, monthNumber(month), day)) ??
    firstOf(sample, NUMERIC, ([, first, sign, second, year]) => {
      const fullYear = year?.length === 2 ? `20${year}` : year;
      const isDayFirst = (orderOf(Number(first), Number(second)) ?? order ?? usualOrder(sample, sign)) === "day";
      return isDayFirst ? dayText(fullYear, second, first) : dayText(fullYear, first, second);
    })
  );
}

/** Which number comes first in the numeric days of these texts, by the first of them that leaves no doubt; else null. */
export function numericOrderOf(texts: Iterable<string>): NumericOrder | null {
  for (const text of texts) {
    const found = firstOf(text.slice(0, TEXT_UNITS_MAX), NUMERIC, ([, first, , second]) =>
      orderOf(Number(first), Number(second)),
    );
    if (found !== null) return found.day;
  }
  return null;
}

/** The day of a value as programs give it: a text, or Unix seconds or milliseconds (also as digits); null: it is none. */
export function dayOf(value: unknown, order: NumericOrder | null = null): string | null {
  if (typeof value === "string") {
    const text = value.slice(0, TEXT_UNITS_MAX).trim();
    return /^\d{9,14}(?:\.\d{1,9})?$/.test(text) ? dayOfStamp(Number(text)) : (findDay(text, order)?.day ?? null);
  }
  return typeof value === "number" ? dayOfStamp(value) : null;
}

// In UTC: a bare number says nothing of where it was read.
function dayOfStamp(stamp: number): string | null {
  if (!(stamp >= STAMP_MIN)) return null;
  const date = new Date(stamp < SECONDS_BELOW ? stamp * 1000 : stamp);
  return dayText(String(date.getUTCFullYear()), String(date.getUTCMonth() + 1), String(date.getUTCDate()));
}

function firstOf<Day extends string>(
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

function orderOf(first: number, second: number): NumericOrder | null {
  if (first > 12 && second <= 12) return "day";
  return second > 12 && first <= 12 ? "month" : null;
}

// Points are written where the day comes first; slashes in most places too, but not in America, which has no 24 hours.
function usualOrder(text: string, sign: string | undefined): NumericOrder {
  return sign !== "/" || (CLOCK.test(text) && !HALF_DAY.test(text)) ? "day" : "month";
}
