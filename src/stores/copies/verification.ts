// Compares the stores of record at one moment: rows with texts, their versions, sizes and hashes, rows with uploaded
// files, and memories with their relations and earlier texts. repair.ts repairs what it finds.

import { createHash } from "node:crypto";
import { hashOfFile } from "../../domain/file-hash.ts";
import { type Defect, type DefectKind, EXAMPLES_MAX, type Verification } from "../../domain/verification.ts";
import type { Dialect } from "../dialect.ts";
import { storedSource } from "../rows/memory.ts";
import { keptFileOf } from "../rows/memory-file.ts";
import type { StoreSnapshot, TextSum } from "./snapshot.ts";

/** Number of memory keys that one query covers. */
const WINDOW_KEYS = 1_024n;

const ROWS = `SELECT memory_key, id, version, status, content_bytes, content_sha256, source,
    original_file, deleted_at FROM memories
  WHERE memory_key BETWEEN $first AND $last ORDER BY memory_key`;
const LAST_KEY = "SELECT max(memory_key) AS key FROM memories";

const STRAY_RELATIONS = `SELECT DISTINCT own.memory_key, own.id FROM (
    SELECT memory_key, other_key FROM relations UNION SELECT memory_key, other_key FROM earlier_relations) AS joined
    JOIN memories AS own ON own.memory_key = joined.memory_key
    JOIN memories AS other ON other.memory_key = joined.other_key
  WHERE own.deleted_at IS NOT NULL OR other.deleted_at IS NOT NULL
    OR coalesce(own.user_key, 0) <> coalesce(other.user_key, 0)
    OR coalesce(own.agent_id, '') <> coalesce(other.agent_id, '')`;
// the archive has an earlier text only until its memory is completed with another one
const LOST_EARLIER_TEXTS = `SELECT memories.memory_key, memories.id FROM earlier_texts JOIN memories USING (memory_key)
  WHERE earlier_texts.content IS NULL AND memories.status = 'completed' AND memories.deleted_at IS NULL`;
const wrongSupersessions = ({ json }: Dialect) => `SELECT memories.memory_key, memories.id
  FROM memories JOIN projects USING (project_key)
  WHERE memories.deleted_at IS NULL AND memories.status = 'completed'
    AND (memories.superseded_by IS NOT NULL OR memories.superseded_passages IS NOT NULL)
    <> EXISTS (SELECT 1 FROM relations JOIN memories AS newer ON newer.memory_key = relations.memory_key
      WHERE relations.other_key = memories.memory_key AND relations.kind = 'supersedes' AND relations.state = 'active'
        AND (relations.made_by = 'person' OR coalesce(${json("projects.settings")} ->> 'superseding', 'on') <> 'off')
        AND newer.deleted_at IS NULL)`;

interface Row {
  readonly memory_key: bigint;
  readonly id: string;
  readonly version: bigint;
  readonly status: string;
  readonly content_bytes: bigint;
  readonly content_sha256: Uint8Array;
  readonly source: string | null;
  readonly original_file: string | null;
  readonly deleted_at: bigint | null;
}

/** A defect of one memory, text or file. */
export interface FoundDefect {
  readonly kind: DefectKind;
  /** Id of a memory, key of a text, or name of a file. */
  readonly example: string;
  /** Key of the memory, or of the text that has no memory; absent for a file. */
  readonly memoryKey?: bigint;
  /** The version of the memory's row. */
  readonly version?: bigint;
  /** Name of the uploaded file. */
  readonly file?: string;
}

/** Result of a comparison. */
export interface StoreComparison {
  readonly counts: Pick<Verification, "memories" | "texts" | "uploads">;
  readonly found: readonly FoundDefect[];
}

/** Compares stores. `uploads` has the names of the files that were there before the snapshot. */
export async function compareStores(
  stores: StoreSnapshot,
  uploads: readonly string[],
  onProgress: (done: number, total: number) => void,
): Promise<StoreComparison> {
  const found: FoundDefect[] = [];
  const unreferenced = new Set(uploads);
  const counts = { memories: 0, texts: 0, uploads: uploads.length };
  const [lastRow] = await stores.rows.all<{ readonly key: bigint | null }>(LAST_KEY);
  const lastText = await stores.lastText();
  const end = (lastRow?.key ?? 0n) > lastText ? (lastRow?.key ?? 0n) : lastText;
  for (let first = 0n; first <= end; first += WINDOW_KEYS) {
    const last = first + WINDOW_KEYS - 1n;
    const texts = new Map((await stores.texts(first, last)).map((text) => [text.memoryKey, text]));
    const rows = await stores.rows.all<Row>(ROWS, { first, last });
    counts.texts += texts.size;
    for (const row of rows) {
      const text = texts.get(row.memory_key);
      texts.delete(row.memory_key);
      const file = keptFileOf(row);
      for (const name of [file, row.original_file]) if (name !== null) unreferenced.delete(name);
      if (row.deleted_at !== null) continue;
      counts.memories += 1;
      const defect = row.status === "completed" ? textDefect(row, text) : null;
      const { memory_key: memoryKey, version } = row;
      if (defect !== null) found.push({ kind: defect, example: row.id, memoryKey, version });
      if (file !== null) {
        if ((await stores.fileBytes(file)) === Number(row.content_bytes)) continue;
        found.push({ kind: "missing_upload", example: row.id, memoryKey, version, file });
      } else if (row.original_file !== null) {
        const kind = await originalDefect(stores, row, row.original_file);
        if (kind !== null) found.push({ kind, example: row.id, memoryKey, version, file: row.original_file });
      }
    }
    for (const key of texts.keys()) found.push({ kind: "surplus_text", example: String(key), memoryKey: key });
    onProgress(Number(last < end ? last : end), Number(end));
  }
  found.push(...(await rowDefects(stores)));
  for (const file of unreferenced) found.push({ kind: "surplus_upload", example: file, file });
  return { counts, found };
}

/**
 * Defects of rows: relations that should not exist, memories whose columns do not follow from their relations, and
 * earlier texts that are lost.
 */
async function rowDefects({ rows }: StoreSnapshot): Promise<readonly FoundDefect[]> {
  const found: FoundDefect[] = [];
  for (const [kind, sql] of [
    ["stray_relation", STRAY_RELATIONS],
    ["wrong_supersession", wrongSupersessions(rows.dialect)],
    ["lost_earlier_text", LOST_EARLIER_TEXTS],
  ] as const) {
    const defects = await rows.all<Pick<Row, "memory_key" | "id">>(sql);
    found.push(...defects.map(({ memory_key: memoryKey, id }) => ({ kind, example: id, memoryKey })));
  }
  return found;
}

/** Summarises defects by kind. */
export function defectsOf(found: readonly Pick<FoundDefect, "kind" | "example">[]): readonly Defect[] {
  return Array.from(
    Map.groupBy(found, ({ kind }) => kind),
    ([kind, ofKind]) => ({
      kind,
      count: ofKind.length,
      examples: ofKind.slice(0, EXAMPLES_MAX).map(({ example }) => example),
    }),
  );
}

/** What is wrong with the original of a memory whose text was read; null if nothing is. */
async function originalDefect(stores: StoreSnapshot, row: Row, name: string): Promise<DefectKind | null> {
  const source = storedSource(row);
  if ((await stores.fileBytes(name)) === null) return "missing_original";
  const hash = createHash("sha256");
  for await (const piece of stores.file(name)) hash.update(piece);
  const isSame = Buffer.from(row.content_sha256).equals(hashOfFile(hash.digest(), source?.media_type ?? ""));
  return isSame ? null : "damaged_original";
}

function textDefect(row: Row, text: TextSum | undefined): DefectKind | null {
  if (text === undefined) return "missing_text";
  const { version, bytes, sha256 } = text;
  if (version !== row.version) return "other_version";
  // the row of an uploaded file has the hash of the file
  const isHashRight = row.source !== null || sha256 === Buffer.from(row.content_sha256).toString("hex");
  return bytes === row.content_bytes && isHashRight ? null : "wrong_text";
}
