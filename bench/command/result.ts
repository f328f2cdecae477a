// The result of a benchmark: tables with named columns, the machine, the versions and the models. The JSON file of a
// run is exactly this; report.ts and compare.ts read it.

import { UsageError } from "../../src/kit/flags.ts";
import { isRecord } from "../../src/kit/record.ts";
import type { Chart } from "../lib/chart.ts";
import type { Machine, Versions } from "../lib/machine.ts";

/** Version of the format of the JSON files. */
export const SCHEMA_VERSION = 1;

/** A cell; null if there is no figure. */
export type Cell = string | number | null;

/** A column of a table. */
export interface Column {
  /** Name in the rows. */
  readonly key: string;
  readonly title: string;
  /** Unit of the numbers, such as `ms`; an empty text for numbers without a unit, and for names. */
  readonly unit: string;
  /** Whether the column tells a row from the others. Only other columns are compared between runs. */
  readonly isKey: boolean;
  /** Which figures are better; null if neither, so that the column is not compared. */
  readonly better: "lower" | "higher" | null;
}

/** A table of figures. */
export interface Table {
  readonly name: string;
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Readonly<Record<string, Cell>>[];
}

/** What a benchmark measured. */
export interface Findings {
  readonly tables: readonly Table[];
  readonly chart: Chart;
  /** Sentences that a reader of the figures must know. */
  readonly notes: readonly string[];
  /** Prompts of language models by name, so that others can judge the figures. */
  readonly prompts?: Readonly<Record<string, string>>;
}

/** A run of a benchmark. */
export interface Result extends Findings {
  readonly schema_version: number;
  readonly benchmark: string;
  /** Start of the run, ISO 8601. */
  readonly started_at: string;
  readonly seconds: number;
  readonly machine: Machine;
  readonly versions: Versions;
  readonly models: { readonly embedder: string; readonly fingerprint: string; readonly reranker: string | null };
  /** Options of the run that change the figures. */
  readonly options: Readonly<Record<string, Cell>>;
}

/** A column that tells rows apart. */
export function keyColumn(key: string, title = key): Column {
  return { key, title, unit: "", isKey: true, better: null };
}

/** A column of figures. */
export function figureColumn(key: string, title: string, unit: string, better: Column["better"]): Column {
  return { key, title, unit, isKey: false, better };
}

/**
 * Parses the JSON of a result.
 * @param name name of the file, for messages
 * @throws UsageError if it is not the result of a benchmark, or has another version of the format
 */
export function parseResult(text: string, name: string): Result {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${name} is not valid JSON.`, { cause });
  }
  if (!isRecord(value) || typeof value.benchmark !== "string" || !Array.isArray(value.tables)) {
    throw new UsageError(`${name} is not a result of mneme bench.`);
  }
  if (value.schema_version !== SCHEMA_VERSION) {
    throw new UsageError(
      `${name} has format version ${String(value.schema_version)}; this version of Mneme reads ${SCHEMA_VERSION}.`,
    );
  }
  const isTable = (table: unknown) =>
    isRecord(table) && typeof table.name === "string" && Array.isArray(table.columns) && Array.isArray(table.rows);
  if (!value.tables.every(isTable) || !isRecord(value.machine) || !isRecord(value.options) || !isRecord(value.models)) {
    throw new UsageError(`${name} is incomplete: it lacks tables, machine, models or options.`);
  }
  return value as unknown as Result;
}

/** Rounds to four significant digits, so that files and tables do not pretend a precision that no run has. */
export function significant(value: number): number {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : value;
}

/** A figure, or null if it is not finite. */
export function figure(value: number): number | null {
  return Number.isFinite(value) ? significant(value) : null;
}

/** `value / limit`; null if either is missing, or the limit is 0. */
export function ratio(value: number | null, limit: number | null): number | null {
  return value === null || limit === null || limit === 0 ? null : significant(value / limit);
}

/** The number in a cell; null if it has none. */
export function numeric(cell: Cell | undefined): number | null {
  return typeof cell === "number" ? cell : null;
}
