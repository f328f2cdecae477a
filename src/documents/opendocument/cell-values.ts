// Writes the value of a cell of an OpenDocument spreadsheet as the sheet shows it. If the value cannot be read from
// that, it follows in parentheses, as in workbooks of Excel (office/xlsx-numbers.ts).

import { general } from "../office/xlsx-numbers.ts";
import type { Attributes } from "../office/xml.ts";

/** What a cell holds. */
export interface CellValue {
  readonly text: string;
  readonly isNumber: boolean;
}

/** Matches a number with its separators: of thousands, and before its decimals. */
const NUMBERS = /\d(?:[\d.,'’\u00a0\u202f ]*\d)?/g;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?)?$/;

/** @param shown the text of the cell on one line; empty if it shows nothing */
export function cellValue(shown: string, attributes: Attributes): CellValue {
  const type = attributes["office:value-type"];
  if (type === "float" || type === "currency" || type === "percentage") {
    const value = Number(attributes["office:value"] ?? Number.NaN);
    return { text: Number.isFinite(value) ? numberText(shown, value) : shown, isNumber: true };
  }
  if (type === "date") return { text: dateText(shown, attributes["office:date-value"] ?? ""), isNumber: false };
  return { text: shown, isNumber: false };
}

function numberText(shown: string, value: number): string {
  if (shown === "") return general(value);
  const isPercent = shown.includes("%");
  const size = isPercent ? Number((value * 100).toPrecision(15)) : value;
  return showsNumber(shown, size) ? shown : `${shown} (${general(size)}${isPercent ? "%" : ""})`;
}

/** Whether a number, rounded to the digits that are shown, can be read from a text, whatever its separators mean. */
function showsNumber(shown: string, value: number): boolean {
  if (value < 0 && !/[-−–(]/.test(shown)) return false;
  const numbers = shown.match(NUMBERS);
  // a format may write 0 and 1 as words, or 0 as a dash
  if (numbers === null) return value === 0 || value === 1;
  return numbers.some((written) => {
    if (/^0\d/.test(written)) return false;
    const [, whole = "", decimals = ""] = /^(.*?)(?:[.,](\d+))?$/.exec(written) ?? [];
    const plain = (digits: string) => digits.replace(/\D/g, "");
    const isNear = (number: number, digits: number) => Math.abs(number - Math.abs(value)) <= 0.500_001 * 10 ** -digits;
    if (isNear(Number(plain(written)), 0)) return true;
    return decimals !== "" && isNear(Number(`${plain(whole)}.${decimals}`), decimals.length);
  });
}

/** Puts the date in ISO 8601 before what the sheet shows, because `05/03/24` can be read in two ways. */
function dateText(shown: string, stored: string): string {
  const [, date, time] = DATE_TIME.exec(stored.trim()) ?? [];
  if (date === undefined) return shown || stored;
  if (shown.includes(date)) return shown;
  const iso = time !== undefined && (shown === "" || /\d[:.h]\d\d/.test(shown)) ? `${date} ${time}` : date;
  return shown === "" ? iso : `${iso} (${shown})`;
}
