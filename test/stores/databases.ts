// Runs the tests of a store on each database.

import { describe } from "bun:test";
import type { OpenStores } from "../contract/stores.ts";
import { openPostgres, withPostgres } from "./open-postgres.ts";
import { openSqlite } from "./open-sqlite.ts";

/** Runs the tests of what a port promises; `open` makes empty stores on the database that is tested. */
export function onEachDatabase(port: string, tests: (open: OpenStores) => void): void {
  describe(`${port} on SQLite`, () => tests(openSqlite));
  withPostgres(port, () => describe(`${port} on PostgreSQL`, () => tests(openPostgres)));
}
