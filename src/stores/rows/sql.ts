// SQL fragments that several statements on memories use, in every dialect. Parameters are written `$name`.

/** The columns that `toMemory` needs, for SELECT and RETURNING. */
export const MEMORY_COLUMNS = `memories.memory_key, memories.project_key, memories.id, memories.version, memories.status,
  memories.title, memories.type, memories.tags, memories.language, memories.metadata, memories.given, memories.user_key,
  (SELECT users.id FROM users WHERE users.user_key = memories.user_key) AS user_id,
  memories.external_id, memories.content_bytes, memories.source, memories.chunk_count, memories.extraction,
  memories.attempts,
  memories.error_code, memories.error_message, memories.created_at, memories.updated_at, memories.expires_at,
  memories.occurred_at, memories.agent_id, memories.session_id, memories.is_reindexed`;

/** The columns that `visibleOf` needs. */
export const VISIBLE_COLUMNS = `memories.memory_key, memories.id, memories.title, memories.type, memories.tags,
  memories.language, memories.metadata, memories.user_key,
  (SELECT users.id FROM users WHERE users.user_key = memories.user_key) AS user_id,
  memories.external_id, memories.source, memories.created_at, memories.updated_at, memories.expires_at,
  memories.occurred_at, memories.agent_id, memories.session_id`;

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
