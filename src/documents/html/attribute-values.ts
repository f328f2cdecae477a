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

const RAISED_STYLE = /(?:^|;)\s*vertical-align\s*:\s*(super|sub|-?\d*\.?\d+(?:em|ex|px|pt|%))(?![\w-])/i;
const RAISED_CLASS = /(?:^|\s)(super|sub)(?:script)?(?=\s|$)|(?:^|\s)(sup)(?=\s|$)/i;

/** Whether styles raise or lower an inline element: super, sub; null if they do not. */
export function scriptOf({ style, class: classes }: Attributes): "superscript" | "subscript" | null {
  const align = style === undefined ? undefined : RAISED_STYLE.exec(style)?.[1]?.toLowerCase();
  if (align !== undefined) {
    if (/^-?0*\.?0*(?:em|ex|px|pt|%)$/.test(align)) return null;
    return align === "sub" || align.startsWith("-") ? "subscript" : "superscript";
  }
  const named = classes === undefined ? null : RAISED_CLASS.exec(classes);
  if (named === null) return null;
  return named[1]?.toLowerCase() === "sub" ? "subscript" : "superscript";
}

const NOTE_REFERENCE = /(?:^|\s)(?:(?:doc-)?noteref|(?:foot|end)note-?ref(?:erence)?)(?=\s|$)/i;
/** Addresses of notes on the same page, as programs write them. */
const NOTE_ADDRESS = /^#(?:_?(?:fn|ftn|edn)|footnote|endnote|note)[-_:.]?\d+$/i;
const NOTE = /(?:^|\s)(?:doc-)?(?:foot|end|rear)notes?(?=\s|$)/i;

/** Whether a link is the mark of a note, in books (`epub:type`) or pages. */
export function isNoteReference({ role = "", "epub:type": type = "", class: classes = "", href = "" }: Attributes) {
  return NOTE_REFERENCE.test(`${role} ${type} ${classes}`) || NOTE_ADDRESS.test(href);
}

/** Whether an element is a note, or a list of notes. */
export function isNote({ role = "", "epub:type": type = "" }: Attributes): boolean {
  return NOTE.test(`${role} ${type}`);
}

/** Types of fields whose value a page does not show, or that send the form. */
const VALUELESS = new Set(["hidden", "password", "submit", "reset", "button", "image", "file", "color", "range"]);

/** The sign of a box that is not checked. */
export const UNCHECKED = "☐";

/** What a field shows: its value, or `☑` or `☐`; empty if it shows nothing. */
export function fieldValueOf({ type = "text", value = "", checked }: Attributes): string {
  const kind = type.trim().toLowerCase();
  if (kind === "checkbox" || kind === "radio") return checked === undefined ? UNCHECKED : "☑";
  return VALUELESS.has(kind) ? "" : value.trim();
}

/** Matches a floating-point number of HTML (2.3.4.3). */
const FLOAT = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;
/** Significant digits of a share, so that rounding errors do not show. */
const SHARE_DIGITS = 12;

/**
 * What a `meter` or `progress`, or an element with such a role of ARIA, shows: a share in percent, or its value within
 * its range. Empty if it has no value.
 */
export function gaugeValueOf(attributes: Attributes): string {
  const said = attributes["aria-valuetext"]?.trim() ?? "";
  if (said !== "") return said;
  const [value, least, most] = (["value", "min", "max"] as const).map((name) => {
    const written = (attributes[name] ?? attributes[`aria-value${name === "value" ? "now" : name}`] ?? "").trim();
    return FLOAT.test(written) && Number.isFinite(Number(written)) ? Number(written) : null;
  });
  if (value == null) return "";
  const min = least ?? 0;
  const max = most ?? (attributes.value === undefined ? 100 : 1);
  if (max <= min) return String(value);
  if (min !== 0) return `${value} (${min} to ${max})`;
  return max === 1 || max === 100 ? `${Number(((value / max) * 100).toPrecision(SHARE_DIGITS))}%` : `${value}/${max}`;
}

/**
 * Ids of the elements that a tab, or the button or link of a collapsed part, shows and hides; empty if it controls
 * none.
 */
export function controlledBy(attributes: Attributes): readonly string[] {
  const toggle = attributes["data-bs-toggle"] ?? attributes["data-toggle"];
  if (toggle !== undefined && /^(?:tab|pill|list|collapse)$/i.test(toggle.trim())) {
    const target = attributes["data-bs-target"] ?? attributes["data-target"] ?? attributes.href ?? "";
    if (target.startsWith("#")) return [target.slice(1)];
  }
  const controls = attributes["aria-controls"]?.trim();
  if (controls === undefined || controls === "") return [];
  const isTab = attributes.role?.trim().toLowerCase() === "tab";
  // a menu or a dialog is no part of the text
  const isCollapsed = attributes["aria-expanded"] !== undefined && attributes["aria-haspopup"] === undefined;
  return isTab || isCollapsed ? controls.split(/\s+/) : [];
}
