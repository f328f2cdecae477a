// SQL fragments that several statements on memories use, in every dialect. Parameters are written `$name`.

import { ATTRIBUTE_COLUMNS } from "./memory-columns.ts";

/** The columns that `toMemory` needs, for SELECT and RETURNING. */
export const MEMORY_COLUMNS = `memories.memory_key, memories.project_key, memories.id, memories.version, memories.status,
  ${ATTRIBUTE_COLUMNS}, memories.given, memories.user_key, memories.content_bytes, memories.source,
  memories.original_file, memories.chunk_count, memories.extraction, memories.attempts, memories.error_code, memories.error_message,
  memories.is_reindexed, memories.superseded_passages`;

/** The columns that `visibleOf` needs. */
export const VISIBLE_COLUMNS = `memories.memory_key, memories.id, memories.user_key, memories.source,
  ${ATTRIBUTE_COLUMNS}`;

/** Assignments of an UPDATE that put a memory to `processing` as a new version, claimable from `$now` on. */
export const TO_WORK = `version = version + 1, status = 'processing', chunk_count = 0, error_code = NULL,
  error_message = NULL, attempts = 0, lease = NULL, claimable_at = $now, is_reindexed = 0`;

/** Assignments of an UPDATE that put a completed memory to `processing` only to index it again. */
export const TO_REINDEX = `version = version + 1, status = 'processing', chunk_count = 0, attempts = 0,
  lease = NULL, claimable_at = $now, is_reindexed = 1`;

/** Assignments of an UPDATE that let a memory in `processing` be claimed again as a new version, with its content. */
export const TO_RESTART = "version = version + 1, attempts = 0, lease = NULL, claimable_at = $now";

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
