// What a row says about the file of an upload, in its column `source`. The row only names the file; where files lie,
// and when they are kept and removed, is decided by those who call the stores.

import { createHash } from "node:crypto";
import type { MemorySource, ReceivedFile } from "../../../domain/memory.ts";
import type { UploadedFile } from "../../../ports/job-store.ts";
import type { SqliteDatabase } from "./database.ts";
import { type MemoryRow, type StoredSource, storedSource } from "./memory-row.ts";

/** Size and hash of a content. They tell whether a content is new after the text itself has left the row. */
export type ContentFingerprint = { readonly contentBytes: number; readonly contentSha256: Uint8Array };

/** Names per statement, so that a list of many thousand files does not become one parameter of megabytes. */
const STEP_FILES = 500;

const UNREFERENCED = `SELECT value AS name FROM json_each($names) WHERE NOT EXISTS (
    SELECT 1 FROM memories WHERE source ->> '$.file' = value AND source ->> '$.file' IS NOT NULL)`;

/** The column `source` of a memory whose file was not read yet. */
export function unreadSource({ file, source }: ReceivedFile): string {
  const stored: StoredSource = { ...source, file };
  return JSON.stringify(stored);
}

/** The file whose text has to be read for a memory; null: none. */
export function uploadedFileOf(row: Pick<MemoryRow, "source">): UploadedFile | null {
  const source = storedSource(row);
  if (source?.file === undefined) return null;
  return { name: source.file, bytes: source.bytes, filename: source.filename, mediaType: source.media_type };
}

/** See MemoryStore.unreferencedFiles. */
export function unreferencedFiles(database: SqliteDatabase, names: readonly string[]): readonly string[] {
  const unreferenced: string[] = [];
  for (let first = 0; first < names.length; first += STEP_FILES) {
    const rows = database
      .prepare<{ name: string }, { names: string }>(UNREFERENCED)
      .all({ names: JSON.stringify(names.slice(first, first + STEP_FILES)) });
    unreferenced.push(...rows.map(({ name }) => name));
  }
  return unreferenced;
}

/**
 * Size and hash of a file. The hash covers the media type too: the same bytes are another content if they are read in
 * another way.
 */
export function fingerprintOfFile({ sha256, source }: ReceivedFile): ContentFingerprint {
  return {
    contentBytes: source.bytes,
    contentSha256: createHash("sha256").update(sha256).update(source.media_type).digest(),
  };
}

/** The column `source` once the file was read: without the file's name. */
export function readSource(row: Pick<MemoryRow, "source">): string | null {
  const source = storedSource(row);
  if (source === null) return null;
  const { filename, media_type, bytes } = source;
  const read: MemorySource = { filename, media_type, bytes };
  return JSON.stringify(read);
}
