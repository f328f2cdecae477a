// Converts rows of memories to jobs, and the result of a job to the columns of a completed memory.

import { filteredAttributesJson } from "../../domain/filter.ts";
import type { Extraction, Memory } from "../../domain/memory.ts";
import { EXTRACTED_FIELDS, type ExtractedField } from "../../domain/memory-attributes.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import type { DocumentFacts } from "../../ports/document-reader.ts";
import type { Completion, ImportedVectors, Job } from "../../ports/job-store.ts";
import { foldTitle, type MemoryRow, toMemory } from "./memory.ts";
import { originalBytes, readSource, textFileOf, uploadedFileOf } from "./memory-file.ts";

/** The row of a claimed job, with its waiting content. */
export type ClaimedRow = MemoryRow & { readonly content: string | null; readonly content_sha256: Uint8Array };

/** Whether the job of this row gets the facts that were stored when its file was read, because its text is not new. */
export function hasStoredFacts(row: ClaimedRow): boolean {
  return row.content === null || row.is_reindexed === 1n;
}

/** Converts the row of a claimed memory to its job. */
export function toJob(row: ClaimedRow, { projectId, lease, facts }: Pick<Job, "projectId" | "lease" | "facts">): Job {
  const upload = uploadedFileOf(row);
  return {
    projectId,
    memory: toMemory(row),
    content: row.content,
    upload,
    textFile: upload === null ? textFileOf(row) : null,
    facts,
    lease,
    attempt: Number(row.attempts),
    isReindexed: row.is_reindexed === 1n,
  };
}

/** Converts a completed memory to what the index needs to make it visible. */
export function toVisible(memory: Memory): VisibleMemory {
  const { key: memoryKey, userKey, expiresAt } = memory;
  return { memoryKey, userKey, expiresAt, attributes: filteredAttributesJson(memory) };
}

/** The facts of a document from their stored form; null if none are stored. */
export function factsOf(row: { readonly title: string | null; readonly marks: string } | null): DocumentFacts | null {
  return row === null ? null : { title: row.title, marks: JSON.parse(row.marks) };
}

/** Statement for the vectors that were imported with a memory, in the order of its chunks. */
export const IMPORTED_VECTORS = `SELECT fingerprint, inputs_sha256, vectors FROM imported_vectors
  WHERE memory_key = $key ORDER BY first_chunk`;

/** A row of `IMPORTED_VECTORS`. */
export interface ImportedVectorsRow {
  readonly fingerprint: string;
  readonly inputs_sha256: string;
  readonly vectors: Uint8Array;
}

/** The imported vectors in the rows of a memory; null if there are no rows. */
export function importedVectors(rows: readonly ImportedVectorsRow[]): ImportedVectors | null {
  const [first] = rows;
  if (first === undefined) return null;
  const { fingerprint, inputs_sha256: inputsSha256 } = first;
  const own = rows.filter((row) => row.fingerprint === fingerprint && row.inputs_sha256 === inputsSha256);
  return { fingerprint, inputsSha256, bytes: Buffer.concat(own.map(({ vectors }) => vectors)) };
}

/** The columns that change when a memory is completed. */
export type CompletedColumns = {
  readonly key: bigint;
  readonly updatedAt: bigint;
  readonly chunkCount: number;
  readonly contentBytes: number;
  readonly source: string | null;
  readonly originalBytes: number;
  readonly title: string | null;
  readonly titleFolded: string | null;
  readonly type: string | null;
  readonly tags: string | null;
  readonly language: string | null;
  readonly extraction: Extraction;
};

/**
 * The columns of a memory after its completion at `now` (Unix milliseconds).
 * @param row the row as it is now: a caller may have changed some attributes since the claim
 */
export function completedColumns(
  row: MemoryRow,
  { extracted, extractedBy, chunkCount, read }: Completion,
  now: number,
): CompletedColumns {
  const isReindexed = row.is_reindexed === 1n;
  const given = isReindexed ? EXTRACTED_FIELDS : (JSON.parse(row.given) as readonly ExtractedField[]);
  const title = given.includes("title") ? row.title : extracted.title;
  return {
    key: row.memory_key,
    updatedAt: isReindexed ? row.updated_at : BigInt(now),
    chunkCount,
    contentBytes: read?.contentBytes ?? Number(row.content_bytes),
    source: readSource(row, read?.warnings),
    originalBytes: originalBytes(row),
    title,
    titleFolded: title === null ? null : foldTitle(title),
    type: given.includes("type") ? row.type : extracted.type,
    tags: given.includes("tags") ? row.tags : JSON.stringify(extracted.tags),
    language: given.includes("language") ? row.language : extracted.language,
    extraction: extractionOf(row, given, extractedBy),
  };
}

function extractionOf(row: MemoryRow, given: readonly ExtractedField[], extractedBy: Extraction): Extraction {
  if (row.is_reindexed === 1n && row.extraction !== null) return row.extraction as Extraction;
  return given.length === EXTRACTED_FIELDS.length ? "caller" : extractedBy;
}
