// Reads and writes the recorded figures of a bench: a JSON file with date, machine, versions and rows.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isoTime, systemClock } from "../../src/kit/clock.ts";
import { isRecord } from "../../src/kit/record.ts";
import { theseVersions, thisMachine } from "./machine.ts";

/** One row of results: strings identify what was measured, numbers are the results. */
export type Row = Readonly<Record<string, string | number>>;

const FOLDER = join(import.meta.dir, "../results");

/** The rows of the last recorded run with this name; empty if there is none. */
export function lastRows(name: string): readonly Row[] {
  const path = join(FOLDER, `${name}.json`);
  if (!existsSync(path)) return [];
  const record: unknown = JSON.parse(readFileSync(path, "utf8"));
  return isRecord(record) && Array.isArray(record.rows) ? (record.rows as Row[]) : [];
}

/**
 * Writes `bench/results/<name>.json`, replacing the file of the last run. Files of older runs are in version control.
 */
export function writeRows(name: string, rows: readonly Row[]): string {
  const path = join(FOLDER, `${name}.json`);
  mkdirSync(dirname(path), { recursive: true });
  const record = {
    date: isoTime(systemClock.now()),
    machine: thisMachine(),
    versions: theseVersions(),
    rows,
  };
  writeFileSync(path, `${JSON.stringify(record, null, 2)}\n`);
  return path;
}

/** Writes `bench/results/<file>`, such as a chart of the rows. */
export function writeText(file: string, text: string): string {
  const path = join(FOLDER, file);
  writeFileSync(path, text);
  return path;
}

/** The row with the same values in the columns `keys`. */
export function sameRow(rows: readonly Row[], row: Row, keys: readonly string[]): Row | undefined {
  return rows.find((other) => keys.every((key) => other[key] === row[key]));
}
