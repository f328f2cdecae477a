// Schema migrations of memories.duckdb: entry n brings a file from schema version n to n + 1. A released migration is
// never changed. The tables have no keys and no indexes: rows are only appended and deleted, and DuckDB finds them by
// the smallest and largest key of each row group, since keys grow with time.

/**
 * Maximum length of a piece of a text, which is one row, in UTF-16 code units. DuckDB reads and writes 2,048 rows of a
 * column at once, and all of them must fit its memory: with whole texts of 100 kB in a row, checkpoints failed at a
 * limit of 256 MB. At this length it is 4 MB for Latin script, and a row stays below the 4,096 bytes up to which DuckDB
 * keeps it in place.
 */
export const PIECE_CHARACTERS_MAX = 2_048;

// content is not compressed: with FSST a read has to unpack 2,048 rows for one (5 ms instead of 1), and ingest takes
// 2.5 times as long, for files that are 40 % smaller (measured with 614 MB of text)
const TEXTS_AND_CHUNKS: readonly string[] = [
  `CREATE TABLE texts (
    project_id VARCHAR NOT NULL,
    memory_key UBIGINT NOT NULL,
    version UINTEGER NOT NULL,
    piece UINTEGER NOT NULL,
    content VARCHAR NOT NULL USING COMPRESSION uncompressed
  )`,
  `CREATE TABLE chunks (
    project_id VARCHAR NOT NULL,
    memory_key UBIGINT NOT NULL,
    chunk_key UBIGINT NOT NULL,
    ordinal UINTEGER NOT NULL,
    range_start UINTEGER NOT NULL,
    range_end UINTEGER NOT NULL,
    headings VARCHAR[] NOT NULL
  )`,
];

/**
 * All migrations in their order, each a list of statements. Their number is the schema version that this version
 * supports.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [TEXTS_AND_CHUNKS];
