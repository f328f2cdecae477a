// Schema migrations of memories.duckdb: entry n brings a file from schema version n to n + 1. A released migration is
// never changed. The tables have no keys and no indexes: rows are only appended and deleted, and DuckDB finds them by
// the smallest and largest key of each row group, since keys grow with time.

/**
 * Maximum length of a piece of a text in UTF-16 code units. Each piece is a row. DuckDB reads and writes 2,048 rows of
 * a column at once, and all of them must fit in its memory: with whole texts of 100 kB per row, checkpoints failed at a
 * memory limit of 256 MB. With this length, 2,048 rows take 4 MB for Latin script. A row also stays below 4,096 bytes;
 * DuckDB would store longer values in separate blocks.
 */
export const PIECE_CHARACTERS_MAX = 2_048;

/** Statement that creates a table, under its own name or another one. */
export type CreateTable = (name: string) => string;

/** Definitions of the tables of texts and chunks. DuckDB does not report compression, so a file does not show them. */
export const TABLES: Readonly<Record<"texts" | "chunks", CreateTable>> = {
  // content is not compressed. With FSST compression the file is 40 % smaller, but reading one row has to unpack 2,048
  // rows (5 ms instead of 1 ms), and ingestion takes 2.5 times as long (measured with 614 MB of text)
  texts: (name) => `CREATE TABLE ${name} (
    project_id VARCHAR NOT NULL,
    memory_key UBIGINT NOT NULL,
    version UINTEGER NOT NULL,
    piece UINTEGER NOT NULL,
    content VARCHAR NOT NULL USING COMPRESSION uncompressed
  )`,
  chunks: (name) => `CREATE TABLE ${name} (
    project_id VARCHAR NOT NULL,
    memory_key UBIGINT NOT NULL,
    chunk_key UBIGINT NOT NULL,
    ordinal UINTEGER NOT NULL,
    range_start UINTEGER NOT NULL,
    range_end UINTEGER NOT NULL,
    headings VARCHAR[] NOT NULL
  )`,
};

const TEXTS_AND_CHUNKS: readonly string[] = [TABLES.texts("texts"), TABLES.chunks("chunks")];

// Identity of the data directory, and numbers that show at the next opening whether a store has lost commits. One row.
const COMMIT_NUMBERS: readonly string[] = [
  `CREATE TABLE store (
    store_id VARCHAR NOT NULL,
    commits UBIGINT NOT NULL,
    rows_commits UBIGINT NOT NULL
  )`,
  "INSERT INTO store VALUES ('', 0, 0)",
];

/** Schema version from which on a file has the table `store`. */
export const VERSION_WITH_COMMIT_NUMBERS = 2;

/**
 * All migrations in order, each a list of statements. Their number is the newest schema version that this program
 * supports.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [TEXTS_AND_CHUNKS, COMMIT_NUMBERS];
