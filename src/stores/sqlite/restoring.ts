// A SQLite file that a restore fills with rows, table by table. Triggers and foreign keys have no effect until all rows
// are in it.

import { StoreError } from "../store-error.ts";
import type { SqliteDatabase } from "./database.ts";
import { openDatabase } from "./open-database.ts";
import type { NamedValues } from "./statement.ts";

type Value = NamedValues[string];

const TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
const TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
const COLUMNS = "SELECT name FROM pragma_table_info($table)";
/** SQLite's own table of the largest keys. It exists, but is not among the tables of the schema. */
const SEQUENCE = "sqlite_sequence";

/** Table of an unfinished file with the progress of the restore. */
const PROGRESS = "restoring_progress";
/** Table of an unfinished file with the triggers that `finish` restores. */
const TRIGGER_TABLE = "restoring_triggers";
const HAS_PROGRESS = `SELECT name FROM sqlite_schema WHERE name = '${PROGRESS}'`;
const KEPT_TRIGGERS = `SELECT name, sql FROM ${TRIGGER_TABLE}`;
/** Name under which the number of written parts is noted. */
export const PARTS = "parts";

/** A file that a restore fills. */
export class RestoringDatabase {
  readonly #database: SqliteDatabase;
  readonly #triggers: readonly { readonly name: string; readonly sql: string }[];
  readonly #inserts = new Map<string, string>();

  /**
   * Creates the file with the empty tables of a schema version, or opens one that is not finished.
   * @throws StoreError if the file cannot be written
   */
  constructor(path: string, version: number) {
    this.#database = openDatabase(path, { schemaVersionMax: version });
    this.#read("PRAGMA foreign_keys = OFF");
    this.#read("PRAGMA synchronous = NORMAL"); // `finish` makes everything durable at once
    if (this.#read(HAS_PROGRESS).length > 0) {
      this.#triggers = this.#read(KEPT_TRIGGERS);
      return;
    }
    this.#triggers = this.#read(TRIGGERS);
    this.#database.transaction(() => {
      for (const { name } of this.#read<{ name: string }>(TABLES)) this.#read(`DELETE FROM ${name}`);
      this.#read(`CREATE TABLE ${PROGRESS} (what TEXT PRIMARY KEY, done TEXT NOT NULL)`);
      this.#read(`CREATE TABLE ${TRIGGER_TABLE} (name TEXT PRIMARY KEY, sql TEXT NOT NULL)`);
      const keep = `INSERT INTO ${TRIGGER_TABLE} (name, sql) VALUES ($name, $sql)`;
      for (const { name, sql } of this.#triggers) {
        this.#database.prepare<never, NamedValues>(keep).run({ name, sql });
        this.#read(`DROP TRIGGER ${name}`);
      }
    });
  }

  /** The open file, for reading. */
  get database(): SqliteDatabase {
    return this.#database;
  }

  /** The progress of something, as the last `note` set it; null if there is none. */
  progressOf(what: string): string | null {
    const sql = `SELECT done FROM ${PROGRESS} WHERE what = $what`;
    return this.#database.prepare<{ done: string }, NamedValues>(sql).get({ what })?.done ?? null;
  }

  /** Stores the progress of something. */
  note(what: string, done: string): void {
    const sql = `INSERT INTO ${PROGRESS} (what, done) VALUES ($what, $done)
      ON CONFLICT (what) DO UPDATE SET done = excluded.done`;
    this.#database.prepare<never, NamedValues>(sql).run({ what, done });
  }

  /**
   * Inserts rows, and notes `progress` as the number of written parts in the same transaction.
   * @throws StoreError if the table or a column does not exist, or a row is not valid
   */
  insert(table: string, columns: readonly string[], rows: readonly (readonly unknown[])[], progress: string): void {
    const sql = this.#insertInto(table, columns);
    this.#database.transaction(() => {
      this.note(PARTS, progress);
      for (const row of rows) {
        const values = Object.fromEntries(row.map((value, at) => [`v${at}`, value as Value]));
        this.#database.prepare<never, NamedValues>(sql).run(values);
      }
    });
  }

  /** Stores the progress of several things in one transaction. */
  noteAll(progress: Readonly<Record<string, string>>): void {
    this.#database.transaction(() => {
      for (const [what, done] of Object.entries(progress)) this.note(what, done);
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
    for (const table of [PROGRESS, TRIGGER_TABLE]) this.#read(`DROP TABLE ${table}`);
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
    if (table === SEQUENCE) this.#read(`DELETE FROM ${SEQUENCE}`); // inserts into other tables have filled it
    const sql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map((_, at) => `$v${at}`).join(", ")})`;
    this.#inserts.set(key, sql);
    return sql;
  }

  #read<Row = unknown>(sql: string): Row[] {
    return this.#database.prepare<Row>(sql).all({});
  }
}
