// A snapshot of the DuckDB file: reads what was committed at one moment, while writes go on. database.ts opens it.

import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";
import { storeError } from "../../../stores/store-error.ts";

/** A value of a row. A VARCHAR is a string, UBIGINT a bigint, UINTEGER a number, VARCHAR[] an array of strings. */
export type Cell = string | bigint | number | readonly string[];

/** Number of rows that are converted before other work may run: 256 texts take about a millisecond. */
const ROWS_PER_TURN = 256;

/** The file as it was at one moment. One query at a time. */
export class DuckSnapshot {
  #isClosed = false;
  /** Resolves when no call of the connection is running. */
  #idle: Promise<unknown> = Promise.resolve();
  /** The result that is read in slices, until its end is reached. */
  #unfinished: DuckDBResult | null = null;

  constructor(
    private readonly connection: DuckDBConnection,
    private readonly path: string,
    private readonly onClose: () => void,
  ) {}

  /** Takes the snapshot. Call it once, before `rows`. */
  async begin(): Promise<void> {
    await this.#call(() => this.connection.run("BEGIN"));
    await this.#call(() => this.connection.run("SELECT schema_version FROM meta")); // the first read takes the snapshot
  }

  /**
   * The rows of a query, in slices.
   * @throws StoreError if the snapshot was lost, because the file had to be reopened or the server stops
   */
  async *rows<Row extends readonly Cell[]>(sql: string): AsyncGenerator<readonly Row[]> {
    await this.#call(() => this.#finish());
    await this.#call(async () => {
      this.#unfinished = await this.connection.stream(sql);
    });
    for (;;) {
      const chunk = await this.#call(() => this.#nextChunk());
      if (chunk === null) return;
      const columns = Array.from({ length: chunk.columnCount }, (_, column) => chunk.getColumnVector(column));
      for (let first = 0; first < chunk.rowCount; first += ROWS_PER_TURN) {
        const count = Math.min(ROWS_PER_TURN, chunk.rowCount - first);
        yield Array.from({ length: count }, (_, at) =>
          columns.map((column) => toCell(column.getItem(first + at))),
        ) as unknown as Row[];
        await new Promise(setImmediate);
      }
    }
  }

  /** Ends the snapshot. A second call does nothing. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#idle;
    if (this.#unfinished !== null) this.connection.interrupt();
    await this.#finish();
    this.connection.disconnectSync();
    this.onClose();
  }

  /** The next rows of the unfinished result; null at its end, and if there is none. */
  async #nextChunk(): Promise<DuckDBDataChunk | null> {
    const chunk = (await this.#unfinished?.fetchChunk()) ?? null;
    if (chunk !== null && chunk.rowCount > 0) return chunk;
    this.#unfinished = null;
    return null;
  }

  /**
   * Reads an unfinished result to its end. Until then DuckDB keeps the file open, even after its last connection and
   * its instance are closed. If the file were opened again meanwhile, two instances would write to it.
   */
  async #finish(): Promise<void> {
    try {
      while ((await this.#nextChunk()) !== null);
    } catch {
      this.#unfinished = null; // an interrupted result ends with an error
    }
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw storeError("io", this.path, new Error("the snapshot was closed"));
    const running = call();
    this.#idle = Promise.allSettled([running]);
    return running;
  }
}

// DuckDB returns a list as an object whose property `items` is the array.
function toCell(value: unknown): Cell {
  const isList = typeof value === "object" && value !== null && "items" in value;
  return (isList ? value.items : value) as Cell;
}
