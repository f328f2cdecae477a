// The tables of mneme.sqlite, as the database itself lists them. Copies of the stores are made from this list, so that
// no column can be forgotten.

import { Database } from "bun:sqlite";
import { invariant } from "../../domain/fault.ts";
import type { TableLayout } from "../../domain/store-copy.ts";
import { SqliteDatabase, throwUncaught } from "./database.ts";
import { MIGRATIONS } from "./migrations.ts";

/** SQLite's own table of the largest keys. It is not among the tables of the schema. */
export const SEQUENCE_TABLE = "sqlite_sequence";

const TABLES = `SELECT name, sql FROM sqlite_schema
  WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`;
const COLUMNS = "SELECT name, pk FROM pragma_table_info($table) ORDER BY cid";

type OfTable = { readonly table: string };

/** All tables of a database. A table comes after each numbered table (`isNumbered`) whose key it has as a column. */
export function tablesOf(database: Pick<SqliteDatabase, "prepare">): readonly TableLayout[] {
  const found = database.prepare<{ name: string; sql: string }>(TABLES).all({});
  const layouts = found.map(({ name: table, sql }): TableLayout => {
    const columns = database.prepare<{ name: string; pk: bigint }, OfTable>(COLUMNS).all({ table });
    const keys = columns.filter(({ pk }) => pk > 0n).sort((one, other) => Number(one.pk - other.pk));
    return {
      table,
      columns: columns.map(({ name }) => name),
      keys: keys.map(({ name }) => name),
      isNumbered: /\bAUTOINCREMENT\b/.test(sql),
    };
  });
  const numbered = layouts.filter(({ isNumbered }) => isNumbered);
  const parentsOf = ({ table, columns }: TableLayout) =>
    numbered.filter((parent) => parent.table !== table && columns.includes(parent.keys.join()));
  const ordered: TableLayout[] = [];
  while (ordered.length < layouts.length) {
    const next = layouts.filter(
      (layout) => !ordered.includes(layout) && parentsOf(layout).every((parent) => ordered.includes(parent)),
    );
    invariant(next.length > 0, "tables refer to each other in a circle");
    ordered.push(...next);
  }
  return ordered;
}

/** The tables of a database with today's schema. */
export function currentTables(): readonly TableLayout[] {
  const connection = new Database(":memory:", { safeIntegers: true, strict: true });
  try {
    for (const sql of MIGRATIONS) connection.run(sql);
    return tablesOf(new SqliteDatabase(":memory:", connection, throwUncaught, { value: 0 }));
  } finally {
    connection.close();
  }
}
