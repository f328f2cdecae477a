// Migrations for imports with vectors, and for the erasure of a memory's data in deliveries.

/** Adds the vectors that an import stored with memories, until these are indexed. */
export const IMPORTED_VECTORS = `
CREATE TABLE imported_vectors (
  memory_key INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
  -- position of the first chunk
  first_chunk INTEGER NOT NULL,
  -- identifies the model
  fingerprint TEXT NOT NULL,
  -- SHA-256 of what the model read of all chunks, in hexadecimal digits
  inputs_sha256 TEXT NOT NULL,
  -- 32-bit floats, little-endian
  vectors BLOB NOT NULL,
  PRIMARY KEY (memory_key, first_chunk)
) STRICT;
`;

// Built from the columns, because SQLite limits how deeply the JSON that it reads may be nested.
const BARE_BODY = `json_object('type', event, 'timestamp', strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'),
    'data', json_object('id', memory_id))`;

/**
 * When a memory is erased, its id is all that stays in deliveries: their events have its title, which begins with its
 * text, its tags and its metadata.
 */
export const ERASED_DELIVERIES = `
-- id of the memory whose event it is; null for another event, and when the memory was erased
ALTER TABLE deliveries ADD COLUMN memory_id TEXT;
UPDATE deliveries SET memory_id = body ->> '$.data.id' WHERE event <> 'webhook.test' AND json_valid(body);
CREATE INDEX deliveries_by_memory ON deliveries (memory_id) WHERE memory_id IS NOT NULL;
CREATE TRIGGER deliveries_erased AFTER DELETE ON memories BEGIN
  UPDATE deliveries SET memory_id = NULL, body = ${BARE_BODY} WHERE memory_id = old.id;
END;
UPDATE deliveries SET memory_id = NULL, body = ${BARE_BODY} WHERE memory_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM memories WHERE memories.id = memory_id);
`;
