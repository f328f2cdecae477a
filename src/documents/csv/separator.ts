// Finds the character that separates the cells of a table in a text file: the one with which the rows have the most
// constant number of cells.

import { isQuantity } from "../office/table.ts";
import { type CsvRecord, recordsOf, type Separator } from "./csv-records.ts";

/**
 * Minimum share of rows that have the same number of cells. If the share is smaller, the text is not a table but prose
 * with commas.
 */
const REGULAR_MIN = 0.4;
const SEPARATORS: readonly Separator[] = [",", ";", "\t", "|"];
/** Maximum length of a cell that looks whole (`wholeness`), in characters. */
const CELL_CHARACTERS_MAX = 200;

/**
 * The separator of a table; null for a single column.
 * @param head the beginning of the table
 * @param isWhole whether the table ends with `head`; otherwise its last row may be cut off
 */
export function separatorOf(head: string, isWhole: boolean, recordsMax: number): Separator | null {
  let best: { readonly separator: Separator | null; readonly score: number } = { separator: null, score: 0 };
  for (const separator of SEPARATORS) {
    const records = firstOf(recordsOf([head], separator), recordsMax);
    const isCut = records.length > 2 && !(isWhole && records.length < recordsMax);
    const rows = (isCut ? records.slice(0, -1) : records).filter(({ cells }) => cells.some((cell) => cell !== ""));
    if (regularity(rows) <= REGULAR_MIN) continue;
    const score = constancy(rows) * wholeness(rows, separator);
    if (score > best.score) best = { separator, score };
  }
  return best.separator;
}

/** The share of rows that have the most frequent number of cells; 0 if that number is one. */
function regularity(rows: readonly CsvRecord[]): number {
  const columns = usualColumns(rows);
  return columns < 2 ? 0 : rows.filter(({ cells }) => cells.length === columns).length / rows.length;
}

/**
 * The most frequent number of cells among rows with several cells; 1 if fewer than a third of the rows have several.
 */
export function usualColumns(rows: readonly CsvRecord[]): number {
  const counts = countsOf(rows);
  let usual = 1;
  for (const [columns, count] of counts) {
    if (columns > 1 && (usual === 1 || count > (counts.get(usual) ?? 0))) usual = columns;
  }
  const several = rows.filter(({ cells }) => cells.length > 1).length;
  return several * 3 < rows.length ? 1 : usual;
}

/**
 * How constant the number of cells is (pattern score of van den Burg, Nazábal and Sutton, "Wrangling messy CSV files by
 * detecting row and type patterns", 2019): many rows per number of cells, and few such numbers.
 */
function constancy(rows: readonly CsvRecord[]): number {
  const counts = countsOf(rows);
  let sum = 0;
  for (const [columns, count] of counts) sum += (count * Math.max(columns - 1, 0.001)) / columns;
  return sum / counts.size;
}

/** The share of cells that look whole: the separator cut neither a number nor a phrase in two. */
function wholeness(rows: readonly CsvRecord[], separator: Separator): number {
  const others = SEPARATORS.filter((other) => other !== separator && other !== ",");
  let [whole, all] = [0, 0];
  for (const { cells } of rows) {
    for (const cell of cells) {
      all++;
      const text = cell.trim();
      const isWhole =
        text === "" ||
        isQuantity(text) ||
        (text.length <= CELL_CHARACTERS_MAX && !/^\s/.test(cell) && !others.some((other) => text.includes(other)));
      if (isWhole) whole++;
    }
  }
  // not 0, so that a table is still found if all its cells look cut
  return (whole + 0.1) / (all + 0.1);
}

function countsOf(rows: readonly CsvRecord[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  return counts;
}

/** The first records of a table. */
export function firstOf(records: Iterator<CsvRecord>, count: number): CsvRecord[] {
  const first: CsvRecord[] = [];
  while (first.length < count) {
    const next = records.next();
    if (next.done === true) break;
    first.push(next.value);
  }
  return first;
}
