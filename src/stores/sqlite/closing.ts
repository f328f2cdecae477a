// Closes mneme.sqlite to changes while its data is moved: triggers refuse them, whichever process makes them. It can
// still be read. The state is in the file, so it outlasts the command that closed it.

import type { SqliteDatabase } from "./database.ts";
import { CLOSED_MESSAGE } from "./errors.ts";

const PREFIX = "mneme_closed";
/** The table with the number of commits. Every transaction changes it, so it stays open. */
const OPEN = "store";
/** Changes of this table are ignored instead of refused: queries are answered, but not counted. */
const UNCOUNTED = "monthly_usage";

const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '${OPEN}'`;
const TRIGGERS = `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '${PREFIX}%'`;

/** Refuses changes after this transaction, unless they are refused already. */
export function closeRows(database: SqliteDatabase): void {
  if (closingOf(database) !== null) return;
  const id = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
  for (const { name: table } of database.prepare<{ name: string }>(TABLES).all({})) {
    const refuse = table === UNCOUNTED ? "RAISE(IGNORE)" : `RAISE(ABORT, '${CLOSED_MESSAGE}')`;
    for (const change of ["INSERT", "UPDATE", "DELETE"]) {
      const trigger = `${PREFIX}_${id}_${change.toLowerCase()}_${table}`;
      database.prepare(`CREATE TRIGGER ${trigger} BEFORE ${change} ON ${table} BEGIN SELECT ${refuse}; END`).run({});
    }
  }
}

/** Allows changes again after this transaction. */
export function reopenRows(database: SqliteDatabase): void {
  for (const { name } of database.prepare<{ name: string }>(TRIGGERS).all({})) {
    database.prepare(`DROP TRIGGER ${name}`).run({});
  }
}

/** A random id of this closing; null if changes are allowed. Between two closings, rows may have changed. */
export function closingOf(database: Pick<SqliteDatabase, "prepare">): string | null {
  const found = database.prepare<{ name: string }>(TRIGGERS).get({});
  return found === null ? null : (found.name.split("_")[2] ?? null);
}
