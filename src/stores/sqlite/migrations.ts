// Schema migrations of mneme.sqlite: entry n brings a file from schema version n to n + 1. A released migration is
// never changed, except for its comments. A change of the schema is a new migration at the end.
//
// Times are Unix milliseconds, integer columns that end in `_key` are the u64 keys of domain/ids.ts (below 2^63 here),
// and "live" means not deleted and not expired.

import { DELETIONS_SCHEMA } from "./migration-deletions.ts";
import { ERASED_DELIVERIES, IMPORTED_VECTORS } from "./migration-imports.ts";
import { addProjectSecrets } from "./project-secrets.ts";

const ACCOUNTS_AND_MEMORIES = `
CREATE TABLE projects (
  project_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  settings TEXT NOT NULL DEFAULT '{}',
  is_default INTEGER NOT NULL DEFAULT 0 CHECK (is_default IN (0, 1)),
  -- the newest lease of the jobs of this project: the project with the smallest value is served next
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

-- AUTOINCREMENT: a key is never used again, not even the largest one after its row was deleted
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
  -- shows whether a content is new, even after the index took over the text
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
  -- fencing token of the job's newest lease; null if there is no lease
  lease INTEGER,
  -- the job can be claimed from this time on: its intake, the end of its lease, or the end of its delay
  claimable_at INTEGER NOT NULL
) STRICT;

-- for lists; the second one also covers counts by status and the list of visible memories
CREATE INDEX memories_by_key ON memories (project_key, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_status ON memories (project_key, status, memory_key, user_key, expires_at)
  WHERE deleted_at IS NULL;
CREATE INDEX memories_by_type ON memories (project_key, type, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_user ON memories (user_key, memory_key) WHERE deleted_at IS NULL;
-- memories without user have the user key 0 here: user keys begin at 1
CREATE UNIQUE INDEX memories_by_external_id ON memories (project_key, ifnull(user_key, 0), external_id)
  WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_jobs ON memories (project_key, claimable_at, memory_key)
  WHERE status = 'processing' AND deleted_at IS NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_retired ON memories (is_retracted, deleted_at) WHERE deleted_at IS NOT NULL;

-- a table of its own: SQLite rewrites whole rows, and a new lease must not rewrite 50 MB of text
CREATE TABLE waiting_contents (
  memory_key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  content TEXT NOT NULL
) STRICT;

CREATE TABLE sequences (name TEXT PRIMARY KEY, next INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO sequences (name, next) VALUES ('chunk_key', 1), ('lease', 1);
`;

// Accounts, users, chats, webhooks and remembered answers.
//
// Triggers keep counters and look-up tables consistent with memories after every statement that changes memories:
// intake, completion, deletion, expiry, cascade.
const FULL_API = `
ALTER TABLE projects ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN storage_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN deleted_at INTEGER;

CREATE TABLE monthly_usage (
  project_key INTEGER NOT NULL REFERENCES projects,
  -- first instant of the month, UTC
  month_start INTEGER NOT NULL,
  queries INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_key, month_start)
) STRICT, WITHOUT ROWID;

ALTER TABLE api_keys RENAME TO api_keys_before;
DROP INDEX api_keys_by_project;
CREATE TABLE api_keys (
  key_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  -- the user that the key is confined to
  user_id TEXT,
  redacted TEXT NOT NULL,
  -- set by the operator's configuration, not issued by Mneme
  is_operator INTEGER NOT NULL DEFAULT 0 CHECK (is_operator IN (0, 1)),
  expires_at INTEGER,
  last_used_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX api_keys_by_project ON api_keys (project_key, key_key);
-- a rotated key has several secrets for a while
CREATE TABLE key_secrets (
  sha256 BLOB PRIMARY KEY,
  key_key INTEGER NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  valid_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX key_secrets_by_key ON key_secrets (key_key);
INSERT INTO api_keys (id, project_key, name, scopes, redacted, created_at)
  SELECT id, project_key, name, scopes, 'ctx_…', created_at FROM api_keys_before ORDER BY id;
INSERT INTO key_secrets (sha256, key_key)
  SELECT secret_sha256, key_key FROM api_keys_before JOIN api_keys USING (id);
DROP TABLE api_keys_before;

-- counts every change of access rights by any process: what was cached under an older count is invalid
INSERT INTO sequences (name, next) VALUES ('access', 1);
CREATE TRIGGER access_by_secret AFTER INSERT ON key_secrets BEGIN
  UPDATE sequences SET next = next + 1 WHERE name = 'access';
END;
CREATE TRIGGER access_by_changed_secret AFTER UPDATE ON key_secrets BEGIN
  UPDATE sequences SET next = next + 1 WHERE name = 'access';
END;
CREATE TRIGGER access_by_removed_secret AFTER DELETE ON key_secrets BEGIN
  UPDATE sequences SET next = next + 1 WHERE name = 'access';
END;
CREATE TRIGGER access_by_changed_key AFTER UPDATE OF scopes, user_id, expires_at ON api_keys BEGIN
  UPDATE sequences SET next = next + 1 WHERE name = 'access';
END;
CREATE TRIGGER access_by_removed_key AFTER DELETE ON api_keys BEGIN
  UPDATE sequences SET next = next + 1 WHERE name = 'access';
END;
CREATE TRIGGER access_by_project AFTER UPDATE OF deleted_at ON projects BEGIN
  UPDATE sequences SET next = next + 1 WHERE name = 'access';
END;

-- known_key: position in the list of users; null while the user is not known
ALTER TABLE users ADD COLUMN known_key INTEGER;
ALTER TABLE users ADD COLUMN name TEXT;
ALTER TABLE users ADD COLUMN email TEXT;
ALTER TABLE users ADD COLUMN metadata TEXT;
UPDATE users SET known_key = user_key;
INSERT INTO sequences (name, next) SELECT 'known_user', ifnull(max(user_key), 0) + 1 FROM users;
CREATE UNIQUE INDEX users_known ON users (project_key, known_key) WHERE known_key IS NOT NULL;

CREATE TABLE user_events (
  event_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  user_key INTEGER NOT NULL REFERENCES users,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX user_events_by_user ON user_events (user_key, event_key);
CREATE INDEX user_events_by_type ON user_events (user_key, type, event_key);

CREATE TABLE chats (
  chat_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  user_key INTEGER REFERENCES users,
  title TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX chats_by_project ON chats (project_key, chat_key);
CREATE INDEX chats_by_user ON chats (user_key, chat_key);

CREATE TABLE messages (
  message_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  chat_key INTEGER NOT NULL REFERENCES chats ON DELETE CASCADE,
  role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
  content TEXT NOT NULL,
  is_interrupted INTEGER NOT NULL DEFAULT 0 CHECK (is_interrupted IN (0, 1)),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_chat ON messages (chat_key, message_key);

-- no reference to memories: they are joined when sources are read, and a trigger deletes sources of erased memories
CREATE TABLE message_sources (
  message_key INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
  position INTEGER NOT NULL,
  memory_key INTEGER NOT NULL,
  shown TEXT NOT NULL,
  PRIMARY KEY (message_key, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_sources_by_memory ON message_sources (memory_key);

CREATE TABLE webhooks (
  webhook_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  description TEXT,
  is_enabled INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_by_project ON webhooks (project_key, webhook_key);

CREATE TABLE deliveries (
  delivery_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  webhook_key INTEGER NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  -- a redelivery is one attempt only
  is_retried INTEGER NOT NULL DEFAULT 1 CHECK (is_retried IN (0, 1)),
  -- attempts since the delivery was added or sent again, all attempts as JSON, and when the next one is due
  attempts_counted INTEGER NOT NULL DEFAULT 0,
  attempts TEXT NOT NULL DEFAULT '[]',
  next_attempt_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_key, delivery_key);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at, delivery_key) WHERE status = 'pending';
CREATE INDEX deliveries_waiting ON deliveries (webhook_key, next_attempt_at, delivery_key) WHERE status = 'pending';
CREATE INDEX deliveries_ended ON deliveries (created_at) WHERE status <> 'pending';

CREATE TABLE idempotency_records (
  record_key INTEGER PRIMARY KEY AUTOINCREMENT,
  project_key INTEGER NOT NULL REFERENCES projects,
  -- the user that the caller's key is confined to; empty: none (ids of users are never empty)
  user_id TEXT NOT NULL,
  route TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (project_key, user_id, route, idempotency_key)
) STRICT;
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);
CREATE TABLE idempotency_subjects (
  subject TEXT NOT NULL,
  record_key INTEGER NOT NULL REFERENCES idempotency_records ON DELETE CASCADE,
  PRIMARY KEY (subject, record_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_subjects_by_record ON idempotency_subjects (record_key);

ALTER TABLE memories ADD COLUMN source TEXT;
-- the title in the form that lists compare: NFKC, lower case
ALTER TABLE memories ADD COLUMN title_folded TEXT;
UPDATE memories SET title_folded = lower(title);
-- 1: to be erased at once, regardless of the retention
ALTER TABLE memories ADD COLUMN is_purge_asked INTEGER NOT NULL DEFAULT 0 CHECK (is_purge_asked IN (0, 1));

CREATE INDEX memories_purge_asked ON memories (is_retracted, deleted_at)
  WHERE is_purge_asked = 1 AND deleted_at IS NOT NULL;
-- these find what a removed project or user leaves
CREATE INDEX memories_of_user ON memories (user_key) WHERE user_key IS NOT NULL;
CREATE INDEX memories_of_project ON memories (project_key);

CREATE TABLE memory_tags (
  project_key INTEGER NOT NULL,
  tag TEXT NOT NULL,
  memory_key INTEGER NOT NULL,
  PRIMARY KEY (project_key, tag, memory_key)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO memory_tags (project_key, tag, memory_key)
  SELECT project_key, value, memory_key FROM memories, json_each(memories.tags) WHERE tags IS NOT NULL;

UPDATE projects SET
  documents = (SELECT count(*) FROM memories WHERE memories.project_key = projects.project_key AND deleted_at IS NULL),
  storage_bytes = (SELECT ifnull(sum(content_bytes), 0) FROM memories
    WHERE memories.project_key = projects.project_key AND deleted_at IS NULL);

CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN
  UPDATE projects SET documents = documents + 1, storage_bytes = storage_bytes + new.content_bytes
    WHERE project_key = new.project_key AND new.deleted_at IS NULL;
  INSERT OR IGNORE INTO memory_tags (project_key, tag, memory_key)
    SELECT new.project_key, value, new.memory_key FROM json_each(new.tags) WHERE new.tags IS NOT NULL;
END;
CREATE TRIGGER memories_counted AFTER UPDATE OF content_bytes, deleted_at ON memories
WHEN old.content_bytes <> new.content_bytes OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL) BEGIN
  UPDATE projects SET
    documents = documents - (old.deleted_at IS NULL) + (new.deleted_at IS NULL),
    storage_bytes = storage_bytes - iif(old.deleted_at IS NULL, old.content_bytes, 0)
      + iif(new.deleted_at IS NULL, new.content_bytes, 0)
    WHERE project_key = new.project_key;
END;
CREATE TRIGGER memories_tagged AFTER UPDATE OF tags ON memories WHEN old.tags IS NOT new.tags BEGIN
  DELETE FROM memory_tags WHERE project_key = old.project_key AND memory_key = old.memory_key
    AND tag IN (SELECT value FROM json_each(ifnull(old.tags, '[]')));
  INSERT OR IGNORE INTO memory_tags (project_key, tag, memory_key)
    SELECT new.project_key, value, new.memory_key FROM json_each(new.tags) WHERE new.tags IS NOT NULL;
END;
CREATE TRIGGER memories_erased AFTER DELETE ON memories BEGIN
  DELETE FROM memory_tags WHERE project_key = old.project_key AND memory_key = old.memory_key
    AND tag IN (SELECT value FROM json_each(ifnull(old.tags, '[]')));
  DELETE FROM message_sources WHERE memory_key = old.memory_key;
  -- the slot stays taken: a repeated request must not restore what was erased
  UPDATE idempotency_records SET body = '' WHERE record_key IN
    (SELECT record_key FROM idempotency_subjects WHERE subject = old.id);
  DELETE FROM idempotency_subjects WHERE subject = old.id;
END;
`;

// LLM extractions, and the tokens that they used.
const LANGUAGE_MODEL = `
-- the origin of the extracted attributes of a completed memory
ALTER TABLE memories ADD COLUMN extraction TEXT CHECK (extraction IN ('caller', 'llm', 'local'));
UPDATE memories SET extraction = iif(json_array_length(given) = 4, 'caller', 'local') WHERE status = 'completed';
-- tokens for all contents that the memory has had
ALTER TABLE memories ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;

-- a table of its own, because lists read memories; finding: an LLM extraction (JSON), null if the reply had none
CREATE TABLE memory_findings (
  memory_key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  version INTEGER NOT NULL,
  content_sha256 BLOB NOT NULL,
  finding TEXT
) STRICT;

-- tokens of ingestion, for the limit per day
CREATE TABLE daily_ingestion_tokens (
  project_key INTEGER NOT NULL REFERENCES projects,
  -- first instant of the day, UTC
  day_start INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_key, day_start)
) STRICT, WITHOUT ROWID;
`;

// Titles and place marks of uploaded files. They are needed to index a text again after its file was removed.
const DOCUMENT_FACTS = `
CREATE TABLE document_facts (
  memory_key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  -- the facts are valid only for the content with this hash: another content has other pages
  content_sha256 BLOB NOT NULL,
  title TEXT,
  -- JSON: where pages, slides or sheets begin
  marks TEXT NOT NULL
) STRICT;
`;

// Number of sources of an answer when it was stored. If fewer of them are live, the answer may repeat something that
// was deleted.
const SOURCE_COUNTS = `
ALTER TABLE messages ADD COLUMN source_count INTEGER NOT NULL DEFAULT 0;
UPDATE messages SET source_count =
  (SELECT count(*) FROM message_sources WHERE message_sources.message_key = messages.message_key);
`;

// Index to find the row that refers to an uploaded file. Few rows do, because a file is removed after its text was
// read.
const FILES_BY_NAME = `
CREATE INDEX memories_by_file ON memories (source ->> '$.file') WHERE source ->> '$.file' IS NOT NULL;
`;

// When the event of a memory took place, as opposed to when it was stored.
const OCCURRED_AT = `
ALTER TABLE memories ADD COLUMN occurred_at INTEGER;
`;

// The embedding model of each project, and the change to another one that was asked for.
const PROJECT_MODELS = `
CREATE TABLE project_models (
  project_key INTEGER PRIMARY KEY REFERENCES projects,
  -- ids of models; live: null until a server has opened the index
  live TEXT,
  previous TEXT,
  -- 1: a person asked for a model
  is_chosen INTEGER NOT NULL DEFAULT 0 CHECK (is_chosen IN (0, 1)),
  -- the last change; the columns below are null if there was none
  change_number INTEGER NOT NULL DEFAULT 0,
  model TEXT,
  state TEXT CHECK (state IN ('building', 'done', 'failed', 'cancelled')),
  error TEXT,
  chunks_done INTEGER NOT NULL DEFAULT 0,
  chunks_total INTEGER,
  started_at INTEGER,
  ended_at INTEGER
) STRICT;
`;

// The default of `min_evidence` was 0 and became null. A stored 0 may be either a choice or the old default.
const MIN_EVIDENCE_BY_MODEL = `
UPDATE projects SET settings = json_set(settings, '$.min_evidence', NULL)
  WHERE settings ->> '$.min_evidence' = 0;
`;

// Memories that were completed before and are only indexed again, such as those of an imported project.
const REINDEXED_MEMORIES = `
-- 1: the memory keeps its attributes and times when it is completed, and no event tells of it
ALTER TABLE memories ADD COLUMN is_reindexed INTEGER NOT NULL DEFAULT 0 CHECK (is_reindexed IN (0, 1));
`;

// The secret that the ids of a project's chunks, and its cursors, are made with: 16 random bytes. project-secrets.ts
// fills it in.
const PROJECT_SECRETS = `
ALTER TABLE projects ADD COLUMN secret BLOB;
`;

// Identity of the data directory, and numbers that show at the next opening whether a store has lost commits.
const COMMIT_NUMBERS = `
CREATE TABLE store (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  -- random; the other files of the data directory carry it too
  store_id TEXT NOT NULL,
  -- number of the newest commit of this file
  commits INTEGER NOT NULL,
  -- the newest commit of memories.duckdb that a commit of this file may rely on
  texts_commits INTEGER NOT NULL
) STRICT;
INSERT INTO store (only_row, store_id, commits, texts_commits) VALUES (1, lower(hex(randomblob(16))), 0, 0);
`;

// Agents and sessions: scopes of memories and chats beside their users. The indexes are for lists; they leave out rows
// without agent or session.
const AGENTS_AND_SESSIONS = `
ALTER TABLE memories ADD COLUMN agent_id TEXT;
ALTER TABLE memories ADD COLUMN session_id TEXT;
CREATE INDEX memories_by_agent ON memories (project_key, agent_id, memory_key)
  WHERE agent_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_by_session ON memories (project_key, session_id, memory_key)
  WHERE session_id IS NOT NULL AND deleted_at IS NULL;
ALTER TABLE chats ADD COLUMN agent_id TEXT;
ALTER TABLE chats ADD COLUMN session_id TEXT;
CREATE INDEX chats_by_agent ON chats (project_key, agent_id, chat_key) WHERE agent_id IS NOT NULL;
CREATE INDEX chats_by_session ON chats (project_key, session_id, chat_key) WHERE session_id IS NOT NULL;
`;

// Relations between passages, and the jobs that look for them.
const RELATIONS = `
-- What a passage says of a passage of another memory: memory_key supersedes, refines or duplicates other_key, or, for
-- 'none', has no relation to it.
CREATE TABLE relations (
  relation_key INTEGER PRIMARY KEY AUTOINCREMENT,
  project_key INTEGER NOT NULL REFERENCES projects,
  memory_key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  other_key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('supersedes', 'refines', 'duplicates', 'none')),
  state TEXT NOT NULL CHECK (state IN ('active', 'suggested')),
  made_by TEXT NOT NULL CHECK (made_by IN ('rule', 'model', 'llm', 'person')),
  -- thousandths; null, like passages and evidence, if a person made the relation
  confidence INTEGER,
  -- ordinals of the passages
  own_passage INTEGER,
  other_passage INTEGER,
  -- JSON
  evidence TEXT,
  created_at INTEGER NOT NULL,
  CHECK (memory_key <> other_key)
) STRICT;
CREATE UNIQUE INDEX relations_of_passages
  ON relations (memory_key, other_key, (coalesce(own_passage, -1)), (coalesce(other_passage, -1)));
CREATE INDEX relations_by_other ON relations (other_key);
CREATE INDEX relations_by_project ON relations (project_key);

-- id of the memory that supersedes this one as a whole, as the relations say
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
-- JSON: id of the memory that supersedes a passage, by the passage's ordinal; "all" stands for every passage
ALTER TABLE memories ADD COLUMN superseded_passages TEXT;
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

-- Completed memories whose relations are to be found
CREATE TABLE relation_jobs (
  memory_key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  -- 1: the memory is not newly completed, so no event tells of its relations
  is_backlog INTEGER NOT NULL CHECK (is_backlog IN (0, 1)),
  -- number of claims: the fencing token of the newest one
  attempts INTEGER NOT NULL DEFAULT 0,
  claimable_at INTEGER NOT NULL,
  leased_by TEXT
) STRICT;
CREATE INDEX relation_jobs_due ON relation_jobs (is_backlog, claimable_at);
INSERT INTO relation_jobs (memory_key, is_backlog, claimable_at)
  SELECT memory_key, 1, 0 FROM memories WHERE status = 'completed' AND deleted_at IS NULL;
`;

// Times as callers meant them: the `occurred_at` that was sent, and the time zone of a user.
const TIMES_AS_MEANT = `
ALTER TABLE memories ADD COLUMN occurred_at_given TEXT;
ALTER TABLE users ADD COLUMN time_zone TEXT;
`;

// Whether an answer in a chat contains what was asked for.
const ANSWER_STATES = `
ALTER TABLE messages ADD COLUMN answer_state TEXT CHECK (answer_state IN ('answered', 'partial', 'not_found'));
`;

// Earlier states of memories: texts that were replaced, and relations that were removed.
const EARLIER_STATES = `
-- of the current text: its number among the texts of the memory, when it was accepted (null: created_at), and the id
-- of the key that sent it
ALTER TABLE memories ADD COLUMN text_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE memories ADD COLUMN text_since INTEGER;
ALTER TABLE memories ADD COLUMN text_by TEXT;
CREATE INDEX memories_rewritten ON memories (project_key, text_since) WHERE text_since IS NOT NULL;

CREATE TABLE earlier_texts (
  earlier_text_key INTEGER PRIMARY KEY AUTOINCREMENT,
  memory_key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  text_version INTEGER NOT NULL,
  -- null: memories.duckdb still has it, because the text that replaced it has not been published
  content TEXT,
  content_bytes INTEGER NOT NULL,
  -- number of passages; 0 if it was never published
  passages INTEGER NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  text_by TEXT,
  UNIQUE (memory_key, text_version)
) STRICT;
CREATE INDEX earlier_texts_by_end ON earlier_texts (until);

-- id of the key with which a person set the relation
ALTER TABLE relations ADD COLUMN set_by TEXT;
CREATE TABLE earlier_relations (
  earlier_relation_key INTEGER PRIMARY KEY AUTOINCREMENT,
  project_key INTEGER NOT NULL REFERENCES projects,
  memory_key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  other_key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  made_by TEXT NOT NULL,
  set_by TEXT,
  confidence INTEGER,
  own_passage INTEGER,
  other_passage INTEGER,
  -- JSON; null if a person set it, or the texts were erased
  evidence TEXT,
  created_at INTEGER NOT NULL,
  removed_at INTEGER NOT NULL,
  -- id of the key that removed it; null: no key did
  removed_by TEXT
) STRICT;
CREATE INDEX earlier_relations_of ON earlier_relations (memory_key);
CREATE INDEX earlier_relations_about ON earlier_relations (other_key);
CREATE INDEX earlier_relations_by_end ON earlier_relations (removed_at);

-- nothing that was replaced before this time is known
ALTER TABLE projects ADD COLUMN history_since INTEGER NOT NULL DEFAULT 0;
UPDATE projects SET history_since = unixepoch('now') * 1000;
`;

// The client that last used a key.
const LAST_CLIENTS = `
ALTER TABLE api_keys ADD COLUMN last_client TEXT;
`;

// Counts of activity in projects, by hour and by day.
const ACTIVITY = `
CREATE TABLE activity (
  project_key INTEGER NOT NULL REFERENCES projects,
  -- duration of the step
  step_ms INTEGER NOT NULL,
  -- begin of the step
  at INTEGER NOT NULL,
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (project_key, step_ms, at, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX activity_by_end ON activity (step_ms, at);
`;

// Names and merges that people gave to entities.
const ENTITY_NOTES = `
CREATE TABLE entity_notes (
  entity_note_key INTEGER PRIMARY KEY AUTOINCREMENT,
  project_key INTEGER NOT NULL REFERENCES projects,
  -- hash of its words: 16 hexadecimal digits, as merged_into
  entity TEXT NOT NULL,
  name TEXT,
  merged_into TEXT,
  updated_at INTEGER NOT NULL,
  UNIQUE (project_key, entity)
) STRICT;
`;

// Files in files: the memories of their parts.
const CONTAINERS = `
CREATE INDEX memories_by_container ON memories (source ->> '$.container', memory_key)
  WHERE source ->> '$.container' IS NOT NULL AND deleted_at IS NULL;
`;

// Places of memories on the map of their project.
const MAPS = `
CREATE TABLE project_maps (
  project_key INTEGER PRIMARY KEY REFERENCES projects,
  -- number of times that places were stored
  version INTEGER NOT NULL,
  -- number of memories when all places were last computed together
  laid_out INTEGER NOT NULL,
  computed_at INTEGER NOT NULL
) STRICT;
CREATE TABLE map_places (
  memory_key INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  project_key INTEGER NOT NULL REFERENCES projects,
  -- millionths of 1
  x INTEGER NOT NULL,
  y INTEGER NOT NULL
) STRICT;
CREATE INDEX map_places_of ON map_places (project_key, memory_key);
`;

// Originals: uploaded files that are kept after their text was read. They count in `storage_bytes`; until then, the
// size of the file is in `content_bytes`.
const ORIGINALS = `
-- name of the file in the folder uploads/
ALTER TABLE memories ADD COLUMN original_file TEXT;
-- 0 until the text of the file was read
ALTER TABLE memories ADD COLUMN original_bytes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX memories_by_original ON memories (original_file) WHERE original_file IS NOT NULL;

DROP TRIGGER memories_inserted;
CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN
  UPDATE projects SET documents = documents + 1,
    storage_bytes = storage_bytes + new.content_bytes + new.original_bytes
    WHERE project_key = new.project_key AND new.deleted_at IS NULL;
  INSERT OR IGNORE INTO memory_tags (project_key, tag, memory_key)
    SELECT new.project_key, value, new.memory_key FROM json_each(new.tags) WHERE new.tags IS NOT NULL;
END;
DROP TRIGGER memories_counted;
CREATE TRIGGER memories_counted AFTER UPDATE OF content_bytes, original_bytes, deleted_at ON memories
WHEN old.content_bytes <> new.content_bytes OR old.original_bytes <> new.original_bytes
  OR (old.deleted_at IS NULL) <> (new.deleted_at IS NULL) BEGIN
  UPDATE projects SET
    documents = documents - (old.deleted_at IS NULL) + (new.deleted_at IS NULL),
    storage_bytes = storage_bytes - iif(old.deleted_at IS NULL, old.content_bytes + old.original_bytes, 0)
      + iif(new.deleted_at IS NULL, new.content_bytes + new.original_bytes, 0)
    WHERE project_key = new.project_key;
END;
`;

// Test cases (questions with the memories that a search should find), and runs over them.
const CASES = `
CREATE TABLE cases (
  case_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  -- the user whose memories are searched; null: the whole project
  user_id TEXT,
  query TEXT NOT NULL,
  mode TEXT,
  -- ids in JSON; null: nothing should be found
  memory_ids TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX cases_by_project ON cases (project_key, case_key);
CREATE TABLE case_runs (
  run_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project_key INTEGER NOT NULL REFERENCES projects,
  status TEXT NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  -- names in JSON; null: the mode of each case
  modes TEXT,
  -- numbers of searches
  done INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  total INTEGER NOT NULL,
  -- sums by mode, in JSON
  sums TEXT NOT NULL,
  -- keys of the case after which the run goes on, and of its last case
  place INTEGER NOT NULL DEFAULT 0,
  last_case INTEGER NOT NULL,
  error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX case_runs_by_project ON case_runs (project_key, run_key);
CREATE INDEX case_runs_open ON case_runs (run_key) WHERE status = 'processing';
`;

// Models that an operator added, and the reranker that a project uses in place of its embedder's.
const INSTALLED_MODELS = `
CREATE TABLE installed_models (
  model_key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  task TEXT NOT NULL,
  kind TEXT NOT NULL,
  source TEXT,
  -- SHA-256 that the archive must have, in hexadecimal digits
  sha256 TEXT,
  -- JSON
  remote TEXT,
  dimensions INTEGER,
  tokens_max INTEGER,
  -- JSON list; tunings: JSON object
  languages TEXT NOT NULL,
  licence TEXT,
  fingerprint TEXT,
  is_calibrated INTEGER NOT NULL CHECK (is_calibrated IN (0, 1)),
  manifest_sha256 TEXT,
  status TEXT NOT NULL,
  bytes_done INTEGER,
  bytes_total INTEGER,
  error TEXT,
  tunings TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
ALTER TABLE project_models ADD COLUMN reranker TEXT;
`;

// The calibration of a model that was asked for: JSON. Its number grows with each one.
const CALIBRATIONS = `
ALTER TABLE installed_models ADD COLUMN calibration_job TEXT;
ALTER TABLE installed_models ADD COLUMN calibration_number INTEGER NOT NULL DEFAULT 0;
`;

// Why a message of a chat got no answer.
const MESSAGE_FAILURES = `
ALTER TABLE messages ADD COLUMN failure TEXT;
`;

// The models and settings of a run over cases, in JSON; null: it began before they were stored.
const CASE_SETUPS = `
ALTER TABLE case_runs ADD COLUMN setup TEXT;
`;

/** All migrations in order. Their number is the newest schema version that this version of Mneme supports. */
export const MIGRATIONS: readonly string[] = [
  ACCOUNTS_AND_MEMORIES,
  FULL_API,
  LANGUAGE_MODEL,
  DOCUMENT_FACTS,
  SOURCE_COUNTS,
  FILES_BY_NAME,
  OCCURRED_AT,
  PROJECT_MODELS,
  MIN_EVIDENCE_BY_MODEL,
  REINDEXED_MEMORIES,
  PROJECT_SECRETS,
  COMMIT_NUMBERS,
  AGENTS_AND_SESSIONS,
  DELETIONS_SCHEMA,
  IMPORTED_VECTORS,
  ERASED_DELIVERIES,
  RELATIONS,
  TIMES_AS_MEANT,
  ANSWER_STATES,
  EARLIER_STATES,
  LAST_CLIENTS,
  ACTIVITY,
  ENTITY_NOTES,
  CONTAINERS,
  MAPS,
  ORIGINALS,
  CASES,
  INSTALLED_MODELS,
  CALIBRATIONS,
  MESSAGE_FAILURES,
  CASE_SETUPS,
];

/** What a migration does besides its SQL, in the same transaction and after it. */
export const FURTHER_STEPS: ReadonlyMap<string, typeof addProjectSecrets> = new Map([
  [PROJECT_SECRETS, addProjectSecrets],
]);
