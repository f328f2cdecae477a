// What a test service has stored, read and changed beside it, whether its rows are in SQLite or in PostgreSQL.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { besideTransactions } from "./beside-transactions.ts";
import { executeNow } from "./postgres.ts";
import type { TestService } from "./service.ts";

/** The rows of a table. Bytes are a Buffer. */
export type Rows = readonly Readonly<Record<string, unknown>>[];

type Place = Pick<TestService, "dataDir" | "database">;

/** PostgreSQL's tables of texts; beside SQLite they are in DuckDB. */
const NOT_ROWS = ["texts", "chunks", "mneme_store"];

/** The rows of all tables by the name of the table. */
export function storedRows({ dataDir, database: url }: Place): ReadonlyMap<string, Rows> {
  if (url !== null) return rowsInPostgres(url);
  const database = new Database(join(dataDir, "mneme.sqlite"), { readonly: true });
  try {
    const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    return new Map(tables.map(({ name }) => [name, database.query<Rows[number], []>(`SELECT * FROM "${name}"`).all()]));
  } finally {
    database.close();
  }
}

/** Runs statements that both dialects understand. */
export function changeRows(place: Place, ...statements: readonly string[]): Promise<void> {
  return besideTransactions(() => changeRowsNow(place, statements));
}

function changeRowsNow({ dataDir, database: url }: Place, statements: readonly string[]): void {
  if (url !== null) {
    executeNow(url, statements.join(";"));
    return;
  }
  const database = openDatabase(join(dataDir, "mneme.sqlite"));
  try {
    for (const statement of statements) database.prepare(statement).run({});
  } finally {
    database.close();
  }
}

function rowsInPostgres(url: string): ReadonlyMap<string, Rows> {
  const names = executeNow(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split("\n");
  const tables = names.filter((name) => !NOT_ROWS.includes(name));
  const parts = tables.map((name) => `'${name}', (SELECT coalesce(json_agg(row), '[]') FROM ${name} AS row)`);
  const all = JSON.parse(executeNow(url, `SELECT json_build_object(${parts.join(",")})`)) as Record<string, Rows>;
  return new Map(Object.entries(all).map(([name, rows]) => [name, rows.map(withBuffers)]));
}

function withBuffers(row: Rows[number]): Rows[number] {
  const isBytes = (value: unknown): value is string => typeof value === "string" && /^\\x([0-9a-f]{2})*$/.test(value);
  const decoded = ([name, value]: [string, unknown]) => [
    name,
    isBytes(value) ? Buffer.from(value.slice(2), "hex") : value,
  ];
  return Object.fromEntries(Object.entries(row).map(decoded));
}
