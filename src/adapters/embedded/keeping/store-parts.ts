// Reads all stores from a snapshot as parts (domain/store-copy.ts). Parts end where a hash of the row's key says so, so
// that a change of some rows changes the few parts around them only. store-writer.ts makes stores of parts.

import { open } from "node:fs/promises";
import {
  type FilledPart,
  STORE_COPY_VERSION,
  type StorePart,
  type StoreSummary,
  type TableLayout,
} from "../../../domain/store-copy.ts";
import { isoTime } from "../../../kit/clock.ts";
import { TimeSlice } from "../../../kit/time-slice.ts";
import { VERSION } from "../../../kit/version.ts";
import { type FullPart, PART_BYTES_MAX, PartLines } from "../../../stores/rows/part-lines.ts";
import { encodeRow } from "../../../stores/rows/row-lines.ts";
import { SEQUENCE_TABLE, tablesOf } from "../../../stores/sqlite/layout.ts";
import { isTransient } from "../duckdb/rewriting.ts";
import type { Cell } from "../duckdb/snapshot.ts";
import type { Snapshot } from "../snapshot.ts";

/**
 * Rest between two slices of the work, in milliseconds. With it, a copy takes at most about half of the time of the
 * thread, so that most steps of searches find it free.
 */
const REST_MS = 1;
/** Memory keys that one query of the texts covers. */
const WINDOW_KEYS = 1_024n;

const COUNTS: Readonly<Record<keyof StoreSummary["counts"], string>> = {
  projects: "SELECT count(*) AS n FROM projects WHERE deleted_at IS NULL",
  memories: "SELECT count(*) AS n FROM memories WHERE deleted_at IS NULL",
  users: "SELECT count(*) AS n FROM users WHERE known_key IS NOT NULL",
  chats: "SELECT count(*) AS n FROM chats",
  uploads: "SELECT count(*) AS n FROM memories WHERE source ->> '$.file' IS NOT NULL",
};
const UPLOADS =
  "SELECT DISTINCT source ->> '$.file' AS name FROM memories WHERE source ->> '$.file' IS NOT NULL ORDER BY 1";

/** What the copy of a snapshot contains. */
export async function summaryOf({ rows, texts, index }: Snapshot, now: number): Promise<StoreSummary> {
  const number = (sql: string) =>
    Number(Object.values(rows.prepare<Record<string, bigint>>(sql).get({}) ?? {})[0] ?? 0n);
  const counts = Object.fromEntries(Object.entries(COUNTS).map(([name, sql]) => [name, number(sql)]));
  let [textsVersion, textBytes] = [0, 0];
  for await (const found of texts.rows<readonly [number]>("SELECT max(schema_version) FROM meta")) {
    textsVersion = found[0]?.[0] ?? 0;
  }
  for await (const found of texts.rows<readonly [bigint]>("SELECT (count(*) * 1200)::UBIGINT FROM texts")) {
    textBytes = Number(found[0]?.[0] ?? 0n);
  }
  const indexBytes = index.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    has_index: index.length > 0,
    ...{ version: STORE_COPY_VERSION, mneme: VERSION, taken_at: isoTime(now) },
    ...{ rows_version: number("PRAGMA user_version"), texts_version: textsVersion },
    counts: counts as StoreSummary["counts"],
    bytes_estimated: number("PRAGMA page_count") * number("PRAGMA page_size") + textBytes + indexBytes,
  };
}

/** All parts of a snapshot: rows, then texts, then uploaded files. */
export async function* partsOf(snapshot: Snapshot): AsyncGenerator<FilledPart> {
  for (const table of tablesOf(snapshot.rows)) yield* rowParts(snapshot, table);
  // the last: inserting into other tables changes it
  yield* rowParts(snapshot, { table: SEQUENCE_TABLE, columns: ["name", "seq"], keys: [], isNumbered: false });
  for (const table of await textTables(snapshot)) yield* textParts(snapshot, table);
  for (const { name } of snapshot.rows.prepare<{ name: string }>(UPLOADS).all({})) {
    const whole = { path: snapshot.pathOf(name), bytes: Number.MAX_SAFE_INTEGER };
    yield* fileParts(whole, (offset) => ({ kind: "upload", name, offset }));
  }
  for (const { path, link, bytes } of snapshot.index) {
    yield* fileParts({ path: link, bytes }, (offset) => ({ kind: "index", path, offset }));
  }
}

async function* rowParts({ rows }: Snapshot, { table, columns: names, keys }: TableLayout): AsyncGenerator<FilledPart> {
  const order = keys.length === 0 ? "rowid" : keys.join(", ");
  const lines = new PartLines();
  const found = rows.prepare<Readonly<Record<string, Cell | Uint8Array | null>>>(
    `SELECT ${names.join(", ")} FROM ${table} ORDER BY ${order}`,
  );
  const slice = new TimeSlice(REST_MS);
  for (const row of found.iterate({})) {
    const full = lines.add(encodeRow(names.map((name) => row[name] ?? null)), keys.map((name) => row[name]).join());
    if (full !== null) yield { part: { kind: "rows", table, columns: names, rows: full.rows }, bytes: full.bytes };
    await slice.next();
  }
  const last = lines.end();
  if (last !== null) yield { part: { kind: "rows", table, columns: names, rows: last.rows }, bytes: last.bytes };
}

/** The tables of the texts, without those that exist only while removed texts are erased from the file. */
export async function textTables({ texts }: Pick<Snapshot, "texts">): Promise<readonly string[]> {
  const tables: string[] = [];
  for await (const found of texts.rows<readonly [string]>("SELECT table_name FROM duckdb_tables() ORDER BY 1")) {
    tables.push(...found.map(([name]) => name).filter((name) => !isTransient(name)));
  }
  return tables;
}

/** The parts of one table of the texts. */
export async function* textParts({ texts }: Pick<Snapshot, "texts">, table: string): AsyncGenerator<FilledPart> {
  const names: string[] = [];
  const order: string[] = [];
  const sql = `SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '${table}' ORDER BY column_index`;
  for await (const found of texts.rows<readonly [string, string]>(sql)) {
    names.push(...found.map(([name]) => name));
    order.push(...found.filter(([, type]) => !type.startsWith("VARCHAR")).map(([name]) => name));
  }
  const keyAt = names.indexOf("memory_key");
  const select = `SELECT ${names.join(", ")} FROM ${table}`;
  const lines = new PartLines();
  const filled = (full: FullPart): FilledPart => ({
    part: { kind: "texts", table, columns: names, rows: full.rows },
    bytes: full.bytes,
  });
  const windows = keyAt === -1 ? [`${select} ORDER BY ALL`] : windowQueries(texts, table, select, order);
  const slice = new TimeSlice(REST_MS);
  for await (const query of windows) {
    for await (const rows of texts.rows(query)) {
      for (const row of rows) {
        const full = lines.add(encodeRow(row), String(row[Math.max(0, keyAt)]));
        if (full !== null) yield filled(full);
        await slice.next();
      }
    }
  }
  const last = lines.end();
  if (last !== null) yield filled(last);
}

/** One query per window of memory keys, because sorting all texts at once would need more memory than DuckDB has. */
async function* windowQueries(
  texts: Snapshot["texts"],
  table: string,
  select: string,
  order: readonly string[],
): AsyncGenerator<string> {
  let [first, last] = [1n, 0n];
  const range = `SELECT ifnull(min(memory_key), 1)::UBIGINT, ifnull(max(memory_key), 0)::UBIGINT FROM ${table}`;
  for await (const found of texts.rows<readonly [bigint, bigint]>(range)) [first, last] = found[0] ?? [1n, 0n];
  const columns = ["memory_key", ...order.filter((name) => name !== "memory_key")].join(", ");
  for (let from = first - (first % WINDOW_KEYS); from <= last; from += WINDOW_KEYS) {
    yield `${select} WHERE memory_key BETWEEN ${from} AND ${from + WINDOW_KEYS - 1n} ORDER BY ${columns}`;
  }
}

/** The first `bytes` bytes of a file. An empty file has one empty part. */
async function* fileParts(
  { path, bytes }: { readonly path: string; readonly bytes: number },
  toPart: (offset: number) => StorePart,
): AsyncGenerator<FilledPart> {
  const file = await open(path, "r");
  try {
    for (let offset = 0; ; ) {
      const length = Math.min(PART_BYTES_MAX, bytes - offset);
      const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, offset);
      if (bytesRead === 0 && offset > 0) return;
      yield { part: toPart(offset), bytes: buffer.subarray(0, bytesRead) };
      if (bytesRead === 0) return;
      offset += bytesRead;
    }
  } finally {
    await file.close();
  }
}
