// Distinguishes texts side by side, such as boxes, from rows of a table: the lines of a text continue each other.

import type { Row } from "./segments.ts";
import { type Cell, isAllBold } from "./table-header.ts";

/** Minimum number of lines below each other, and minimum share of them that continue the line above. */
const PAIRS_MIN = 3;
const CONTINUING_MIN = 0.6;
/** Minimum mean length of the lines, in characters, and maximum distance of lines in font sizes. */
const LINE_CHARACTERS_MIN = 12;
const LEADING_MAX = 2.2;

/**
 * The texts of columns of prose, each as one line after its bold title; null for the rows of a table.
 * @param cells lines by row and column
 */
export function textsSideBySide(rows: readonly Row[], cells: readonly (readonly Cell[])[]): readonly string[] | null {
  const [first] = cells;
  if (first === undefined) return null;
  const titles = introducing(first);
  if (titles !== null) {
    const below = cells.slice(1);
    return titles.map((title, column) => {
      const lines = below.map((row) => row[column]?.text ?? "").filter((line) => line !== "");
      return `${title} ${lines.join(", ")}`.trim();
    });
  }
  const hasTitles = isAllBold(first) && cells.length > 1 && !cells.slice(1).some(isAllBold);
  const body = hasTitles ? cells.slice(1) : cells;
  const isApart = rows.some(
    (row, at) => at > 1 && row.baseline - (rows[at - 1]?.baseline ?? 0) > LEADING_MAX * row.size,
  );
  if (isApart || body.length < 2) return null;
  let [pairs, continuing] = [0, 0];
  for (const column of first.keys()) {
    const lines = body.map((row) => row[column]?.text ?? "").filter((text) => text !== "");
    const continued = lines.slice(1).filter((line, at) => continues(lines[at] ?? "", line)).length;
    if (lines.length < 2 || continued === 0) return null;
    pairs += lines.length - 1;
    continuing += continued;
  }
  const texts = body.flat().flatMap(({ text }) => (text === "" ? [] : [text.length]));
  const length = texts.reduce((sum, each) => sum + each, 0) / texts.length;
  if (pairs < PAIRS_MIN || continuing < CONTINUING_MIN * pairs || length < LINE_CHARACTERS_MIN) return null;
  return first.flatMap((title, column) => {
    const text = joined(body.map((row) => row[column]?.text ?? "").filter((line) => line !== ""));
    return hasTitles && title.text !== "" ? [`${title.text.replace(/\s*:$/, "")}: ${text}`] : [text];
  });
}

/** Texts that introduce the lines below them, such as `Bill to:`; null if a text of the row does not. */
function introducing(row: readonly Cell[]): readonly string[] | null {
  const titles = row.map(({ text }) => text);
  return titles.length > 1 && titles.every((text) => /\p{L}\s*:$/u.test(text)) ? titles : null;
}

function continues(above: string, line: string): boolean {
  return /^\p{Ll}/u.test(line) && !/[.!?:]$/.test(above);
}

/** Joins lines, and words that are split between them. */
function joined(lines: readonly string[]): string {
  return lines.reduce((text, line) =>
    /\p{Ll}[-\u00ad]$/u.test(text) && /^\p{Ll}/u.test(line) ? text.slice(0, -1) + line : `${text} ${line}`,
  );
}
