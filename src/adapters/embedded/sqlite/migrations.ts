// The tables of mneme.sqlite, as steps: entry n brings a file from schema version n to n + 1. A step that was released
// is never changed; a change of the tables is a new step at the end.
//
// Times are Unix milliseconds, columns that end in `_key` are the u64 keys of domain/ids.ts (below 2^63 here), and
// "live" means not deleted and not expired.

const ACCOUNTS_AND_MEMORIES = `
CREATE TABLE projects (
  project_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  settings TEXT NOT NULL DEFAULT '{}',
  is_default INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
  -- the newest lease that a job of this project was given: whoever was served longest ago comes next
  served_lease INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX projects_default ON projects (is_default) WHERE is_default = 1;
CREATE INDEX projects_by_service ON projects (served_lease, project_key);

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  project_key INTEGER NOT NULL REFERENCES projects,
  name TEXT NOT NULL,
  secret_sha256 BLOB NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_by_project ON api_keys (project_key);

CREATE TABLE users (
  user_key INTEGER PRIMARY KEY AUTOINCREMENT,
  project_key INTEGER NOT NULL REFERENCES projects,
  id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (project_key, id)
) STRICT;

-- AUTOINCREMENT: a key is never given out again, also not the largest one after its row is gone
CREATE TABLE memories (
  memory_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  user_key INTEGER REFERENCES users,
  external_id TEXT,
  version INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  title TEXT,
  type TEXT,
  tags TEXT,
  language TEXT,
  metadata TEXT,
  -- which of title, type, tags and language the caller gave
  given TEXT NOT NULL,
  content_bytes INTEGER NOT NULL,
  -- tells "the same content again" after the content was handed over to the index
  content_sha256 BLOB NOT NULL,
  chunk_count INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  error_message TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  deleted_at INTEGER,
  is_retracted INTEGER NOT NULL DEFAULT 0 CHECK (is_retracted IN (0, 1)),
  attempts INTEGER NOT NULL DEFAULT 0,
  -- token of the job's newest holder; null when nobody holds it
  lease INTEGER,
  -- a job in work can be claimed from here on: its intake, the end of its lease, or the end of its delay
  claimable_at INTEGER NOT NULL
) STRICT;

-- lists, and from the index alone: counts by status, and what searches may see
CREATE INDEX memories_by_key ON memories (project_key, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_status ON memories (project_key, status, memory_key, user_key, expires_at)
  WHERE deleted_at IS NULL;
CREATE INDEX memories_by_type ON memories (project_key, type, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_user ON memories (user_key, memory_key) WHERE deleted_at IS NULL;
-- no user counts as a user of its own: user keys begin at 1
CREATE UNIQUE INDEX memories_by_external_id ON memories (project_key, ifnull(user_key, 0), external_id)
  WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_jobs ON memories (project_key, claimable_at, memory_key)
  WHERE status = 'processing' AND deleted_at IS NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_retired ON memories (is_retracted, deleted_at) WHERE deleted_at IS NOT NULL;

-- apart from the row: SQLite rewrites a row whole, and a lease must not cost a rewrite of 50 MB of text
CREATE TABLE waiting_contents (
  memory_key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  content TEXT NOT NULL
) STRICT;

CREATE TABLE sequences (name TEXT PRIMARY KEY, next INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO sequences (name, next) VALUES ('chunk_key', 1), ('lease', 1);
`;

/** All steps in their order; their number is the schema version that this Mneme knows. */
export const MIGRATIONS: readonly string[] = [ACCOUNTS_AND_MEMORIES];
