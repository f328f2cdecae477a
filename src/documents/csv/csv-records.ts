// Where the rows and cells of a table in a text file begin and end (RFC 4180, read as kindly as possible). What the rows mean is
// csv.ts's question.

/** What stands between two cells. */
export type Separator = "," | ";" | "\t" | "|";

/** A row, or a part of one that has very many cells. */
export interface CsvRecord {
  /** Without their quotes; white space as it stands. */
  readonly cells: readonly string[];
  /** Of the first of them, from 0. */
  readonly firstColumn: number;
}

/** Cells of a record at most, as many as a sheet of Excel has: a row with more goes on in the next record. */
export const CELLS_MAX = 16_384;
/** A quoted cell that is longer has lost its closing quote: then the opening one is a character as any other. */
export const QUOTED_UNITS_MAX = 1024 * 1024;

const QUOTE = 0x22;
const LINE_FEED = 0x0a;

/**
 * The rows of a table; empty lines are left out. Quotes count only where a cell begins; two of them within quotes are one; what
 * follows a closing quote belongs to the cell. Linear in the text's length.
 * @param separator null: a line is one cell
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

/** Reads whole records from `position` on; what is left after the last of them has to be read again, with more behind it. */
class RecordReader {
  position = 0;
  /** Of the record at `position`, where the row before it went on. */
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

  /** null: the text ends within the record, or before it. */
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

  /** A cell in quotes, to behind the closing one; null: it has none, `cut`: it may still be closed. */
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
      // a quote at the end may be the first of two
      if (close + 1 === text.length && !isLast) return "cut";
      value += text.slice(at, close);
      if (text.charCodeAt(close + 1) !== QUOTE) return { value, end: close + 1 };
      value += '"';
      at = close + 2;
    }
  }
}
