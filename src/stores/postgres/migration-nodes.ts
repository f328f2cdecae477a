// The tables that nodes share: publications, which one node computes and the others load; the numbered changes of each
// project, which all nodes follow; and the tables of coordination.ts.

/** Adds publications, the change sequence and the node of a lease. */
export const NODES_SCHEMA = `
-- id of the node that has the lease; a node that starts gives up its leases
ALTER TABLE memories ADD COLUMN leased_by text COLLATE "C";
ALTER TABLE projects ADD COLUMN sequence bigint NOT NULL DEFAULT 0;

-- key of the publication's first chunk; null if it has none, or was stored by an earlier version
ALTER TABLE texts ADD COLUMN first_chunk_key bigint;
CREATE TABLE vector_models (
  model_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL UNIQUE
);
-- packed texts of up to 256 chunks; compressing them again would gain nothing
CREATE TABLE publication_parts (
  memory_key bigint NOT NULL REFERENCES texts ON DELETE CASCADE,
  part bigint NOT NULL,
  first_chunk_key bigint NOT NULL,
  texts bytea STORAGE EXTERNAL NOT NULL,
  PRIMARY KEY (memory_key, part)
);
CREATE TABLE publication_vectors (
  memory_key bigint NOT NULL REFERENCES texts ON DELETE CASCADE,
  model_key bigint NOT NULL REFERENCES vector_models,
  part bigint NOT NULL,
  first_chunk_key bigint NOT NULL,
  -- bf16, row-major
  vectors bytea STORAGE EXTERNAL NOT NULL,
  PRIMARY KEY (memory_key, model_key, part)
);

-- uploaded files and long texts until they are published, in pieces of 1 MiB
CREATE TABLE kept_files (
  name text COLLATE "C" NOT NULL,
  piece bigint NOT NULL,
  bytes bytea STORAGE EXTERNAL NOT NULL,
  kept_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (name, piece)
);

-- Unix milliseconds until which one node alone attempts the delivery
ALTER TABLE deliveries ADD COLUMN claimed_until bigint;

-- a transaction has one sequence number per project; its memories are noted under it
CREATE TABLE project_changes (
  project_key bigint NOT NULL REFERENCES projects ON DELETE CASCADE,
  sequence bigint NOT NULL,
  memory_key bigint NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_key, sequence, memory_key)
);
CREATE INDEX project_changes_by_age ON project_changes USING brin (changed_at);

-- Notes every update of a memory that searches may see before or after it, and every deletion. Claims change only
-- memories in status processing, so they are not noted. The update of the project's row makes the order of the numbers
-- the order of the commits.
CREATE FUNCTION note_changed_memories() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  WITH changed AS (
    SELECT project_key, memory_key FROM new_rows JOIN old_rows USING (project_key, memory_key)
    WHERE old_rows.deleted_at IS NULL AND (old_rows.status = 'completed' OR new_rows.status = 'completed'
      OR new_rows.deleted_at IS NOT NULL)
  ), numbered AS (
    UPDATE projects SET sequence = sequence + 1 WHERE project_key IN (SELECT project_key FROM changed)
    RETURNING project_key, sequence
  )
  INSERT INTO project_changes (project_key, sequence, memory_key)
    SELECT project_key, sequence, memory_key FROM numbered JOIN changed USING (project_key);
  RETURN NULL;
END $body$;
CREATE TRIGGER memories_noted AFTER UPDATE ON memories REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION note_changed_memories();

-- A change of a project's live model is noted as a change of memory 0, which does not exist.
CREATE FUNCTION note_live_model() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  WITH numbered AS (
    UPDATE projects SET sequence = sequence + 1 WHERE project_key = NEW.project_key RETURNING project_key, sequence
  )
  INSERT INTO project_changes (project_key, sequence, memory_key) SELECT project_key, sequence, 0 FROM numbered;
  RETURN NULL;
END $body$;
CREATE TRIGGER live_model_noted AFTER UPDATE ON project_models FOR EACH ROW
  WHEN (OLD.live IS DISTINCT FROM NEW.live) EXECUTE FUNCTION note_live_model();
`;

/**
 * Adds the tables of coordination.ts: rate limits, requests in progress, reservations of queries, and who does which
 * task.
 */
export const COORDINATION_SCHEMA = `
-- Unlogged tables are empty after a crash of the server, which grants the requests of one minute again.
CREATE UNLOGGED TABLE rate_windows (
  key text COLLATE "C" PRIMARY KEY,
  -- number of requests that were ever counted
  counted bigint NOT NULL,
  newest bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX rate_windows_by_age ON rate_windows USING brin (newest);
-- The times of the latest counted requests: request n is in slot n modulo the limit. So a request is admitted if the
-- one that had its slot before has left the window.
CREATE UNLOGGED TABLE rate_slots (
  key text COLLATE "C" NOT NULL,
  slot bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (key, slot)
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE request_flights (
  slot bytea PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  until bigint NOT NULL
);
CREATE INDEX request_flights_by_holder ON request_flights (holder);
CREATE UNLOGGED TABLE query_reservations (
  id text COLLATE "C" PRIMARY KEY,
  project_key bigint NOT NULL,
  holder text COLLATE "C" NOT NULL,
  until bigint NOT NULL
);
CREATE INDEX query_reservations_by_project ON query_reservations (project_key);
CREATE INDEX query_reservations_by_holder ON query_reservations (holder);
CREATE UNLOGGED TABLE node_tasks (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  until bigint NOT NULL
);

CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $body$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $body$;

-- Counts a request of a key if fewer than limit_of_key left in the window, unless it only looks. given_now replaces the
-- server's clock in tests.
CREATE FUNCTION count_request(of_key text, limit_of_key bigint, window_ms bigint, given_now bigint, only_looks boolean,
    OUT is_admitted boolean, OUT in_window bigint, OUT oldest bigint, OUT blocking bigint, OUT at_ms bigint)
LANGUAGE plpgsql AS $body$
DECLARE
  total bigint;
  newest_at bigint;
  low bigint;
  high bigint;
  middle bigint;
  middle_at bigint;
BEGIN
  LOOP
    SELECT counted, newest INTO total, newest_at FROM rate_windows WHERE key = of_key FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO rate_windows (key, counted, newest) VALUES (of_key, 0, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  -- the lock is held, so times grow with the number of the request
  at_ms := greatest(newest_at, coalesce(given_now, now_ms()));
  SELECT at INTO blocking FROM rate_slots WHERE key = of_key AND slot = total % limit_of_key;
  is_admitted := total < limit_of_key OR blocking IS NULL OR blocking <= at_ms - window_ms;
  IF is_admitted AND NOT only_looks THEN
    INSERT INTO rate_slots (key, slot, at) VALUES (of_key, total % limit_of_key, at_ms)
      ON CONFLICT (key, slot) DO UPDATE SET at = excluded.at;
    total := total + 1;
    UPDATE rate_windows SET counted = total, newest = at_ms WHERE key = of_key;
  END IF;
  -- the oldest request in the window, by binary search: times grow with the number
  low := greatest(0, total - limit_of_key);
  high := total;
  WHILE low < high LOOP
    middle := (low + high) / 2;
    SELECT at INTO middle_at FROM rate_slots WHERE key = of_key AND slot = middle % limit_of_key;
    IF middle_at IS NULL OR middle_at <= at_ms - window_ms THEN
      low := middle + 1;
    ELSE
      high := middle;
      oldest := middle_at;
    END IF;
  END LOOP;
  in_window := total - low;
END $body$;
`;
