// Compares the stores of record at one moment: rows with texts, their versions, sizes and hashes, and rows with
// uploaded files.

import { stat } from "node:fs/promises";
import { type Defect, type DefectKind, EXAMPLES_MAX, type Verification } from "../../../domain/verification.ts";
import { keptFileOf } from "../../rows/memory-file.ts";
import type { Snapshot } from "../snapshot.ts";

/** Memory keys that one query covers. */
const WINDOW_KEYS = 1_024n;

const ROWS = `SELECT memory_key, id, version, status, content_bytes, content_sha256, source, deleted_at FROM memories
  WHERE memory_key BETWEEN $first AND $last ORDER BY memory_key`;
const LAST_KEY = "SELECT ifnull(max(memory_key), 0) AS key FROM memories";

interface Row {
  readonly memory_key: bigint;
  readonly id: string;
  readonly version: bigint;
  readonly status: string;
  readonly content_bytes: bigint;
  readonly content_sha256: Uint8Array;
  readonly source: string | null;
  readonly deleted_at: bigint | null;
}

type Text = readonly [memoryKey: bigint, version: number, bytes: bigint, sha256: string];

/** Compares the stores of a snapshot. `uploads` has the names of the files that were there before the snapshot. */
export async function verify(snapshot: Snapshot, uploads: readonly string[]): Promise<Verification> {
  const defects = new Defects();
  const unreferenced = new Set(uploads);
  const counts = { memories: 0, texts: 0, uploads: uploads.length };
  for (let first = 0n; first <= (await lastKey(snapshot)); first += WINDOW_KEYS) {
    const last = first + WINDOW_KEYS - 1n;
    const texts = await textsBetween(snapshot, first, last);
    const rows = snapshot.rows.prepare<Row, { first: bigint; last: bigint }>(ROWS).all({ first, last });
    counts.texts += texts.size;
    for (const row of rows) {
      const text = texts.get(row.memory_key);
      texts.delete(row.memory_key);
      if (row.deleted_at !== null) continue;
      counts.memories += 1;
      const defect = row.status === "completed" ? textDefect(row, text) : null;
      if (defect !== null) defects.add(defect, row.id);
      const file = keptFileOf(row);
      if (file === null) continue;
      unreferenced.delete(file);
      const found = await stat(snapshot.pathOf(file)).catch(ifMissing);
      if (found?.size !== Number(row.content_bytes)) defects.add("missing_upload", row.id);
    }
    for (const key of texts.keys()) defects.add("surplus_text", String(key));
  }
  for (const name of unreferenced) defects.add("surplus_upload", name);
  const found = defects.list();
  return { is_sound: found.length === 0, ...counts, defects: found };
}

function textDefect(row: Row, text: Text | undefined): DefectKind | null {
  if (text === undefined) return "missing_text";
  const [, version, bytes, sha256] = text;
  if (BigInt(version) !== row.version) return "other_version";
  // the row of an uploaded file has the hash of the file
  const isHashRight = row.source !== null || sha256 === Buffer.from(row.content_sha256).toString("hex");
  return bytes === row.content_bytes && isHashRight ? null : "wrong_text";
}

async function textsBetween({ texts }: Snapshot, first: bigint, last: bigint): Promise<Map<bigint, Text>> {
  const found = new Map<bigint, Text>();
  const sql = `SELECT memory_key, max(version), sum(strlen(content))::UBIGINT, sha256(string_agg(content, '' ORDER BY piece))
    FROM texts WHERE memory_key BETWEEN ${first} AND ${last} GROUP BY memory_key`;
  for await (const rows of texts.rows<Text>(sql)) for (const text of rows) found.set(text[0], text);
  return found;
}

async function lastKey({ rows, texts }: Snapshot): Promise<bigint> {
  let last = rows.prepare<{ key: bigint }>(LAST_KEY).get({})?.key ?? 0n;
  for await (const found of texts.rows<readonly [bigint]>("SELECT ifnull(max(memory_key), 0)::UBIGINT FROM texts")) {
    const key = found[0]?.[0] ?? 0n;
    if (key > last) last = key;
  }
  return last;
}

class Defects {
  readonly #found = new Map<DefectKind, { count: number; examples: string[] }>();

  add(kind: DefectKind, example: string): void {
    const known = this.#found.get(kind) ?? { count: 0, examples: [] };
    this.#found.set(kind, known);
    known.count += 1;
    if (known.examples.length < EXAMPLES_MAX) known.examples.push(example);
  }

  list(): readonly Defect[] {
    return Array.from(this.#found, ([kind, found]) => ({ kind, ...found }));
  }
}

function ifMissing(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}
