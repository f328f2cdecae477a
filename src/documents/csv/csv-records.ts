// Splits a table in a text file into rows and cells (RFC 4180; tolerates errors). csv.ts interprets the rows.

/** Character that separates two cells. */
export type Separator = "," | ";" | "\t" | "|";

/** A row, or a part of a row with very many cells. */
export interface CsvRecord {
  /** The cells without their quotes. White space around a value is kept. */
  readonly cells: readonly string[];
  /** Column of the first cell, counted from 0. */
  readonly firstColumn: number;
}

/** Maximum number of cells per record, as in an Excel sheet. A longer row continues in the next record. */
export const CELLS_MAX = 16_384;
/**
 * Maximum length of a quoted cell, in UTF-16 code units. If the closing quote does not follow within this length, it is
 * missing, and the opening quote is an ordinary character.
 */
export const QUOTED_UNITS_MAX = 1024 * 1024;

const QUOTE = 0x22;
const LINE_FEED = 0x0a;

/**
 * Reads the rows of a table and skips empty lines. A quote is special only at the beginning of a cell. Two quotes
 * within quotes are one quote. Text after a closing quote belongs to the cell. Takes linear time.
 * @param separator null if each line is one cell
 */
export function* recordsOf(pieces: Iterable<string>, separator: Separator | null): Generator<CsvRecord> {
  const reader = new RecordReader(separator);
  let text = "";
  for (const piece of pieces) {
    text += piece;
    yield* reader.read(text, false);
    text = text.slice(reader.position);
    reader.position = 0;
  }
  yield* reader.read(text, true);
}

/**
 * Reads complete records from `position` on. The caller keeps the text after the last complete record and passes it
 * again, followed by more text.
 */
class RecordReader {
  position = 0;
  /** First column of the record at `position`. It is not 0 if the record continues a row. */
  #firstColumn = 0;
  readonly #separator: number;

  constructor(separator: Separator | null) {
    this.#separator = separator === null ? -1 : separator.charCodeAt(0);
  }

  *read(text: string, isLast: boolean): Generator<CsvRecord> {
    for (let record = this.#record(text, isLast); record !== null; record = this.#record(text, isLast)) {
      if (record.cells.length > 1 || record.cells[0] !== "" || record.firstColumn > 0) yield record;
    }
  }

  /** The next record; null if the text ends before the end of the record. */
  #record(text: string, isLast: boolean): CsvRecord | null {
    if (this.position >= text.length) return null;
    const cells: string[] = [];
    let at = this.position;
    for (;;) {
      const quoted = this.#quotedCell(text, at, isLast);
      if (quoted === "cut") return null;
      const end = this.#cellEnd(text, quoted === null ? at : quoted.end);
      if (end === text.length && !isLast) return null;
      cells.push(quoted === null ? text.slice(at, end) : quoted.value + text.slice(quoted.end, end).trimEnd());
      at = end + 1;
      const isRowEnd = end >= text.length || text.charCodeAt(end) === LINE_FEED;
      if (isRowEnd || cells.length === CELLS_MAX) {
        const record = { cells, firstColumn: this.#firstColumn };
        this.#firstColumn = isRowEnd ? 0 : this.#firstColumn + cells.length;
        this.position = at;
        return record;
      }
    }
  }

  #cellEnd(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (unit === this.#separator || unit === LINE_FEED) return at;
    }
    return text.length;
  }

  /**
   * Reads a quoted cell up to its closing quote. Returns null if the cell is not quoted, and `cut` if the closing quote
   * may be in the next piece of text.
   */
  #quotedCell(
    text: string,
    from: number,
    isLast: boolean,
  ): { readonly value: string; readonly end: number } | "cut" | null {
    let start = from;
    while (text.charCodeAt(start) === 0x20) start++;
    if (text.charCodeAt(start) !== QUOTE) return null;
    let value = "";
    for (let at = start + 1; ; ) {
      const close = text.indexOf('"', at);
      if (close === -1 || close - start > QUOTED_UNITS_MAX) {
        const mayBeClosed = close === -1 && !isLast && text.length - start <= QUOTED_UNITS_MAX;
        return mayBeClosed ? "cut" : null;
      }
      // a quote at the end of the piece may be the first one of two, which mean one quote
      if (close + 1 === text.length && !isLast) return "cut";
      value += text.slice(at, close);
      if (text.charCodeAt(close + 1) !== QUOTE) return { value, end: close + 1 };
      value += '"';
      at = close + 2;
    }
  }
}
