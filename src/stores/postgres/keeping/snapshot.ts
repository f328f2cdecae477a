// The database as it was at one moment: a read-only transaction that lasts as long as a copy is made.

import type { Bindings } from "../../session.ts";
import type { Client, Connection } from "../client.ts";
import { rowsOf } from "./transaction.ts";

const BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/** Numbers of rows that are fetched at once. The next one is chosen by the size of the rows before. */
const FETCHED_ROWS = [8, 64, 512, 2_048] as const;
/** Size of the rows that are fetched at once, in bytes. */
const FETCHED_BYTES = 2 * 1024 * 1024;

/** A read-only transaction. One statement at a time. */
export class DatabaseSnapshot {
  #cursors = 0;
  #isOpen = true;

  private constructor(private readonly connection: Connection) {}

  /** @throws DatabaseError if the database cannot be read */
  static async take(client: Client): Promise<DatabaseSnapshot> {
    const connection = await client.begin(BEGIN);
    await connection.query("SELECT 1", []); // the first statement takes the snapshot
    return new DatabaseSnapshot(connection);
  }

  /** All rows of a query. */
  all<Row>(sql: string, params: Bindings = {}): Promise<readonly Row[]> {
    return rowsOf<Row>(this.connection, sql, params);
  }

  /**
   * The rows of a query one by one.
   * @param hasContents whether a row may have megabytes, so that few are fetched at once
   */
  async *rows<Row extends object>(sql: string, hasContents: boolean): AsyncGenerator<Row> {
    const cursor = `copy_${this.#cursors++}`;
    await this.connection.execute(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`);
    let count: number = FETCHED_ROWS[0];
    for (;;) {
      const { rows } = await this.connection.query(`FETCH ${count} FROM ${cursor}`, []);
      let bytes = 0;
      for (const row of rows) {
        bytes += sizeOf(row);
        yield row as Row;
      }
      if (rows.length < count) break;
      const fitting = FETCHED_ROWS.findLast((rowCount) => (bytes / rows.length) * rowCount <= FETCHED_BYTES);
      count = hasContents ? FETCHED_ROWS[0] : (fitting ?? FETCHED_ROWS[0]);
    }
    await this.connection.execute(`CLOSE ${cursor}`);
  }

  /** Ends the snapshot. A second call does nothing. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.connection.end(true); // closing the connection ends the transaction, whatever its state
  }
}

function sizeOf(row: object): number {
  let bytes = 0;
  for (const value of Object.values(row)) bytes += typeof value === "bigint" || value === null ? 8 : value.length;
  return bytes;
}
