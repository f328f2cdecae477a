// What the attributes of elements say: levels, numbers, languages, formulas. Which elements have them is page-reader.ts's question.

import type { NumeralKind } from "../office/lists.ts";
import type { List } from "./flow.ts";
import type { Attributes } from "./markup.ts";

/** Numbers of items beyond this are no numbers of items. */
const NUMBER_MAX = 999_999_999;
/** Rows that a cell reaches into at most (HTML, 4.9.11). */
const ROWS_MAX = 65_534;
/** Columns that a cell takes at most (HTML, 4.9.11). */
const COLUMNS_MAX = 1_000;
/** Alternative texts that are names of files. */
const FILE_NAME = /^\S*\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)$/i;
const NUMERALS: Readonly<Partial<Record<string, NumeralKind>>> = {
  a: "lowerLetter",
  A: "upperLetter",
  i: "lowerRoman",
  I: "upperRoman",
};

/** The level of a heading, 1 to 6: that of its name, else `aria-level`, else 2 as ARIA has it. */
export function levelOf(name: string, attributes: Attributes): number {
  const level = /^h([1-6])$/.exec(name)?.[1] ?? attributes["aria-level"] ?? "";
  return Math.min(Math.max(numberOf(level) ?? 2, 1), 6);
}

/** The language of a piece of code as its class names it (`language-python`); empty: unknown. */
export function languageOf({ class: classes }: Attributes): string {
  return /(?:^|\s)lang(?:uage)?-([a-z][\w+#.-]{0,19})(?=\s|$)/i.exec(classes ?? "")?.[1]?.toLowerCase() ?? "";
}

/** An ordered list: where it begins to count, in which direction, and how. */
export function numbersOf(attributes: Attributes): List {
  const isReversed = attributes.reversed !== undefined;
  const start = numberOf(attributes.start);
  // how far a list counts down is known at its end only
  if (isReversed && start === null) return { kind: "bullets" };
  const numerals = NUMERALS[attributes.type?.trim() ?? ""] ?? "decimal";
  return { kind: "numbers", next: start ?? 1, step: isReversed ? -1 : 1, numerals };
}

/** A whole number; null for none. */
export function numberOf(value: string | undefined): number | null {
  const written = /^\s*([+-]?\d{1,12})/.exec(value ?? "")?.[1];
  if (written === undefined) return null;
  return Math.min(Math.max(Number(written), -NUMBER_MAX), NUMBER_MAX);
}

/** The columns and rows that a cell takes; 0 rows: to the table's end. */
export function spansOf({ colspan, rowspan }: Attributes): { readonly columns: number; readonly rows: number } {
  const rows = numberOf(rowspan) ?? 1;
  return {
    columns: Math.min(Math.max(numberOf(colspan) ?? 1, 1), COLUMNS_MAX),
    rows: rows < 0 ? 1 : Math.min(rows, ROWS_MAX),
  };
}

/** Whether a table draws lines between its cells. */
export function isDrawn({ border }: Attributes): boolean {
  return (numberOf(border) ?? 0) > 0;
}

/** What is said of a picture; empty where it says nothing: the name of its file. */
export function alternativeOf({ alt = "" }: Attributes): string {
  const text = alt.trim();
  return FILE_NAME.test(text) ? "" : text;
}

/** A formula in TeX, without the style that all of it is in. */
export function formulaOf(alttext: string): string {
  return alttext.trim().replace(/^\{\\(?:displaystyle|textstyle)\s+(.*)\}$/s, "$1");
}
