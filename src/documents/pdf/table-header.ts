// Decides whether the first row of a table of a page holds the names of its columns, and joins names that stand in two
// rows.

import type { Column } from "./borders.ts";
import type { Row, Segment } from "./segments.ts";

/** A cell. Its text may be empty. */
export interface Cell {
  readonly text: string;
  readonly isBold: boolean;
  /** Right edge of the text. */
  readonly right: number;
}

/** The texts of the cells of each row. */
export function textsOf(rows: readonly (readonly Cell[])[]): readonly (readonly string[])[] {
  return rows.map((row) => row.map(({ text }) => text));
}

/** The cells of a table. */
export interface TableContent {
  /** Names of the columns; null if the table has none. */
  readonly names: readonly string[] | null;
  /** Rows below the names. */
  readonly records: readonly (readonly string[])[];
  readonly columns: readonly Column[];
}

const YEAR = /^(?:19|20)\d\d$/;
/** Matches a short name with a number: `Q1`, `KW 12`, `FY24`, `H2 2024`, `2023 Q1`. */
const NUMBERED_NAME = /^(?:\p{L}{1,3}\.?\s?['’]?\d{1,4}(?:\s(?:19|20)\d\d)?|(?:19|20)\d\d\s\p{L}{1,3}\.?\s?\d{0,2})$/u;
/** Maximum length of a name above texts, in characters. */
const NAME_CHARACTERS_MAX = 40;
/** Maximum length of a code, in characters. */
const CODE_CHARACTERS_MAX = 3;
/** Minimum mean length of the cells below short names, as a multiple of the mean length of the names. */
const LONGER_MIN = 1.5;
/** Maximum distance between the middle of a name and that of the columns that it stands above, in font sizes. */
const CENTRE_MAX = 0.8;
/** Maximum distance in font sizes of two rows of names: of lines of one cell, and of a group above its names. */
const LINE_MAX = 1.45;
const GROUP_MAX = 2.6;

/** Whether a text is an amount, a percentage, a date or similar. */
export function isFigure(text: string): boolean {
  return /\d/.test(text) && (text.match(/\p{L}/gu)?.length ?? 0) <= 3;
}

/** Whether all texts of a row are bold. */
export function isAllBold(row: readonly Cell[]): boolean {
  const filled = row.filter(({ text }) => text !== "");
  return filled.length > 0 && filled.every(({ isBold }) => isBold);
}

/**
 * Whether the first row is a header: it has names for nearly all columns and no figures but years, and either figures
 * are below it, or, unlike the other rows, it is bold or has short texts.
 */
export function isHeader(first: readonly Cell[], rest: readonly (readonly Cell[])[]): boolean {
  const names = first.filter(({ text }) => text !== "");
  const valuesIn = (column: number) => rest.map((row) => row[column]?.text ?? "").filter((text) => text !== "");
  const mayName = ({ text }: Cell, column: number) =>
    !isFigure(text) ||
    (YEAR.test(text) && !valuesIn(column).some((value) => YEAR.test(value))) ||
    (NUMBERED_NAME.test(text) && valuesIn(column).every((value) => !/^\p{L}/u.test(value)));
  const isNaming = names.length >= Math.max(2, first.length - 1) && first.every(mayName);
  if (!isNaming || rest.length === 0 || names.some(({ text }) => /:$/.test(text))) return false;
  if (names.every(({ text }) => isFigure(text))) return false;
  if (isAllBold(first) && !rest.every(isAllBold)) return true;
  if (hasShortNames(first, rest) || standsAboveCodes(first, rest)) return true;
  // In a table of two columns, the first column usually contains names. Such a table has a header only if the second
  // column contains only figures.
  const isPairs = first.length === 2;
  return first.some((name, column) => {
    const values = valuesIn(column);
    const figures = values.filter(isFigure).length;
    const isEnough = isPairs ? values.length > 2 && figures === values.length : figures * 2 > values.length;
    return name.text !== "" && isEnough;
  });
}

/** Whether a row of short texts stands above longer ones, none of which repeats a name. */
function hasShortNames(first: readonly Cell[], rest: readonly (readonly Cell[])[]): boolean {
  const names = first.map(({ text }) => text);
  if (names.length < 3 || rest.length < 2) return false;
  const areNames = names.every((name) => name !== "" && name.length <= NAME_CHARACTERS_MAX && /^[^.!?,;]+$/.test(name));
  if (!areNames || new Set(names).size < names.length) return false;
  const values = rest.flat().filter(({ text }) => text !== "");
  if (values.length < rest.length * (names.length - 1) || values.some(({ text }) => names.includes(text))) return false;
  const meanLength = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  return meanLength(values.map(({ text }) => text)) >= LONGER_MIN * meanLength(names);
}

/** Whether all columns have names, and below one of them are only codes that are much shorter, such as `F`. */
function standsAboveCodes(first: readonly Cell[], rest: readonly (readonly Cell[])[]): boolean {
  const areNames = first.every(({ text }) => /\p{L}/u.test(text) && text.length <= NAME_CHARACTERS_MAX);
  if (first.length < 3 || rest.length < 3 || !areNames) return false;
  return first.some(({ text }, column) => {
    const values = rest.map((row) => row[column]?.text ?? "").filter((value) => value !== "");
    const isFilled = values.length >= 3 && values.length * 2 > rest.length;
    return isFilled && values.every((value) => value.length <= CODE_CHARACTERS_MAX && value.length * 2 <= text.length);
  });
}

/**
 * The names that the row above a header adds to the columns: the first line of names in two lines, or the name of a
 * group of columns. Null if the row is no part of the header.
 */
export function namesAbove(above: Row, header: Row, columns: readonly Column[]): readonly string[] | null {
  const { segments } = above;
  if (segments.length === 0 || segments.length >= columns.length) return null;
  if (segments.some(({ text }) => isFigure(text) || text.length > NAME_CHARACTERS_MAX)) return null;
  const distance = (header.baseline - above.baseline) / Math.max(header.size, above.size);
  if (distance <= 0 || distance > GROUP_MAX) return null;
  const groups = groupsBelow(segments, columns, CENTRE_MAX * above.size);
  if (groups !== null && segments.length > 1) return groups;
  return distance < LINE_MAX ? firstLines(segments, header, columns) : null;
}

/** Names that each stand above the middle of a group of at least two columns; null if some do not. */
function groupsBelow(
  segments: readonly Segment[],
  columns: readonly Column[],
  within: number,
): readonly string[] | null {
  const middles = columns.map(({ from, to }) => (from + to) / 2);
  const names = columns.map(() => "");
  let next = 0;
  for (const { left, right, text } of segments) {
    const found = runWithMiddle(middles, next, (left + right) / 2, within);
    if (found === null) return null;
    for (let column = found.first; column <= found.last; column++) names[column] = text;
    next = found.last + 1;
  }
  return names;
}

/** The shortest run of several columns, from `from`, whose middle is at `at`; null if there is none. */
function runWithMiddle(middles: readonly number[], from: number, at: number, within: number) {
  for (let length = 2; length <= middles.length - from; length++) {
    for (let first = from; first + length <= middles.length; first++) {
      const last = first + length - 1;
      const middle = ((middles[first] ?? 0) + (middles[last] ?? 0)) / 2;
      if (Math.abs(middle - at) <= within) return { first, last };
    }
  }
  return null;
}

/** The first lines of names whose second lines are in the header; null if one stands above no name. */
function firstLines(segments: readonly Segment[], header: Row, columns: readonly Column[]): readonly string[] | null {
  const names = columns.map(() => "");
  for (const { left, right, text } of segments) {
    const reached = columns.flatMap(({ from, to }, column) => (left < to && right > from ? [column] : []));
    const [column] = reached;
    const isAboveName = header.segments.some((below) => below.left < right && below.right > left);
    if (column === undefined || reached.length > 1 || !isAboveName) return null;
    names[column] = `${names[column]} ${text}`.trim();
  }
  return names;
}
