// Ranges of cells of a sheet, as places in a spreadsheet name them: `B2:D14`, or `B2` for a single cell.

/** A rectangle of cells, including its bounds. Rows are counted from 1, columns from 0. */
export interface CellRange {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

/** The name of a range: `B2:D14`, or `B2` for a single cell. */
export function nameOfRange({ top, left, bottom, right }: CellRange): string {
  const from = `${lettersOf(left)}${top}`;
  return top === bottom && left === right ? from : `${from}:${lettersOf(right)}${bottom}`;
}

/** Parses the name of a range; null if the text is not a range. */
export function rangeOfName(name: string): CellRange | null {
  const [from = "", to = from] = name.split(":");
  const [start, end] = [cellOfName(from), cellOfName(to)];
  if (start === null || end === null) return null;
  return { top: start.row, left: start.column, bottom: end.row, right: end.column };
}

/** Parses the name of a cell (`B7`, `$B$7`); null if the text is not the name of a cell. */
export function cellOfName(name: string): { readonly row: number; readonly column: number } | null {
  const [, letters = "", row] = /^\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(name.trim()) ?? [];
  return row === undefined ? null : { row: Number(row), column: columnOfName(letters) ?? 0 };
}

/**
 * The column that the letters at the beginning of a name mean, from 0; null if there are none or more than three.
 * Avoids regular expressions, because it runs for every cell.
 */
export function columnOfName(name: string): number | null {
  let column = 0;
  let at = 0;
  for (; at < name.length; at++) {
    // clears the bit that distinguishes lower case from upper case
    const letter = (name.charCodeAt(at) & ~0x20) - 0x40;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return at === 0 || at > 3 ? null : column - 1;
}

/** The smallest range that contains both. */
export function unionOfRanges(one: CellRange, other: CellRange): CellRange {
  return {
    top: Math.min(one.top, other.top),
    left: Math.min(one.left, other.left),
    bottom: Math.max(one.bottom, other.bottom),
    right: Math.max(one.right, other.right),
  };
}

function lettersOf(column: number): string {
  let letters = "";
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(0x41 + ((rest - 1) % 26)) + letters;
  }
  return letters;
}
