// The uploaded file of a memory, as the columns `source` and `original_file` of its row describe it. The row has only
// the file's name; the callers of the stores keep and remove files.

import { hashOfFile } from "../../domain/file-hash.ts";
import type { ReceivedFile } from "../../domain/memory.ts";
import type { UploadedFile } from "../../ports/job-store.ts";
import type { TextFile } from "../../ports/upload-files.ts";
import type { Dialect, RepeatOfSource } from "../dialect.ts";
import { type MemoryRow, storedSource } from "./memory.ts";

/** Size and hash of a content. They show whether a given content is new, even when the row no longer has the text. */
export type ContentFingerprint = { readonly contentBytes: number; readonly contentSha256: Uint8Array };

/** The column `source` of a memory whose file has not been read yet. */
export function unreadSource({ file, bytes, source, ocr }: ReceivedFile): string {
  return JSON.stringify({ bytes, ...source, ...(ocr !== undefined && { ocr }), file });
}

/** The column `source` of a memory whose file is replaced by another one. */
export function replacedSource(upload: ReceivedFile, before: Pick<MemoryRow, "source">): string {
  const ocr = upload.isFetchedAgain === true ? storedSource(before)?.ocr : upload.ocr;
  return unreadSource({ ...upload, ocr });
}

/** Name of the kept file of a memory, uploaded or with its long text; null if there is none. */
export function keptFileOf({ source }: Pick<MemoryRow, "source">): string | null {
  return source === null ? null : ((JSON.parse(source) as { readonly file?: string }).file ?? null);
}

/**
 * Name of the file that a row refers to: the kept file that waits to be read, or the original. If it is both, they are
 * one file. null if there is none.
 */
export function fileOf(row: Pick<MemoryRow, "source" | "original_file">): string | null {
  return row.original_file ?? keptFileOf(row);
}

/** The column `original_file` of a memory whose file has not been read yet; null if the file is not kept after that. */
export function originalOf(upload: ReceivedFile | null): string | null {
  return upload?.isOriginal === true && upload.source !== null ? upload.file : null;
}

/** The column `original_bytes` of a completed memory. Until then, `content_bytes` has the size of the file. */
export function originalBytes(row: Pick<MemoryRow, "source" | "original_file">): number {
  return row.original_file === null ? 0 : (storedSource(row)?.bytes ?? 0);
}

/** The file with the long text of a memory that was not uploaded; null if there is none. */
export function textFileOf(row: Pick<MemoryRow, "source"> & { readonly content_sha256: Uint8Array }): TextFile | null {
  const name = keptFileOf(row);
  return name === null ? null : { name, sha256: Buffer.from(row.content_sha256).toString("hex") };
}

/** The uploaded file of a memory whose text has to be read; null if there is none. */
export function uploadedFileOf(
  row: Pick<MemoryRow, "source"> & { readonly content_sha256: Uint8Array },
): UploadedFile | null {
  const source = storedSource(row);
  if (source?.file === undefined) return null;
  const { file, bytes, filename, media_type, ocr } = source;
  const sha256 = Buffer.from(row.content_sha256).toString("hex");
  return { name: file, bytes, filename, mediaType: media_type, contentSha256: sha256, ...(ocr && { ocr }) };
}

/** Size and hash of a file. */
export function fingerprintOfFile({ bytes, sha256, source }: ReceivedFile): ContentFingerprint {
  return { contentBytes: bytes, contentSha256: source === null ? sha256 : hashOfFile(sha256, source.media_type) };
}

/**
 * The column `source` after the file was read: without the name of the kept file.
 * @param warnings what was not read; undefined if the file was not read again
 */
export function readSource(row: Pick<MemoryRow, "source">, warnings?: readonly string[]): string | null {
  const source = storedSource(row);
  if (source === null) return null;
  const { file, warnings: earlier = [], ...rest } = source;
  const found = warnings ?? earlier;
  return JSON.stringify({ ...rest, ...(found.length > 0 && { warnings: found }) });
}

/** The column `source`, and the columns that repeat parts of it in some databases. */
export type SourceColumns = Readonly<Record<"source" | RepeatOfSource, string | null>>;

/** The columns for a value of `source`. */
export function sourceColumns(source: string | null): SourceColumns {
  const { media_type = null, container = null } = storedSource({ source }) ?? {};
  return { source, file: keptFileOf({ source }), media_type, container };
}

/** Assignments of an UPDATE, with the parameters of `sourceColumns`. */
export function setSource({ repeatsOfSource }: Dialect): string {
  return ["source", ...repeatsOfSource].map((name) => `${name} = $${name}`).join(", ");
}
