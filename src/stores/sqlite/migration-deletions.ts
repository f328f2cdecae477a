// The migration for deletions by conditions, which go on after a restart.

/** Adds deletions. The conditions of one that has ended are `{}`. */
export const DELETIONS_SCHEMA = `
CREATE TABLE deletions (
  deletion_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  -- the user that it is limited to; null: the whole project
  user_id TEXT,
  status TEXT NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  conditions TEXT NOT NULL,
  -- cursor of the list of memories where it goes on
  cursor TEXT,
  matched INTEGER NOT NULL,
  deleted INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX deletions_by_project ON deletions (project_key);
CREATE INDEX deletions_open ON deletions (deletion_key) WHERE status = 'processing';
`;
