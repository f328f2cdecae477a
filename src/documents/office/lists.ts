// How items of lists are written: their marks, and the numerals of Office's number formats.

/** Numerals beyond these are written as numbers: nobody counts so far in letters or Roman numerals. */
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
/** Levels that are shown by an indent: Office has nine. */
const LEVEL_MAX = 8;

/** The kinds of numerals that are told apart; others are written as numbers. */
export type NumeralKind = "decimal" | "lowerLetter" | "upperLetter" | "lowerRoman" | "upperRoman";

/** A number (whole) as numeral. Letters repeat after z as in Word: z, aa, bb. */
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

/** A block without the mark of a heading or bullet that it begins with, for where it stands within a line. */
export function withoutMark(text: string): string {
  return text.replace(/^ *(?:- |#{1,6} )/, "");
}

/**
 * An item of a list.
 * @param level 0 is the outermost
 * @param label as the document shows it (`1.`, `(a)`, `2.1`); null for a bullet
 */
export function listItem(level: number, label: string | null, text: string): string {
  const mark = label === null ? "-" : /^\d{1,9}[.)]$/.test(label) ? label : `- ${label}`;
  return `${"  ".repeat(Math.min(Math.max(level, 0), LEVEL_MAX))}${mark} ${text.replaceAll(/\n+/g, "\n")}`;
}
