// Formats the numbers in cells by their number formats (ECMA-376-1, 18.8.30 and 18.8.31). Dates are written in ISO
// 8601, whatever order and language the sheet uses.

import { isoTime } from "../../kit/clock.ts";

/** A function that formats the number of a cell as the sheet shows it. */
export type ShowNumber = (value: number) => string;

const DAY_MS = 86_400_000;
/**
 * Day 0 of the two date systems of Excel, in Unix milliseconds. In the first system, day 60 is 29 February 1900, a day
 * that did not exist.
 */
const DAY_ZERO_1900_MS = -2_209_161_600_000;
const DAY_ZERO_1904_MS = -2_082_844_800_000;
const PHANTOM_DAY = 60;
/** Number of the first day after 31 December 9999. */
const DAYS_MAX = 2_958_466;
/** Number of significant digits of a number in Excel. */
const DIGITS = 15;

/** Built-in formats, which files do not define. */
const BUILT_IN: Readonly<Record<number, string>> = {
  1: "0",
  2: "0.00",
  3: "#,##0",
  4: "#,##0.00",
  9: "0%",
  10: "0.00%",
  14: "yyyy-mm-dd",
  15: "d-mmm-yy",
  16: "d-mmm",
  17: "mmm-yy",
  18: "h:mm",
  19: "h:mm:ss",
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
  47: "mm:ss",
};
/** Whether an id is a date format of the East Asian editions of Excel. */
const isBuiltInDate = (id: number) => (id >= 27 && id <= 36) || (id >= 50 && id <= 58);

/** The format code of a built-in id; `General` if there is none. */
export function builtInFormat(id: number): string {
  return BUILT_IN[id] ?? (isBuiltInDate(id) ? "yyyy-mm-dd" : "General");
}

/**
 * Returns the function that formats numbers by a format code.
 * @param is1904 whether the workbook counts days from 1904
 */
export function numberFormat(code: string, is1904: boolean): ShowNumber {
  const sections = sectionsOf(code).map((section) => sectionFormat(section, is1904));
  // sections with conditions are not supported, because they are rare
  if (/\[[<>=]/.test(code)) return general;
  return (value) => {
    const [positive = general, negative, zero] = sections;
    if (value < 0 && negative !== undefined) return negative(-value);
    if (value === 0 && zero !== undefined) return zero(value);
    return positive(value);
  };
}

/** Formats a number without a format: with 15 significant digits, as Excel does. */
export function general(value: number): string {
  const exact = String(value);
  return exact.length <= DIGITS ? exact : String(Number(value.toPrecision(DIGITS)));
}

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

function sectionFormat(section: string, is1904: boolean): ShowNumber {
  const tokens = [...section.matchAll(TOKEN)].map(([token]) => token);
  // a locale code in brackets may precede the other characters
  if (/^(?:\[[^\]]*\])*general$/i.test(section.trim())) return general;
  const isElapsed = tokens.some((token) => /^\[(?:h+|m+|s+)\]$/i.test(token));
  const letters = tokens.filter((token) => token.length === 1).join("");
  if (isElapsed) return elapsed;
  if (/[ymdhs]/i.test(letters.replace(/am\/pm|a\/p/gi, ""))) {
    const shown = datePrecision(letters);
    return (value) => dateText(value, shown, is1904) ?? general(value);
  }
  return quantityFormat(tokens);
}

/** Formats a duration. Its hours may exceed 24. */
function elapsed(value: number): string {
  const seconds = Math.round(value * (DAY_MS / 1000));
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${hours}:${twoDigits(minutes)}:${twoDigits(rest)}`;
}

interface DatePrecision {
  readonly date: "none" | "year" | "month" | "day";
  readonly time: "none" | "minutes" | "seconds";
}

function datePrecision(letters: string): DatePrecision {
  const units = [...letters.toLowerCase().matchAll(/am\/pm|a\/p|y+|m+|d+|h+|s+/g)].map(([unit]) => unit[0]);
  // `m` means minutes if it follows hours or precedes seconds; otherwise it means months
  const isMonth = (at: number) => units[at] === "m" && units[at - 1] !== "h" && units[at + 1] !== "s";
  const hasMonth = units.some((_, at) => isMonth(at));
  const date = units.includes("d") ? "day" : hasMonth ? "month" : units.includes("y") ? "year" : "none";
  const hasTime = units.includes("h") || units.some((unit, at) => unit === "m" && !isMonth(at));
  return { date, time: units.includes("s") ? "seconds" : hasTime ? "minutes" : "none" };
}

function dateText(value: number, { date, time }: DatePrecision, is1904: boolean): string | null {
  if (!(value >= 0 && value < DAYS_MAX)) return null;
  const days = is1904 || value >= PHANTOM_DAY ? value : value + 1;
  const zero = is1904 ? DAY_ZERO_1904_MS : DAY_ZERO_1900_MS;
  const iso = isoTime(zero + Math.round((days * DAY_MS) / 1000) * 1000);
  const dateLength = { none: 0, year: 4, month: 7, day: 10 }[date];
  const timeLength = { none: 0, minutes: 5, seconds: 8 }[time];
  return [iso.slice(0, dateLength), iso.slice(11, 11 + timeLength)].filter((part) => part !== "").join(" ");
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

function quantityFormat(tokens: readonly string[]): ShowNumber {
  const places = tokens.map((token) => /^[0#?]$/.test(token));
  const [first, last] = [places.indexOf(true), places.lastIndexOf(true)];
  const isOther = tokens.some((token) => token === "@" || token === "/" || /^[eE]$/.test(token));
  if (isOther) return general;
  if (first === -1) {
    // the section has only literal text, such as a dash for zero. A number that the format hides is shown nevertheless.
    const shown = tokens.map(literalOf).join("").trim();
    return shown === "" ? general : () => shown;
  }
  const inner = tokens.slice(first, last + 1);
  const point = inner.indexOf(".");
  const decimals = point === -1 ? [] : inner.slice(point + 1).filter((token) => /^[0#?]$/.test(token));
  const decimalsMin = decimals.filter((token) => token === "0").length;
  const isGrouped = inner.includes(",");
  const after = tokens.slice(last + 1);
  // each comma after the last digit placeholder divides the number by a thousand
  const divisor =
    1000 **
    (after.findIndex((token) => token !== ",") === -1 ? after.length : after.findIndex((token) => token !== ","));
  const percents = tokens.filter((token) => token === "%").length;
  const before = tokens.slice(0, first).map(literalOf).join("");
  const suffix = after.map(literalOf).join("");
  const digits = {
    minimumFractionDigits: Math.min(decimalsMin, DIGITS),
    maximumFractionDigits: Math.min(decimals.length, DIGITS),
  };
  const shown = new Intl.NumberFormat("en-US", { ...digits, useGrouping: isGrouped });
  return (value) => {
    const scaled = Number(((value * 100 ** percents) / divisor).toPrecision(DIGITS));
    // 0.005 is written as it is, not rounded to 0
    if (scaled !== 0 && Number(scaled.toFixed(Math.min(decimals.length, DIGITS))) === 0)
      return general(scaled) + suffix;
    return (value < 0 ? "-" : "") + before + shown.format(Math.abs(scaled)) + suffix;
  };
}

/** The text of a token that is not a digit placeholder. */
function literalOf(token: string): string {
  if (token.startsWith('"')) return token.replaceAll('"', "");
  // for example [$€-407]: a currency and the code of its language
  if (token.startsWith("[")) return /^\[\$([^-\]]*)/.exec(token)?.[1] ?? "";
  if (token.startsWith("\\")) return token.slice(1);
  if (token.startsWith("_") || token.startsWith("*") || token === ",") return "";
  return token;
}
