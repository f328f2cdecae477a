// An unsynced SQLite database for the stores of record: it stays in the page cache. It is a file, because SQLite shares
// no database in memory between a connection that writes and one that reads meanwhile.

import { Database } from "bun:sqlite";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configure, connectReader } from "../../src/stores/sqlite/connections.ts";
import { SqliteDatabase, throwUncaught } from "../../src/stores/sqlite/database.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

/** SQLite's default number of pages in the log after which it is merged. */
const MERGED_PAGES = 1_000;

/** Tables that are empty in a new database. */
const EMPTIED = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('store', 'sequences')";

/** A database that the others are copies of, because migrations take longer. */
let empty: Uint8Array | null = null;

/** An empty database with today's tables. It does not survive a crash of the machine. */
export class UnsyncedDatabase {
  readonly writer: SqliteDatabase;
  /** Reads what was committed, also while a transaction is open. */
  readonly reader: SqliteDatabase;
  /** Number of commits. */
  commits = 0;
  /** Called within each commit, before its effects. */
  onCommit: () => void = () => undefined;
  readonly #folder = temporaryFolder();

  constructor() {
    empty ??= emptyDatabase();
    const path = join(this.#folder.path, "mneme.sqlite");
    writeFileSync(path, empty);
    const connection = new Database(path, { readwrite: true, safeIntegers: true, strict: true });
    configure(connection);
    connection.run("PRAGMA synchronous = OFF");
    connection.run(`PRAGMA wal_autocheckpoint = ${MERGED_PAGES}`);
    const changes = countedBy(this);
    this.writer = new SqliteDatabase(path, connection, throwUncaught, changes);
    this.reader = new SqliteDatabase(path, connectReader(path), throwUncaught, changes);
  }

  /** Undoes an open transaction and removes all rows, as if the database was opened now. */
  empty(): void {
    this.writer.rollback();
    this.onCommit = () => undefined;
    this.writer.transaction(() => {
      this.writer.prepare("PRAGMA defer_foreign_keys = ON").run({});
      for (const { name } of this.writer.prepare<{ name: string }>(EMPTIED).all({})) {
        this.writer.prepare(`DELETE FROM ${name}`).run({});
      }
      this.writer.prepare("UPDATE sequences SET next = 1").run({});
    });
  }

  close(): void {
    this.reader.close();
    this.writer.close();
    this.#folder.remove();
  }
}

function emptyDatabase(): Uint8Array {
  const connection = new Database(":memory:", { safeIntegers: true, strict: true });
  new SqliteDatabase(":memory:", connection, throwUncaught, { value: 0 }).migrate();
  const bytes = connection.serialize();
  connection.close();
  return bytes;
}

/** The number of commits of a database, as its connections count them. */
function countedBy(database: UnsyncedDatabase): { value: number } {
  return {
    get value() {
      return database.commits;
    },
    set value(commits) {
      database.commits = commits;
      database.onCommit();
    },
  };
}
