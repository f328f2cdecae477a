// Parses attribute values: levels, numbers, spans, languages, formulas. page-reader.ts decides which elements have
// which attributes.

import type { NumeralKind } from "../office/lists.ts";
import type { List } from "./flow.ts";
import type { Attributes } from "./markup.ts";

/** Maximum number of a list item. */
const NUMBER_MAX = 999_999_999;
/** Maximum row span of a cell (HTML, 4.9.11). */
const ROWS_MAX = 65_534;
/** Maximum column span of a cell (HTML, 4.9.11). */
const COLUMNS_MAX = 1_000;
/** Matches alternative text that is only a file name. */
const FILE_NAME = /^\S*\.(?:avif|bmp|gif|jpe?g|png|svg|tiff?|webp)$/i;
const NUMERALS: Readonly<Partial<Record<string, NumeralKind>>> = {
  a: "lowerLetter",
  A: "upperLetter",
  i: "lowerRoman",
  I: "upperRoman",
};

/**
 * The level of a heading, 1 to 6. It comes from the element name, else from `aria-level`, else it is 2, the default of
 * ARIA.
 */
export function levelOf(name: string, attributes: Attributes): number {
  const level = /^h([1-6])$/.exec(name)?.[1] ?? attributes["aria-level"] ?? "";
  return Math.min(Math.max(numberOf(level) ?? 2, 1), 6);
}

/** The programming language in a class such as `language-python`; empty if unknown. */
export function languageOf({ class: classes }: Attributes): string {
  return /(?:^|\s)lang(?:uage)?-([a-z][\w+#.-]{0,19})(?=\s|$)/i.exec(classes ?? "")?.[1]?.toLowerCase() ?? "";
}

/** The numbering of an ordered list: first number, direction and kind of numerals. */
export function numberedListOf(attributes: Attributes): List {
  const isReversed = attributes.reversed !== undefined;
  const start = numberOf(attributes.start);
  // the first number of a reversed list depends on its length, which is unknown here
  if (isReversed && start === null) return { kind: "bullets" };
  const numerals = NUMERALS[attributes.type?.trim() ?? ""] ?? "decimal";
  return { kind: "numbers", next: start ?? 1, step: isReversed ? -1 : 1, numerals };
}

/** Parses an integer; null if there is none. */
export function numberOf(value: string | undefined): number | null {
  const written = /^\s*([+-]?\d{1,12})/.exec(value ?? "")?.[1];
  if (written === undefined) return null;
  return Math.min(Math.max(Number(written), -NUMBER_MAX), NUMBER_MAX);
}

/** Column and row span of a cell. A row span of 0 reaches to the end of the table. */
export function spansOf({ colspan, rowspan }: Attributes): { readonly columns: number; readonly rows: number } {
  const rows = numberOf(rowspan) ?? 1;
  return {
    columns: Math.min(Math.max(numberOf(colspan) ?? 1, 1), COLUMNS_MAX),
    rows: rows < 0 ? 1 : Math.min(rows, ROWS_MAX),
  };
}

/** Whether a table has visible borders. */
export function hasBorder({ border }: Attributes): boolean {
  return (numberOf(border) ?? 0) > 0;
}

/** The alternative text of a picture; empty if the picture has none or if the text is a file name. */
export function alternativeOf({ alt = "" }: Attributes): string {
  const text = alt.trim();
  return FILE_NAME.test(text) ? "" : text;
}

/** Removes the style command around a TeX formula. */
export function formulaOf(alttext: string): string {
  return alttext.trim().replace(/^\{\\(?:displaystyle|textstyle)\s+(.*)\}$/s, "$1");
}
