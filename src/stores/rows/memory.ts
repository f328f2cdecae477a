// Converts rows of the table `memories` to Memory. Stores of record with this table have the same columns and values,
// whatever their engine is: integers are bigint, JSON is text, and a flag is 0 or 1.

import { invariant } from "../../domain/fault.ts";
import type { MemoryId, MemoryKey, UserKey } from "../../domain/ids.ts";
import type { Extraction, FailureCode, Memory, MemorySource, MemoryState, OcrMode } from "../../domain/memory.ts";
import type { ExtractedField } from "../../domain/memory-attributes.ts";
import { fold } from "../../kit/fold.ts";
import { type AttributeColumns, attributesIn } from "./memory-columns.ts";

/** A row of the table `memories`, with the id of its user. */
export interface MemoryRow extends AttributeColumns {
  readonly memory_key: bigint;
  readonly project_key: bigint;
  readonly id: string;
  readonly version: bigint;
  readonly status: string;
  readonly given: string;
  readonly user_key: bigint | null;
  readonly content_bytes: bigint;
  readonly source: string | null;
  readonly original_file: string | null;
  readonly chunk_count: bigint;
  readonly extraction: string | null;
  readonly attempts: bigint;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly is_reindexed: bigint;
  readonly superseded_passages: string | null;
}

/**
 * Content of the column `source`: what callers see of an uploaded file. Until its text has been read, also the name of
 * the kept file.
 */
export interface StoredSource extends MemorySource {
  readonly file?: string;
  /** Whether the uploader wants text in pictures to be read. */
  readonly ocr?: OcrMode;
  /**
   * Version of the container's memory when this part was stored. Parts with another version belong to another content.
   */
  readonly container_version?: number;
}

/**
 * The column `source` of a row; null if the memory came from no uploaded file. A memory whose long text is kept in a
 * file has the name and size of that file in the column.
 */
export function storedSource({ source }: Pick<MemoryRow, "source">): StoredSource | null {
  if (source === null) return null;
  const stored = JSON.parse(source) as Partial<StoredSource>;
  return stored.filename === undefined ? null : (stored as StoredSource);
}

/**
 * Converts a title, or a text to search in titles, to the form of the column `title_folded`. The Greek letter sigma has
 * another lower-case form at the end of a word. Both forms become the same letter, so that a part of a word is found.
 */
export function foldTitle(title: string): string {
  return fold(title).replaceAll("ς", "σ");
}

/** Converts a row to a Memory. */
export function toMemory(row: MemoryRow): Memory {
  return {
    ...attributesIn(row),
    key: row.memory_key as MemoryKey,
    id: row.id as MemoryId,
    version: Number(row.version),
    state: toState(row),
    userKey: row.user_key as UserKey | null,
    contentBytes: Number(row.content_bytes),
    source: toSource(row),
    originalFile: row.original_file,
    given: JSON.parse(row.given) as readonly ExtractedField[],
    supersededPassages: row.superseded_passages === null ? null : JSON.parse(row.superseded_passages),
  };
}

/** Converts a nullable integer column. */
export function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

/** What callers see of a memory's uploaded file; null if the memory came from none. */
export function toSource(row: Pick<MemoryRow, "source">): MemorySource | null {
  const source = storedSource(row);
  if (source === null) return null;
  const { file, ocr, container_version, ...shown } = source;
  return shown;
}

function toState(row: MemoryRow): MemoryState {
  switch (row.status) {
    case "processing":
      return { status: "processing", attempts: Number(row.attempts) };
    case "completed":
      invariant(row.extraction !== null, `memory ${row.id} is completed without an origin of its attributes`);
      return {
        status: "completed",
        chunkCount: Number(row.chunk_count),
        extraction: row.extraction as Extraction,
      };
    default:
      invariant(
        row.status === "failed" && row.error_code !== null && row.error_message !== null,
        `memory ${row.id} has status ${row.status} and error code ${row.error_code}`,
      );
      return { status: "failed", error: { code: row.error_code as FailureCode, message: row.error_message } };
  }
}
