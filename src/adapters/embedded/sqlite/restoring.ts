// A SQLite file that a restore fills with rows, table by table. Triggers and foreign keys have no effect until all rows
// are in it.

import { StoreError } from "../store-error.ts";
import { type Bindings, openDatabase, type SqliteDatabase } from "./database.ts";

type Value = Bindings[string];

const TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
const TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
const COLUMNS = "SELECT name FROM pragma_table_info($table)";
/** SQLite's own table of the largest keys. It exists, but is not among the tables of the schema. */
const SEQUENCE = "sqlite_sequence";

/** A file that a restore fills. */
export class RestoringDatabase {
  readonly #database: SqliteDatabase;
  readonly #triggers: readonly { readonly name: string; readonly sql: string }[];
  readonly #inserts = new Map<string, string>();

  /**
   * Creates the file with the empty tables of a schema version.
   * @throws StoreError if the file cannot be written
   */
  constructor(path: string, version: number) {
    this.#database = openDatabase(path, { schemaVersionMax: version });
    this.#read("PRAGMA foreign_keys = OFF");
    this.#read("PRAGMA synchronous = OFF"); // `finish` makes everything durable at once
    this.#triggers = this.#read(TRIGGERS);
    for (const { name } of this.#triggers) this.#read(`DROP TRIGGER ${name}`);
    for (const { name } of this.#read<{ name: string }>(TABLES)) this.#read(`DELETE FROM ${name}`);
  }

  /** @throws StoreError if the table or a column does not exist, or a row is not valid */
  insert(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[]): void {
    const sql = this.#insertInto(table, columns);
    this.#database.transaction(() => {
      for (const row of rows) {
        const values = Object.fromEntries(row.map((value, at) => [`v${at}`, value as Value]));
        this.#database.prepare<never, Bindings>(sql).run(values);
      }
    });
  }

  /** The number that a query returns as `n`. */
  count(sql: string): number {
    return Number(this.#read<{ n: bigint }>(sql)[0]?.n ?? 0n);
  }

  /** The keys that a query returns as `key`. */
  keys(sql: string): readonly bigint[] {
    return this.#read<{ key: bigint }>(sql).map(({ key }) => key);
  }

  /**
   * Restores triggers, checks the file, and makes it durable.
   * @throws StoreError `damaged` if rows refer to rows that do not exist
   */
  finish(): void {
    const broken = this.#read<{ table: string }>("PRAGMA foreign_key_check");
    if (broken.length > 0) {
      throw new StoreError("damaged", `${broken.length} rows of the backup refer to rows that it does not have.`);
    }
    for (const { sql } of this.#triggers) this.#read(sql);
    this.#read("PRAGMA synchronous = FULL");
    this.#read("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Closes the file. A second call does nothing. */
  close(): void {
    this.#database.close();
  }

  #insertInto(table: string, columns: readonly string[]): string {
    const key = JSON.stringify([table, columns]);
    const known = this.#inserts.get(key);
    if (known !== undefined) return known;
    const names = this.#database
      .prepare<{ name: string }, { table: string }>(COLUMNS)
      .all({ table })
      .map(({ name }) => name);
    const unknown = columns.find((name) => !names.includes(name));
    if (names.length === 0 || unknown !== undefined) {
      const what = unknown === undefined ? `table ${JSON.stringify(table)}` : `column ${JSON.stringify(unknown)}`;
      throw new StoreError("damaged", `The backup has a ${what} that does not belong to its version.`);
    }
    if (table === SEQUENCE) this.#read(`DELETE FROM ${SEQUENCE}`); // the rows so far come from the other inserts
    const sql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map((_, at) => `$v${at}`).join(", ")})`;
    this.#inserts.set(key, sql);
    return sql;
  }

  #read<Row = unknown>(sql: string): Row[] {
    return this.#database.prepare<Row>(sql).all({});
  }
}
