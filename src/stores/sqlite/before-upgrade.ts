// Reads the rows of a data directory of any earlier version, whether or not a server uses it, and changes nothing.

import { existsSync, statSync } from "node:fs";
import { readProjects, type StoredRows } from "../before-upgrade.ts";
import { connectReader } from "./connections.ts";
import { toStoreError } from "./errors.ts";
import { MIGRATIONS } from "./migrations.ts";

/** The rows in the file at `path`. @throws StoreError if it cannot be read */
export async function readRowsBeforeUpgrade(path: string): Promise<StoredRows> {
  try {
    const connection = connectReader(path);
    try {
      const all = (sql: string) => connection.query<Record<string, unknown>, []>(sql).all();
      const found = Number(all("PRAGMA user_version")[0]?.user_version ?? 0);
      const tables = new Set(
        all("SELECT name FROM sqlite_schema WHERE type = 'table'").map(({ name }) => String(name)),
      );
      const rows = await readProjects(tables, async (sql) => all(sql));
      const bytes = [path, `${path}-wal`].reduce((sum, file) => sum + (existsSync(file) ? statSync(file).size : 0), 0);
      return { schema: { found, supported: MIGRATIONS.length }, bytes, ...rows };
    } finally {
      connection.close(true);
    }
  } catch (error) {
    throw toStoreError(path, error);
  }
}
