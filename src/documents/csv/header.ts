// Decides whether the first row of a table holds the names of its columns, and makes the names distinct.

import { hasColumnWord } from "../../words/column-names.ts";
import { type Cell, isQuantity } from "../office/table.ts";
import type { CsvRecord } from "./csv-records.ts";

/**
 * Maximum length of a column name in characters. If a cell of the first row is longer, the row contains data, not
 * names.
 */
const NAME_CHARACTERS_MAX = 80;
/**
 * If at least this share of a column's values are numbers, dates or similar, the text above them is the name of the
 * column.
 */
const QUANTITIES_MIN = 0.6;
/**
 * Maximum share of the rows below that also have words by which columns are named. If more rows have them, such words
 * are values in this table.
 */
const NAMING_ROWS_MAX = 0.2;
/** Minimum number of rows below that show how the values of a column are alike. */
const ALIKE_ROWS_MIN = 3;
const YEAR = /^(?:19|20)\d\d$/;
const TRUTH = /^(?:true|false|yes|no)$/i;
const ADDRESS = /^(?:[^\s@]{1,64}@[^\s@]{1,190}\.[^\s@]{2,}|https?:\/\/\S+)$/;

/** Whether the first row is a header. */
export function namesColumns(first: CsvRecord, rest: readonly CsvRecord[]): boolean {
  const names = first.cells.map((cell) => cell.trim());
  const filled = names.filter((name) => name !== "");
  if (filled.length < 2 || rest.length === 0) return false;
  if (filled.some((name) => name.length > NAME_CHARACTERS_MAX || (isValue(name) && !YEAR.test(name)))) return false;
  // a year can be a column name, but not above other years
  const hasYears = filled.some((name) => YEAR.test(name));
  if (hasYears && rest.some(({ cells }) => cells.some((cell) => YEAR.test(cell.trim())))) return false;
  if (filled.every((name) => YEAR.test(name))) return false;
  // names may repeat if at least two differ, and if at most half of the other rows repeat values
  const distinct = new Set(filled).size;
  const isRepeating = distinct < filled.length;
  if (isRepeating && (distinct < 2 || rest.filter(repeatsValues).length * 2 > rest.length)) return false;
  const columns = names.map((_, column) =>
    rest.map(({ cells }) => cells[column]?.trim() ?? "").filter((cell) => cell !== ""),
  );
  // if a text occurs again below in the same column, it is a value, not a name
  if (names.some((name, column) => name !== "" && columns[column]?.includes(name) === true)) return false;
  const hasValueColumn = columns.some(
    (cells) => cells.length > 0 && cells.filter(isValue).length >= cells.length * QUANTITIES_MIN,
  );
  if (hasValueColumn) return true;
  const isComplete = rest.every(
    ({ cells }) => cells.length <= names.length || cells.slice(names.length).every((cell) => cell === ""),
  );
  if (isComplete && filled.length >= 3) return true;
  return (isComplete && looksLikeNames(filled, columns)) || usesNames(filled, rest) || differs(names, columns);
}

function repeatsValues({ cells }: CsvRecord): boolean {
  const filled = cells.map((cell) => cell.trim()).filter((cell) => cell !== "" && !isQuantity(cell));
  return new Set(filled).size < filled.length;
}

/**
 * Whether the texts of the first row look like column names: unlike the other rows, they are written like identifiers
 * or are much shorter.
 */
function looksLikeNames(names: readonly string[], columns: readonly (readonly string[])[]): boolean {
  const isPlain = (text: string) => /^[\p{Ll}\p{N}_]+$/u.test(text);
  const cells = columns.flat();
  if (names.every(isPlain) && cells.filter(isPlain).length * 2 < cells.length) return true;
  const meanLength = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.length, 0) / texts.length;
  return columns.some(
    (column, at) => column.length > 0 && meanLength(column) > 3 * Math.max(4, names[at]?.length ?? 0),
  );
}

/** Whether the first row has words by which columns are named, and the other rows do not. */
function usesNames(names: readonly string[], rest: readonly CsvRecord[]): boolean {
  const naming = names.filter(hasColumnWord).length;
  if (naming * 2 < names.length) return false;
  const others = rest.filter(({ cells }) => cells.filter((cell) => hasColumnWord(cell)).length >= naming).length;
  return others <= NAMING_ROWS_MAX * rest.length;
}

/** Whether the values of a column are alike in a way in which its first cell differs. */
function differs(names: readonly string[], columns: readonly (readonly string[])[]): boolean {
  return columns.some((values, column) => {
    const name = names[column] ?? "";
    if (name === "" || values.length < ALIKE_ROWS_MIN) return false;
    const [first = ""] = values;
    const script = scriptOf(first);
    if (script !== null && scriptOf(name) !== script && values.every((value) => scriptOf(value) === script))
      return true;
    return values.length > ALIKE_ROWS_MIN && values.every((value) => occursTwice(values, value));
  });
}

function occursTwice(values: readonly string[], value: string): boolean {
  return values.indexOf(value) !== values.lastIndexOf(value);
}

const SCRIPTS = [
  /^[\p{Script=Latin}\p{M}\p{P}\p{Zs}]+$/u,
  /^[\p{Script=Cyrillic}\p{M}\p{P}\p{Zs}]+$/u,
  /^[\p{Script=Katakana}ー・\p{Zs}]+$/u,
  /^[\p{Script=Han}々\p{Zs}]+$/u,
  /^[\p{Script=Hangul}\p{Zs}]+$/u,
  /^[\p{Script=Arabic}\p{M}\p{P}\p{Zs}]+$/u,
] as const;

/** Index of the script in which a text is written completely; null if there is none. */
function scriptOf(text: string): number | null {
  const index = SCRIPTS.findIndex((script) => script.test(text));
  return index === -1 ? null : index;
}

/** Whether a text is a number, a date, an address or similar, and therefore not a column name. */
function isValue(text: string): boolean {
  return isQuantity(text) || TRUTH.test(text) || (text.length <= 300 && ADDRESS.test(text));
}

/** The cells of a header with a number after each name that occurred before: `phone`, `phone (2)`. */
export function withDistinctNames(cells: readonly Cell[]): Cell[] {
  const used = new Set(cells.map(({ text }) => text));
  const seen = new Set<string>();
  return cells.map((cell) => {
    let { text } = cell;
    if (text !== "" && seen.has(text)) {
      let number = 2;
      while (used.has(`${cell.text} (${number})`)) number++;
      text = `${cell.text} (${number})`;
      used.add(text);
    }
    seen.add(text);
    return { ...cell, text };
  });
}
