// Writes the values of cells by their number formats (ECMA-376-1, 18.8.30 and 18.8.31), as the sheet shows them. The
// library numfmt interprets the format codes. What a format hides or rewrites is added in parentheses, so that it is
// found: the value of a code or a scaled number, and dates in ISO 8601.

import { format, isValidFormat } from "numfmt";
import { DAY_MS, isoTime } from "../../kit/clock.ts";
import { onOneLine } from "../text-writer.ts";
import { calendarOf } from "./eras.ts";

/** How cells with a number format are written. */
export interface NumberFormat {
  /** Writes a number. */
  number(value: number): string;
  /** Writes a text. */
  text(text: string): string;
  /** Whether its numbers are dates or times. */
  readonly isTime: boolean;
}

/**
 * Day 0 of the two date systems of Excel, in Unix milliseconds. In the first system, day 60 is 29 February 1900, a day
 * that did not exist.
 */
const DAY_ZERO_1900_MS = -2_209_161_600_000;
const DAY_ZERO_1904_MS = -2_082_844_800_000;
/** Number of days between the beginnings of the two systems. */
const DAYS_1904 = 1_462;
const PHANTOM_DAY = 60;
/** Number of the first day after 31 December 9999. */
const DAYS_MAX = 2_958_466;
/** Number of significant digits of a number in Excel. */
const DIGITS = 15;
/** Maximum length of a format code in UTF-16 code units. Excel's is 255; longer ones are not interpreted. */
const CODE_UNITS_MAX = 255;
/** Maximum number of digits of a denominator in a format code. Excel's is 7; more take long to compute. */
const DENOMINATOR_DIGITS = /\/[ ]*[?#0]{8,}/;

/** Built-in formats, which files do not define. Formats that depend on the region are written in ISO 8601. */
const BUILT_IN: Readonly<Record<number, string>> = {
  1: "0",
  2: "0.00",
  3: "#,##0",
  4: "#,##0.00",
  5: "#,##0;(#,##0)",
  6: "#,##0;(#,##0)",
  7: "#,##0.00;(#,##0.00)",
  8: "#,##0.00;(#,##0.00)",
  9: "0%",
  10: "0.00%",
  11: "0.00E+00",
  12: "# ?/?",
  13: "# ??/??",
  14: "yyyy-mm-dd",
  15: "d-mmm-yy",
  16: "d-mmm",
  17: "mmm-yy",
  18: "h:mm AM/PM",
  19: "h:mm:ss AM/PM",
  20: "h:mm",
  21: "h:mm:ss",
  22: "yyyy-mm-dd h:mm",
  37: "#,##0;(#,##0)",
  38: "#,##0;(#,##0)",
  39: "#,##0.00;(#,##0.00)",
  40: "#,##0.00;(#,##0.00)",
  41: "#,##0;(#,##0)",
  42: "$#,##0;($#,##0)",
  43: "#,##0.00;(#,##0.00)",
  44: "$#,##0.00;($#,##0.00)",
  45: "mm:ss",
  46: "[h]:mm:ss",
  47: "mm:ss.0",
  48: "##0.0E+0",
  49: "@",
};
/** Whether an id is a date format of the East Asian editions of Excel. */
const isBuiltInDate = (id: number) => (id >= 27 && id <= 36) || (id >= 50 && id <= 58);

/** The format code of a built-in id; `General` if there is none. */
export function builtInFormat(id: number): string {
  return BUILT_IN[id] ?? (isBuiltInDate(id) ? "yyyy-mm-dd" : "General");
}

/**
 * Interprets a format code.
 * @param is1904 whether the workbook counts days from 1904
 */
export function numberFormat(code: string, is1904: boolean): NumberFormat {
  if (code.length > CODE_UNITS_MAX || DENOMINATOR_DIGITS.test(code) || !isValidFormat(code)) return GENERAL;
  const sections = sectionsOf(code);
  if (sections.every((section) => /^(?:\[(?!(?:h+|m+|s+)\])[^\]]*\])*(?:general|@)?$/i.test(section.trim())))
    return GENERAL;
  const first = sections[0] ?? "";
  const time = timeOf(first);
  const number = time === null ? quantityFormat(code) : timeFormat(inKnownLanguage(code), time, is1904);
  return { number, text: textFormat(code, sections), isTime: time !== null };
}

/** Writes a number without a format: with 15 significant digits, as Excel does. */
export function general(value: number): string {
  const exact = String(value);
  return exact.length <= DIGITS ? exact : String(Number(value.toPrecision(DIGITS)));
}

/** The format of cells that have none. */
export const GENERAL: NumberFormat = { number: general, text: (text) => text, isTime: false };

/** Splits a format code into its sections for positive numbers, negative numbers, zero and text. */
function sectionsOf(code: string): string[] {
  const sections = [""];
  for (const [token] of code.matchAll(TOKEN)) {
    if (token === ";") sections.push("");
    else sections[sections.length - 1] += token;
  }
  return sections;
}

/**
 * Matches a token of a format code: quoted text, text in brackets, an escaped, fill or skip character, or any other
 * single character.
 */
const TOKEN = /"[^"]*"?|\[[^\]]*\]?|[\\_*].?|./gsu;

/** Which parts of a time a section shows. */
interface TimePrecision {
  readonly date: "none" | "year" | "month" | "day";
  readonly time: "none" | "minutes" | "seconds";
  /** Whether it is a duration, whose hours may exceed 24. */
  readonly isElapsed: boolean;
}

/** null if the section shows no time. */
function timeOf(section: string): TimePrecision | null {
  const tokens = [...section.matchAll(TOKEN)].map(([token]) => token);
  if (/^(?:\[[^\]]*\])*\s*general/i.test(section)) return null;
  const isElapsed = tokens.some((token) => /^\[(?:h+|m+|s+)\]$/i.test(token));
  const letters = tokens.filter((token) => token.length === 1).join("");
  // an `e` after a digit placeholder belongs to scientific notation; others are years of the East Asian calendars
  // `aaa` is a day of the week
  const hasUnits = /[ymdhsb]|aaa/i.test(letters.replace(/am\/pm|a\/p/gi, ""));
  if (!isElapsed && !hasUnits && !/^[^0#?]*e/i.test(letters)) return null;
  const units = [...letters.toLowerCase().matchAll(/am\/pm|a\/p|aaa+|[yeb]+|m+|d+|h+|s+/g)].map(([unit]) =>
    unit.startsWith("aaa") ? "d" : unit[0],
  );
  // `m` means minutes if it follows hours or precedes seconds; otherwise it means months
  const isMonth = (at: number) => units[at] === "m" && units[at - 1] !== "h" && units[at + 1] !== "s";
  const hasMonth = units.some((_, at) => isMonth(at));
  const hasYear = units.some((unit) => unit === "y" || unit === "e" || unit === "b");
  const date = units.includes("d") ? "day" : hasMonth ? "month" : hasYear ? "year" : "none";
  const hasTime = units.includes("h") || units.some((unit, at) => unit === "m" && !isMonth(at));
  return { date, time: units.includes("s") ? "seconds" : hasTime ? "minutes" : "none", isElapsed };
}

/** Replaces a region that numfmt does not know, such as Austria, by the main region of its language. */
function inKnownLanguage(code: string): string {
  return code.replace(/(\[\$[^\]-]*-)([0-9a-f]+)\]/gi, (whole: string, lead: string, region: string) => {
    const named = shownBy(`[$-${region}]${NAMES}`, NAMED_DAY);
    if (named !== shownBy(NAMES, NAMED_DAY)) return whole;
    const language = (Number.parseInt(region, 16) & LANGUAGE_BITS) | MAIN_REGION;
    return `${lead}${language.toString(16)}]`;
  });
}

/** A format of the names of a month and a day, and a date whose names differ between languages. */
const NAMES = "dddd mmmm";
const NAMED_DAY = 45_356;
/** Bits of a Windows language identifier: its language, and the main region of a language. */
const LANGUAGE_BITS = 0x3ff;
const MAIN_REGION = 0x400;

const DAY: TimePrecision = { date: "day", time: "none", isElapsed: false };
/** Matches a token of a format code, where letters that repeat are one token. */
const REPEATED_TOKEN = /"[^"]*"?|\[[^\]]*\]?|[\\_*].?|g+|e+|./gisu;

/** The code with literal texts instead of the tokens of eras and their years. */
function withEra(code: string, written: (token: string) => string): string {
  return code.replace(REPEATED_TOKEN, (token) => (/^(?:g+|e+)$/i.test(token) ? written(token.toLowerCase()) : token));
}

function timeFormat(code: string, precision: TimePrecision, is1904: boolean): NumberFormat["number"] {
  const calendar = /general/i.test(code) ? null : calendarOf(code, REPEATED_TOKEN);
  return (value) => {
    if (precision.isElapsed) return shownBy(code, value) || general(value);
    const iso = isoText(value, precision, is1904);
    if (iso === null) return general(value);
    const day = calendar === null ? null : isoText(value, DAY, is1904);
    const shown = shownBy(
      day === null ? code : withEra(code, (token) => calendar?.(token, day) ?? token),
      is1904 ? value + DAYS_1904 : value,
    );
    if (shown === "" || shown.includes(iso)) return shown || iso;
    // on a clock of 24 hours, what the sheet shows has the same digits, with or without a leading zero
    const isSame = precision.date === "none" && /^[\d:.]+$/.test(shown);
    return isSame ? shown : `${iso} (${shown})`;
  };
}

function isoText(value: number, { date, time }: TimePrecision, is1904: boolean): string | null {
  if (!(value >= 0 && value < DAYS_MAX)) return null;
  const days = is1904 || value >= PHANTOM_DAY ? value : value + 1;
  const zero = is1904 ? DAY_ZERO_1904_MS : DAY_ZERO_1900_MS;
  const iso = isoTime(zero + Math.round((days * DAY_MS) / 1000) * 1000);
  const dateLength = { none: 0, year: 4, month: 7, day: 10 }[date];
  const timeLength = { none: 0, minutes: 5, seconds: 8 }[time];
  return [iso.slice(0, dateLength), iso.slice(11, 11 + timeLength)].filter((part) => part !== "").join(" ");
}

function quantityFormat(code: string): NumberFormat["number"] {
  // removes the language of a currency, which matters only for dates
  const plain = code.replace(/\[\$([^\]-]*)-[0-9a-f]+\]/gi, (_, currency: string) =>
    currency === "" ? "" : `[$${currency}]`,
  );
  // a percent sign multiplies by 100, except in quotation marks or behind a backslash
  const isPercent = [...code.matchAll(TOKEN)].some(([token]) => token === "%");
  return (value) => {
    const shown = shownBy(plain, value).replace(/(\d)\.$/, "$1");
    // a number that the format hides is written nevertheless
    if (shown === "") return general(value);
    if (isShown(shown, isPercent ? value * 100 : value)) return shown;
    return `${shown} (${isPercent ? percent(value) : general(value)})`;
  };
}

function percent(value: number): string {
  return `${general(Number((value * 100).toPrecision(DIGITS)))}%`;
}

/** Whether a text contains a number with its sign, rounded to the digits that the text shows. */
function isShown(shown: string, value: number): boolean {
  if (value < 0 && !/[-−–(]/.test(shown)) return false;
  const numbers = shown.match(/[\d,]*\d(?:\.\d*)?|\.\d+/g);
  // a format may write 0 and 1 as words, or 0 as a dash
  if (numbers === null) return value === 0 || value === 1;
  if (/\d\/\d/.test(shown)) return false;
  const size = Math.abs(value);
  return numbers.some((written) => {
    if (/^0\d/.test(written) || (written.includes(",") && !/^\d{1,3}(?:,\d{2,4})+(?:\.|$)/.test(written))) return false;
    const number = Number(written.replaceAll(",", ""));
    const decimals = written.split(".")[1]?.length ?? 0;
    return (number !== 0 || size === 0) && Math.abs(number - size) <= 0.500_001 * 10 ** -decimals;
  });
}

/** Writes texts by the fourth section, such as `@" Ltd"`. Other formats leave texts as they are, and so does this. */
function textFormat(code: string, sections: readonly string[]): NumberFormat["text"] {
  const section = sections.find((each) => each.replace(/"[^"]*"|\\./g, "").includes("@"));
  if (section === undefined || /^(?:\[[^\]]*\]|[_*].|\s)*@(?:[_*].|\s)*$/.test(section)) return (text) => text;
  return (text) => {
    const shown = shownBy(code, text);
    return shown.includes(text) ? shown : text;
  };
}

/** What a sheet shows, on one line; empty if it shows nothing. */
function shownBy(code: string, value: number | string): string {
  return onOneLine(format(code, value, { locale: "en-US", throws: false, invalid: "", nbsp: false }));
}
