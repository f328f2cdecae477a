// Writes list items: their markers, indentation, and numerals in the number formats of Office.

/** Maximum numbers that are written as Roman numerals and as letters. Larger numbers are written in digits. */
const ROMAN_MAX = 3_999;
const LETTERS_MAX = 26 * 10;
const ROMAN = [
  ["m", 1000],
  ["cm", 900],
  ["d", 500],
  ["cd", 400],
  ["c", 100],
  ["xc", 90],
  ["l", 50],
  ["xl", 40],
  ["x", 10],
  ["ix", 9],
  ["v", 5],
  ["iv", 4],
  ["i", 1],
] as const;
/** Maximum level that indentation shows. Office has nine levels, 0 to 8. */
const LEVEL_MAX = 8;

/** Supported numerals. Other number formats are written in digits. */
export type NumeralKind = "decimal" | "lowerLetter" | "upperLetter" | "lowerRoman" | "upperRoman";

/** The numerals of a number format of Word. */
export function numeralKindOf(format: string): NumeralKind {
  switch (format) {
    case "lowerLetter":
    case "upperLetter":
    case "lowerRoman":
    case "upperRoman":
      return format;
    default:
      return "decimal";
  }
}

/** Writes an integer as a numeral. After z, letters repeat as in Word: z, aa, bb. */
export function numeral(value: number, kind: NumeralKind): string {
  const written =
    kind === "decimal" ? null : kind === "lowerLetter" || kind === "upperLetter" ? letters(value) : roman(value);
  if (written === null) return String(value);
  return kind.startsWith("upper") ? written.toUpperCase() : written;
}

function letters(value: number): string | null {
  if (value < 1 || value > LETTERS_MAX) return null;
  return String.fromCharCode(0x61 + ((value - 1) % 26)).repeat(Math.ceil(value / 26));
}

function roman(value: number): string | null {
  if (value < 1 || value > ROMAN_MAX) return null;
  let rest = value;
  let written = "";
  for (const [sign, worth] of ROMAN) {
    for (; rest >= worth; rest -= worth) written += sign;
  }
  return written;
}

/** Removes the Markdown marker of a heading or bullet, for a block that is written inside a line of a table. */
export function withoutMarker(text: string): string {
  return text.replace(/^ *(?:- |#{1,6} )/, "");
}

/**
 * A Markdown list item.
 * @param level 0 is the outermost
 * @param label label as the document shows it (`1.`, `(a)`, `2.1`); null for a bullet
 */
export function listItem(level: number, label: string | null, text: string): string {
  const mark = label === null ? "-" : /^\d{1,9}[.)]$/.test(label) ? label : `- ${label}`;
  return `${"  ".repeat(Math.min(Math.max(level, 0), LEVEL_MAX))}${mark} ${text.replaceAll(/\n+/g, "\n")}`;
}
