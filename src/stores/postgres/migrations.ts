// Schema migrations of the PostgreSQL database: entry n brings it from schema version n to n + 1. A released migration
// is never changed, except for its comments. A change of the schema is a new migration at the end.
//
// The tables and columns are those of SQLite (stores/sqlite/migrations.ts), with the same values: integers
// are bigint, flags are 0 or 1, JSON is text, because PostgreSQL's JSON cannot hold every string of JSON. What SQL
// needs of a JSON column is in a column of its own. Texts are compared byte by byte (COLLATE "C"), so that no upgrade
// of the operating system's collations damages an index.

import { COORDINATION_SCHEMA, NODES_SCHEMA } from "./migration-nodes.ts";

const TEXT = 'text COLLATE "C"';
const KEY = "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
const flag = (name: string) => `${name} bigint NOT NULL DEFAULT 0 CHECK (${name} IN (0, 1))`;

const FIRST_SCHEMA = `
CREATE TABLE projects (
  project_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  name ${TEXT} NOT NULL,
  plan ${TEXT} NOT NULL,
  settings ${TEXT} NOT NULL,
  -- copied from the settings
  retention_days bigint NOT NULL,
  ${flag("is_default")},
  secret bytea NOT NULL,
  documents bigint NOT NULL DEFAULT 0,
  storage_bytes bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  deleted_at bigint
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX projects_default ON projects (is_default) WHERE is_default = 1;

-- a table of its own: a claim of jobs must not wait for a transaction that counts memories in projects
CREATE TABLE project_service (
  project_key bigint PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
  -- the newest lease of the jobs of this project: the project with the smallest value is served next
  served_lease bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE monthly_usage (
  project_key bigint NOT NULL REFERENCES projects,
  month_start bigint NOT NULL,
  queries bigint NOT NULL DEFAULT 0,
  prompt_tokens bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (project_key, month_start)
);
CREATE TABLE daily_ingestion_tokens (
  project_key bigint NOT NULL REFERENCES projects,
  day_start bigint NOT NULL,
  prompt_tokens bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (project_key, day_start)
);

CREATE TABLE api_keys (
  key_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  name ${TEXT} NOT NULL,
  scopes ${TEXT} NOT NULL,
  user_id ${TEXT},
  redacted ${TEXT} NOT NULL,
  ${flag("is_operator")},
  expires_at bigint,
  last_used_at bigint,
  created_at bigint NOT NULL
);
CREATE INDEX api_keys_by_project ON api_keys (project_key, key_key);
CREATE TABLE key_secrets (
  sha256 bytea PRIMARY KEY,
  key_key bigint NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  valid_until bigint
);
CREATE INDEX key_secrets_by_key ON key_secrets (key_key);

CREATE TABLE users (
  user_key ${KEY},
  project_key bigint NOT NULL REFERENCES projects,
  id ${TEXT} NOT NULL,
  -- position in the list of users; null while the user is not known
  known_key bigint,
  name ${TEXT},
  email ${TEXT},
  metadata ${TEXT},
  created_at bigint NOT NULL,
  UNIQUE (project_key, id)
);
CREATE UNIQUE INDEX users_known ON users (project_key, known_key) WHERE known_key IS NOT NULL;
CREATE SEQUENCE known_users;
CREATE TABLE user_events (
  event_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  user_key bigint NOT NULL REFERENCES users,
  type ${TEXT} NOT NULL,
  data ${TEXT} NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX user_events_by_user ON user_events (user_key, event_key);
CREATE INDEX user_events_by_type ON user_events (user_key, type, event_key);

CREATE TABLE memories (
  memory_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  user_key bigint REFERENCES users,
  external_id ${TEXT},
  version bigint NOT NULL,
  status ${TEXT} NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  title ${TEXT},
  title_folded ${TEXT},
  type ${TEXT},
  tags ${TEXT},
  language ${TEXT},
  metadata ${TEXT},
  given ${TEXT} NOT NULL,
  content_bytes bigint NOT NULL,
  content_sha256 bytea NOT NULL,
  source ${TEXT},
  -- copied from the source: the name of the kept file, and the media type of an uploaded file
  file ${TEXT},
  media_type ${TEXT},
  chunk_count bigint NOT NULL DEFAULT 0,
  extraction ${TEXT} CHECK (extraction IN ('caller', 'llm', 'local')),
  prompt_tokens bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  error_code ${TEXT},
  error_message ${TEXT},
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  occurred_at bigint,
  deleted_at bigint,
  ${flag("is_retracted")},
  ${flag("is_purge_asked")},
  ${flag("is_reindexed")},
  attempts bigint NOT NULL DEFAULT 0,
  lease bigint,
  claimable_at bigint NOT NULL
);
CREATE INDEX memories_by_key ON memories (project_key, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_status ON memories (project_key, status, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_type ON memories (project_key, type, memory_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_user ON memories (user_key, memory_key) WHERE deleted_at IS NULL;
-- memories without user have the user key 0 here: user keys begin at 1
CREATE UNIQUE INDEX memories_by_external_id ON memories (project_key, coalesce(user_key, 0), external_id)
  WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_jobs ON memories (project_key, claimable_at, memory_key)
  WHERE status = 'processing' AND deleted_at IS NULL;
CREATE INDEX memories_expiring ON memories (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_retired ON memories (is_retracted, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX memories_purge_asked ON memories (is_retracted, deleted_at)
  WHERE is_purge_asked = 1 AND deleted_at IS NOT NULL;
CREATE INDEX memories_of_user ON memories (user_key) WHERE user_key IS NOT NULL;
CREATE INDEX memories_of_project ON memories (project_key);
CREATE INDEX memories_by_file ON memories (file) WHERE file IS NOT NULL;
CREATE SEQUENCE lease_tokens;

-- a table of its own: PostgreSQL writes a new row for each update, and a new lease must not copy 50 MB of text
CREATE TABLE waiting_contents (
  memory_key bigint PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  content ${TEXT} NOT NULL
);
CREATE TABLE memory_tags (
  project_key bigint NOT NULL,
  tag ${TEXT} NOT NULL,
  memory_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  PRIMARY KEY (memory_key, tag)
);
CREATE INDEX memory_tags_by_tag ON memory_tags (project_key, tag, memory_key);
CREATE TABLE memory_findings (
  memory_key bigint PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  version bigint NOT NULL,
  content_sha256 bytea NOT NULL,
  finding ${TEXT}
);
CREATE TABLE document_facts (
  memory_key bigint PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  content_sha256 bytea NOT NULL,
  title ${TEXT},
  marks ${TEXT} NOT NULL
);
-- not a sequence, because many consecutive keys are taken at once
CREATE TABLE chunk_keys (only_row bigint PRIMARY KEY CHECK (only_row = 1), next bigint NOT NULL);
INSERT INTO chunk_keys (only_row, next) VALUES (1, 1);

CREATE TABLE chats (
  chat_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  user_key bigint REFERENCES users,
  title ${TEXT},
  created_at bigint NOT NULL
);
CREATE INDEX chats_by_project ON chats (project_key, chat_key);
CREATE INDEX chats_by_user ON chats (user_key, chat_key);
CREATE TABLE messages (
  message_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  chat_key bigint NOT NULL REFERENCES chats ON DELETE CASCADE,
  role ${TEXT} NOT NULL CHECK (role IN ('user', 'assistant')),
  content ${TEXT} NOT NULL,
  ${flag("is_interrupted")},
  source_count bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL
);
CREATE INDEX messages_by_chat ON messages (chat_key, message_key);
-- no reference to memories: a trigger deletes the sources of erased memories
CREATE TABLE message_sources (
  message_key bigint NOT NULL REFERENCES messages ON DELETE CASCADE,
  position bigint NOT NULL,
  memory_key bigint NOT NULL,
  shown ${TEXT} NOT NULL,
  PRIMARY KEY (message_key, position)
);
CREATE INDEX message_sources_by_memory ON message_sources (memory_key);

CREATE TABLE webhooks (
  webhook_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  url ${TEXT} NOT NULL,
  events ${TEXT} NOT NULL,
  description ${TEXT},
  ${flag("is_enabled")},
  secret ${TEXT} NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX webhooks_by_project ON webhooks (project_key, webhook_key);
CREATE TABLE deliveries (
  delivery_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  webhook_key bigint NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event ${TEXT} NOT NULL,
  body ${TEXT} NOT NULL,
  status ${TEXT} NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  is_retried bigint NOT NULL DEFAULT 1 CHECK (is_retried IN (0, 1)),
  attempts_counted bigint NOT NULL DEFAULT 0,
  attempts ${TEXT} NOT NULL DEFAULT '[]',
  -- copied from the attempts
  last_attempt_at bigint,
  next_attempt_at bigint,
  created_at bigint NOT NULL
);
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_key, delivery_key);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at, delivery_key) WHERE status = 'pending';
CREATE INDEX deliveries_waiting ON deliveries (webhook_key, next_attempt_at, delivery_key) WHERE status = 'pending';
CREATE INDEX deliveries_ended ON deliveries (created_at) WHERE status <> 'pending';

CREATE TABLE idempotency_records (
  record_key ${KEY},
  project_key bigint NOT NULL REFERENCES projects,
  user_id ${TEXT} NOT NULL,
  route ${TEXT} NOT NULL,
  idempotency_key ${TEXT} NOT NULL,
  fingerprint bytea NOT NULL,
  status bigint NOT NULL,
  body ${TEXT} NOT NULL,
  created_at bigint NOT NULL,
  UNIQUE (project_key, idempotency_key, route, user_id)
);
CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);
CREATE TABLE idempotency_subjects (
  subject ${TEXT} NOT NULL,
  record_key bigint NOT NULL REFERENCES idempotency_records ON DELETE CASCADE,
  PRIMARY KEY (subject, record_key)
);
CREATE INDEX idempotency_subjects_by_record ON idempotency_subjects (record_key);

CREATE TABLE project_models (
  project_key bigint PRIMARY KEY REFERENCES projects,
  live ${TEXT},
  previous ${TEXT},
  ${flag("is_chosen")},
  change_number bigint NOT NULL DEFAULT 0,
  model ${TEXT},
  state ${TEXT} CHECK (state IN ('building', 'done', 'failed', 'cancelled')),
  error ${TEXT},
  chunks_done bigint NOT NULL DEFAULT 0,
  chunks_total bigint,
  started_at bigint,
  ended_at bigint
);

-- What DuckDB has for SQLite: texts of published memories, and the places of their chunks. No reference to memories: a
-- text is removed before the row of its memory.
CREATE TABLE texts (
  memory_key bigint PRIMARY KEY,
  project_id ${TEXT} NOT NULL,
  version bigint NOT NULL,
  content ${TEXT} NOT NULL
);
CREATE INDEX texts_by_project ON texts (project_id, memory_key);
CREATE TABLE chunks (
  memory_key bigint NOT NULL,
  chunk_key bigint NOT NULL,
  ordinal bigint NOT NULL,
  range_start bigint NOT NULL,
  range_end bigint NOT NULL,
  headings ${TEXT} NOT NULL,
  PRIMARY KEY (memory_key, chunk_key)
);

-- The triggers run once per statement, so that the deletion of many memories changes the row of its project once.
CREATE FUNCTION count_new_memories() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE projects SET documents = projects.documents + counted.documents,
    storage_bytes = projects.storage_bytes + counted.bytes
  FROM (SELECT project_key, count(*) AS documents, sum(content_bytes)::bigint AS bytes FROM new_rows
    WHERE deleted_at IS NULL GROUP BY project_key) AS counted
  WHERE projects.project_key = counted.project_key;
  RETURN NULL;
END $body$;
CREATE TRIGGER memories_inserted AFTER INSERT ON memories REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_memories();

CREATE FUNCTION count_changed_memories() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE projects SET documents = projects.documents + counted.documents,
    storage_bytes = projects.storage_bytes + counted.bytes
  FROM (SELECT project_key, sum(documents)::bigint AS documents, sum(bytes)::bigint AS bytes FROM (
      SELECT project_key, 1 AS documents, content_bytes AS bytes FROM new_rows WHERE deleted_at IS NULL
      UNION ALL
      SELECT project_key, -1, -content_bytes FROM old_rows WHERE deleted_at IS NULL) AS changes
    GROUP BY project_key HAVING sum(documents) <> 0 OR sum(bytes) <> 0) AS counted
  WHERE projects.project_key = counted.project_key;
  RETURN NULL;
END $body$;
CREATE TRIGGER memories_updated AFTER UPDATE ON memories REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_memories();

CREATE FUNCTION forget_erased_memories() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  DELETE FROM message_sources USING old_rows WHERE message_sources.memory_key = old_rows.memory_key;
  -- the slot stays taken: a repeated request must not restore what was erased
  UPDATE idempotency_records SET body = '' WHERE record_key IN
    (SELECT record_key FROM idempotency_subjects JOIN old_rows ON idempotency_subjects.subject = old_rows.id);
  DELETE FROM idempotency_subjects USING old_rows WHERE idempotency_subjects.subject = old_rows.id;
  RETURN NULL;
END $body$;
CREATE TRIGGER memories_erased AFTER DELETE ON memories REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION forget_erased_memories();
`;

// Agents and sessions: scopes of memories and chats beside their users. The indexes are for lists; they leave out rows
// without agent or session.
const AGENTS_AND_SESSIONS = `
ALTER TABLE memories ADD COLUMN agent_id ${TEXT}, ADD COLUMN session_id ${TEXT};
CREATE INDEX memories_by_agent ON memories (project_key, agent_id, memory_key)
  WHERE agent_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_by_session ON memories (project_key, session_id, memory_key)
  WHERE session_id IS NOT NULL AND deleted_at IS NULL;
ALTER TABLE chats ADD COLUMN agent_id ${TEXT}, ADD COLUMN session_id ${TEXT};
CREATE INDEX chats_by_agent ON chats (project_key, agent_id, chat_key) WHERE agent_id IS NOT NULL;
CREATE INDEX chats_by_session ON chats (project_key, session_id, chat_key) WHERE session_id IS NOT NULL;
`;

// Deletions by conditions, which go on after a restart. The conditions of one that has ended are '{}'.
const DELETIONS = `
CREATE TABLE deletions (
  deletion_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  -- the user that it is limited to; null: the whole project
  user_id ${TEXT},
  status ${TEXT} NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  conditions ${TEXT} NOT NULL,
  -- cursor of the list of memories where it goes on
  cursor ${TEXT},
  matched bigint NOT NULL,
  deleted bigint NOT NULL DEFAULT 0,
  error ${TEXT},
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX deletions_by_project ON deletions (project_key);
CREATE INDEX deletions_open ON deletions (deletion_key) WHERE status = 'processing';
`;

// The primary key serves the lists by tag. The index of the memories has one entry for all tags of a memory, so it
// takes a quarter of the space of the primary key that it replaces.
const TAG_INDEXES = `
ALTER TABLE memory_tags DROP CONSTRAINT memory_tags_pkey;
DROP INDEX memory_tags_by_tag;
ALTER TABLE memory_tags ADD PRIMARY KEY (project_key, tag, memory_key);
CREATE INDEX memory_tags_of_memory ON memory_tags (memory_key);
`;

// Vectors that an import stored with memories, until these are indexed: 32-bit floats, little-endian.
const IMPORTED_VECTORS = `
CREATE TABLE imported_vectors (
  memory_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  -- position of the first chunk
  first_chunk bigint NOT NULL,
  -- identifies the model
  fingerprint ${TEXT} NOT NULL,
  -- SHA-256 of what the model read of all chunks, in hexadecimal digits
  inputs_sha256 ${TEXT} NOT NULL,
  vectors bytea NOT NULL,
  PRIMARY KEY (memory_key, first_chunk)
);
`;

// When a memory is erased, its id is all that stays in deliveries: their events have its title, which begins with its
// text, its tags and its metadata.
const BARE_BODY = `json_build_object('type', event, 'timestamp', to_char(to_timestamp(deliveries.created_at / 1000.0)
    AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', json_build_object('id', memory_id))::text`;
const ERASED_DELIVERIES = `
-- id of the memory whose event it is; null for another event, and when the memory was erased
ALTER TABLE deliveries ADD COLUMN memory_id ${TEXT};
UPDATE deliveries SET memory_id = substring(body from '"data":{"id":"(mem_[0-9a-z]+)"') WHERE event <> 'webhook.test';
CREATE INDEX deliveries_by_memory ON deliveries (memory_id) WHERE memory_id IS NOT NULL;
CREATE FUNCTION erase_deliveries() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE deliveries SET memory_id = NULL, body = ${BARE_BODY} FROM old_rows WHERE memory_id = old_rows.id;
  RETURN NULL;
END $body$;
CREATE TRIGGER deliveries_erased AFTER DELETE ON memories REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION erase_deliveries();
UPDATE deliveries SET memory_id = NULL, body = ${BARE_BODY} WHERE memory_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM memories WHERE memories.id = memory_id);
`;

// Relations between passages, and the jobs that look for them.
const RELATIONS = `
-- What a passage says of a passage of another memory: memory_key supersedes, refines or duplicates other_key, or, for
-- 'none', has no relation to it.
CREATE TABLE relations (
  relation_key ${KEY},
  project_key bigint NOT NULL REFERENCES projects,
  memory_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  other_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  kind ${TEXT} NOT NULL CHECK (kind IN ('supersedes', 'refines', 'duplicates', 'none')),
  state ${TEXT} NOT NULL CHECK (state IN ('active', 'suggested')),
  made_by ${TEXT} NOT NULL CHECK (made_by IN ('rule', 'model', 'llm', 'person')),
  -- thousandths; null, like passages and evidence, if a person made the relation
  confidence bigint,
  -- ordinals of the passages
  own_passage bigint,
  other_passage bigint,
  -- JSON
  evidence ${TEXT},
  created_at bigint NOT NULL,
  CHECK (memory_key <> other_key)
);
CREATE UNIQUE INDEX relations_of_passages
  ON relations (memory_key, other_key, (coalesce(own_passage, -1)), (coalesce(other_passage, -1)));
CREATE INDEX relations_by_other ON relations (other_key);
CREATE INDEX relations_by_project ON relations (project_key);

-- id of the memory that supersedes this one as a whole, as the relations say
ALTER TABLE memories ADD COLUMN superseded_by ${TEXT};
-- JSON: id of the memory that supersedes a passage, by the passage's ordinal; "all" stands for every passage
ALTER TABLE memories ADD COLUMN superseded_passages ${TEXT};
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

-- Completed memories whose relations are to be found
CREATE TABLE relation_jobs (
  memory_key bigint PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  -- 1: the memory is not newly completed, so no event tells of its relations
  is_backlog bigint NOT NULL CHECK (is_backlog IN (0, 1)),
  -- number of claims: the fencing token of the newest one
  attempts bigint NOT NULL DEFAULT 0,
  claimable_at bigint NOT NULL,
  leased_by ${TEXT}
);
CREATE INDEX relation_jobs_due ON relation_jobs (is_backlog, claimable_at);
INSERT INTO relation_jobs (memory_key, is_backlog, claimable_at)
  SELECT memory_key, 1, 0 FROM memories WHERE status = 'completed' AND deleted_at IS NULL;
`;

// Times as callers meant them: the `occurred_at` that was sent, and the time zone of a user.
const TIMES_AS_MEANT = `
ALTER TABLE memories ADD COLUMN occurred_at_given ${TEXT};
ALTER TABLE users ADD COLUMN time_zone ${TEXT};
`;

// Whether an answer in a chat contains what was asked for.
const ANSWER_STATES = `
ALTER TABLE messages ADD COLUMN answer_state ${TEXT} CHECK (answer_state IN ('answered', 'partial', 'not_found'));
`;

// Earlier states of memories: texts that were replaced, and relations that were removed.
const EARLIER_STATES = `
-- of the current text: its number among the texts of the memory, when it was accepted (null: created_at), and the id
-- of the key that sent it
ALTER TABLE memories ADD COLUMN text_version bigint NOT NULL DEFAULT 1;
ALTER TABLE memories ADD COLUMN text_since bigint;
ALTER TABLE memories ADD COLUMN text_by ${TEXT};
CREATE INDEX memories_rewritten ON memories (project_key, text_since) WHERE text_since IS NOT NULL;

CREATE TABLE earlier_texts (
  earlier_text_key ${KEY},
  memory_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  text_version bigint NOT NULL,
  -- null: the table texts still has it, because the text that replaced it has not been published
  content ${TEXT},
  content_bytes bigint NOT NULL,
  -- number of passages; 0 if it was never published
  passages bigint NOT NULL,
  since bigint NOT NULL,
  until bigint NOT NULL,
  text_by ${TEXT},
  UNIQUE (memory_key, text_version)
);
CREATE INDEX earlier_texts_by_end ON earlier_texts (until);

-- id of the key with which a person set the relation
ALTER TABLE relations ADD COLUMN set_by ${TEXT};
CREATE TABLE earlier_relations (
  earlier_relation_key ${KEY},
  project_key bigint NOT NULL REFERENCES projects,
  memory_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  other_key bigint NOT NULL REFERENCES memories ON DELETE CASCADE,
  kind ${TEXT} NOT NULL,
  state ${TEXT} NOT NULL,
  made_by ${TEXT} NOT NULL,
  set_by ${TEXT},
  confidence bigint,
  own_passage bigint,
  other_passage bigint,
  -- JSON; null if a person set it, or the texts were erased
  evidence ${TEXT},
  created_at bigint NOT NULL,
  removed_at bigint NOT NULL,
  -- id of the key that removed it; null: no key did
  removed_by ${TEXT}
);
CREATE INDEX earlier_relations_of ON earlier_relations (memory_key);
CREATE INDEX earlier_relations_about ON earlier_relations (other_key);
CREATE INDEX earlier_relations_by_end ON earlier_relations (removed_at);

-- nothing that was replaced before this time is known
ALTER TABLE projects ADD COLUMN history_since bigint NOT NULL DEFAULT 0;
UPDATE projects SET history_since = (extract(epoch FROM now()) * 1000)::bigint;
`;

// The client that last used a key.
const LAST_CLIENTS = `
ALTER TABLE api_keys ADD COLUMN last_client ${TEXT};
`;

// Counts of activity in projects, by hour and by day.
const ACTIVITY = `
CREATE TABLE activity (
  project_key bigint NOT NULL REFERENCES projects,
  -- duration of the step
  step_ms bigint NOT NULL,
  -- begin of the step
  at bigint NOT NULL,
  name ${TEXT} NOT NULL,
  value bigint NOT NULL,
  PRIMARY KEY (project_key, step_ms, at, name)
);
CREATE INDEX activity_by_end ON activity (step_ms, at);
`;

// Names and merges that people gave to entities.
const ENTITY_NOTES = `
CREATE TABLE entity_notes (
  entity_note_key ${KEY},
  project_key bigint NOT NULL REFERENCES projects,
  -- hash of its words: 16 hexadecimal digits, as merged_into
  entity ${TEXT} NOT NULL,
  name ${TEXT},
  merged_into ${TEXT},
  updated_at bigint NOT NULL,
  UNIQUE (project_key, entity)
);
`;

// Files in files: the memories of their parts.
const CONTAINERS = `
ALTER TABLE memories ADD COLUMN container ${TEXT};
CREATE INDEX memories_by_container ON memories (container, memory_key)
  WHERE container IS NOT NULL AND deleted_at IS NULL;
`;

// Places of memories on the map of their project.
const MAPS = `
CREATE TABLE project_maps (
  project_key bigint PRIMARY KEY REFERENCES projects,
  -- number of times that places were stored
  version bigint NOT NULL,
  -- number of memories when all places were last computed together
  laid_out bigint NOT NULL,
  computed_at bigint NOT NULL
);
CREATE TABLE map_places (
  memory_key bigint PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
  project_key bigint NOT NULL REFERENCES projects,
  -- millionths of 1
  x bigint NOT NULL,
  y bigint NOT NULL
);
CREATE INDEX map_places_of ON map_places (project_key, memory_key);
`;

// Originals: uploaded files that are kept after their text was read. They count in `storage_bytes`; until then, the
// size of the file is in `content_bytes`.
const ORIGINALS = `
-- name of the file in kept_files
ALTER TABLE memories ADD COLUMN original_file ${TEXT};
-- 0 until the text of the file was read
ALTER TABLE memories ADD COLUMN original_bytes bigint NOT NULL DEFAULT 0;
CREATE INDEX memories_by_original ON memories (original_file) WHERE original_file IS NOT NULL;

CREATE OR REPLACE FUNCTION count_new_memories() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE projects SET documents = projects.documents + counted.documents,
    storage_bytes = projects.storage_bytes + counted.bytes
  FROM (SELECT project_key, count(*) AS documents, sum(content_bytes + original_bytes)::bigint AS bytes FROM new_rows
    WHERE deleted_at IS NULL GROUP BY project_key) AS counted
  WHERE projects.project_key = counted.project_key;
  RETURN NULL;
END $body$;
CREATE OR REPLACE FUNCTION count_changed_memories() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  UPDATE projects SET documents = projects.documents + counted.documents,
    storage_bytes = projects.storage_bytes + counted.bytes
  FROM (SELECT project_key, sum(documents)::bigint AS documents, sum(bytes)::bigint AS bytes FROM (
      SELECT project_key, 1 AS documents, content_bytes + original_bytes AS bytes FROM new_rows
        WHERE deleted_at IS NULL
      UNION ALL
      SELECT project_key, -1, -content_bytes - original_bytes FROM old_rows WHERE deleted_at IS NULL) AS changes
    GROUP BY project_key HAVING sum(documents) <> 0 OR sum(bytes) <> 0) AS counted
  WHERE projects.project_key = counted.project_key;
  RETURN NULL;
END $body$;
`;

// Test cases (questions with the memories that a search should find), and runs over them.
const CASES = `
CREATE TABLE cases (
  case_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  -- the user whose memories are searched; null: the whole project
  user_id ${TEXT},
  query ${TEXT} NOT NULL,
  mode ${TEXT},
  -- ids in JSON; null: nothing should be found
  memory_ids ${TEXT},
  created_at bigint NOT NULL
);
CREATE INDEX cases_by_project ON cases (project_key, case_key);
CREATE TABLE case_runs (
  run_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  project_key bigint NOT NULL REFERENCES projects,
  status ${TEXT} NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  -- names in JSON; null: the mode of each case
  modes ${TEXT},
  -- numbers of searches
  done bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  total bigint NOT NULL,
  -- sums by mode, in JSON
  sums ${TEXT} NOT NULL,
  -- keys of the case after which the run goes on, and of its last case
  place bigint NOT NULL DEFAULT 0,
  last_case bigint NOT NULL,
  error ${TEXT},
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX case_runs_by_project ON case_runs (project_key, run_key);
CREATE INDEX case_runs_open ON case_runs (run_key) WHERE status = 'processing';
`;

// The nodes of the service.
const NODES = `
CREATE UNLOGGED TABLE nodes (
  id ${TEXT} PRIMARY KEY,
  name ${TEXT} NOT NULL,
  role ${TEXT} NOT NULL,
  version ${TEXT} NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL
);
`;

// Models that an operator added, and the reranker that a project uses in place of its embedder's.
const INSTALLED_MODELS = `
CREATE TABLE installed_models (
  model_key ${KEY},
  id ${TEXT} NOT NULL UNIQUE,
  task ${TEXT} NOT NULL,
  kind ${TEXT} NOT NULL,
  source ${TEXT},
  -- SHA-256 that the archive must have, in hexadecimal digits
  sha256 ${TEXT},
  -- JSON
  remote ${TEXT},
  dimensions bigint,
  tokens_max bigint,
  -- JSON list; tunings: JSON object
  languages ${TEXT} NOT NULL,
  licence ${TEXT},
  fingerprint ${TEXT},
  is_calibrated bigint NOT NULL CHECK (is_calibrated IN (0, 1)),
  manifest_sha256 ${TEXT},
  status ${TEXT} NOT NULL,
  bytes_done bigint,
  bytes_total bigint,
  error ${TEXT},
  tunings ${TEXT} NOT NULL,
  created_at bigint NOT NULL
);
ALTER TABLE project_models ADD COLUMN reranker ${TEXT};
`;

// The calibration of a model that was asked for: JSON. Its number grows with each one.
const CALIBRATIONS = `
ALTER TABLE installed_models ADD COLUMN calibration_job ${TEXT};
ALTER TABLE installed_models ADD COLUMN calibration_number bigint NOT NULL DEFAULT 0;
`;

// Tokens of running calls of language models, which nodes reserve for a minute at a time.
const TOKEN_RESERVATIONS = `
CREATE UNLOGGED TABLE token_reservations (
  id text COLLATE "C" PRIMARY KEY,
  project_key bigint NOT NULL,
  tokens bigint NOT NULL,
  holder text COLLATE "C" NOT NULL,
  until bigint NOT NULL
);
CREATE INDEX token_reservations_by_project ON token_reservations (project_key);
CREATE INDEX token_reservations_by_holder ON token_reservations (holder);
`;

// Reservations for monthly limits, and those for daily ones.
const DAILY_TOKEN_RESERVATIONS = `
ALTER TABLE token_reservations ADD COLUMN period text COLLATE "C" NOT NULL DEFAULT 'month';
`;

// Why a message of a chat got no answer.
const MESSAGE_FAILURES = `
ALTER TABLE messages ADD COLUMN failure ${TEXT};
`;

// The models and settings of a run over cases, in JSON; null: it began before they were stored.
const CASE_SETUPS = `
ALTER TABLE case_runs ADD COLUMN setup ${TEXT};
`;

/** All migrations in order. Their number is the newest schema version that this version of Mneme supports. */
export const MIGRATIONS: readonly string[] = [
  FIRST_SCHEMA,
  NODES_SCHEMA + COORDINATION_SCHEMA,
  AGENTS_AND_SESSIONS,
  DELETIONS,
  TAG_INDEXES,
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
  NODES,
  INSTALLED_MODELS,
  CALIBRATIONS,
  TOKEN_RESERVATIONS,
  DAILY_TOKEN_RESERVATIONS,
  MESSAGE_FAILURES,
  CASE_SETUPS,
];
