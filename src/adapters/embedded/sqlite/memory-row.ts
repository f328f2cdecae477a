// Converts rows of the table `memories` to Memory, and defines SQL fragments that several statements on memories use.

import { invariant } from "../../../domain/fault.ts";
import type { MemoryId, MemoryKey, UserKey } from "../../../domain/ids.ts";
import type {
  ExtractedField,
  Extraction,
  FailureCode,
  JsonObject,
  Memory,
  MemorySource,
  MemoryState,
} from "../../../domain/memory.ts";
import { fold } from "../../../kit/fold.ts";

/** The columns of `MEMORY_COLUMNS`, as SQLite returns them. */
export interface MemoryRow {
  readonly memory_key: bigint;
  readonly project_key: bigint;
  readonly id: string;
  readonly version: bigint;
  readonly status: string;
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: string | null;
  readonly language: string | null;
  readonly metadata: string | null;
  readonly given: string;
  readonly user_key: bigint | null;
  readonly user_id: string | null;
  readonly external_id: string | null;
  readonly content_bytes: bigint;
  readonly source: string | null;
  readonly chunk_count: bigint;
  readonly extraction: string | null;
  readonly attempts: bigint;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly created_at: bigint;
  readonly updated_at: bigint;
  readonly expires_at: bigint | null;
  readonly occurred_at: bigint | null;
  readonly is_reindexed: bigint;
}

/**
 * Content of the column `source`: what callers see of an uploaded file. Until its text has been read, also the name of
 * the kept file.
 */
export interface StoredSource extends MemorySource {
  readonly file?: string;
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

/** The columns that `toMemory` needs, for SELECT and RETURNING. */
export const MEMORY_COLUMNS = `memories.memory_key, memories.project_key, memories.id, memories.version, memories.status,
  memories.title, memories.type, memories.tags, memories.language, memories.metadata, memories.given, memories.user_key,
  (SELECT users.id FROM users WHERE users.user_key = memories.user_key) AS user_id,
  memories.external_id, memories.content_bytes, memories.source, memories.chunk_count, memories.extraction,
  memories.attempts,
  memories.error_code, memories.error_message, memories.created_at, memories.updated_at, memories.expires_at,
  memories.occurred_at, memories.is_reindexed`;

/**
 * SQL expression with the same result as `filteredAttributesJson`, for speed: opening a project needs the attributes of
 * all memories. It concatenates texts because SQLite's JSON functions refuse more than 1,000 levels.
 */
export const FILTERED_ATTRIBUTES = `'{"type":' || json_quote(memories.type) || ',"title":' || json_quote(memories.title)
  || ',"tags":' || ifnull(memories.tags, 'null') || ',"language":' || json_quote(memories.language)
  || ',"source.media_type":' || json_quote(memories.source ->> '$.media_type')
  || ',"externalId":' || json_quote(memories.external_id) || ',"created_at":' || memories.created_at
  || ',"updated_at":' || memories.updated_at || ',"occurred_at":' || ifnull(memories.occurred_at, 'null')
  || ',"memory_id":' || json_quote(memories.id)
  || ',"userId":' || json_quote((SELECT users.id FROM users WHERE users.user_key = memories.user_key))
  || ',"metadata":' || ifnull(memories.metadata, 'null') || '}'`;

/** Assignments of an UPDATE that put a memory to `processing` as a new version, claimable from `$now` on. */
export const TO_WORK = `version = version + 1, status = 'processing', chunk_count = 0, error_code = NULL,
  error_message = NULL, attempts = 0, lease = NULL, claimable_at = $now, is_reindexed = 0`;

/** Assignments of an UPDATE that put a completed memory to `processing` only to index it again. */
export const TO_REINDEX = `version = version + 1, status = 'processing', chunk_count = 0, attempts = 0,
  lease = NULL, claimable_at = $now, is_reindexed = 1`;

/** Condition for memories that are live at `$now`: neither deleted nor expired. */
export const LIVE = "memories.deleted_at IS NULL AND (memories.expires_at IS NULL OR memories.expires_at > $now)";

/**
 * The key of the project `$project`, even if it was removed. NULL, which equals nothing in SQL, if there is no such
 * project.
 */
export const PROJECT_KEY = "(SELECT project_key FROM projects WHERE id = $project)";

/**
 * The key of the project `$project`. NULL, which equals nothing in SQL, if there is no such project or it was removed.
 */
export const OPEN_PROJECT = "(SELECT project_key FROM projects WHERE id = $project AND deleted_at IS NULL)";

/** Subquery for the keys in the parameter `$keys`, which `keyList` makes. */
export const KEYS = "(SELECT value FROM json_each($keys))";

/** Converts any number of keys to one parameter, a JSON array, because SQLite limits the number of parameters. */
export function keyList(keys: readonly bigint[]): string {
  return `[${keys.join(",")}]`;
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
    key: row.memory_key as MemoryKey,
    id: row.id as MemoryId,
    version: Number(row.version),
    state: toState(row),
    title: row.title,
    type: row.type,
    tags: row.tags === null ? null : (JSON.parse(row.tags) as readonly string[]),
    language: row.language,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as JsonObject),
    userId: row.user_id,
    userKey: row.user_key as UserKey | null,
    externalId: row.external_id,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    expiresAt: numberOrNull(row.expires_at),
    occurredAt: numberOrNull(row.occurred_at),
    contentBytes: Number(row.content_bytes),
    source: toSource(row),
    given: JSON.parse(row.given) as readonly ExtractedField[],
  };
}

/** Converts a nullable integer column. */
export function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}

function toSource(row: MemoryRow): MemorySource | null {
  const source = storedSource(row);
  if (source === null) return null;
  const { filename, media_type, bytes } = source;
  return { filename, media_type, bytes };
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
