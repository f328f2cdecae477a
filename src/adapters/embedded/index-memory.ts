// Estimates the memory of an open index, for the limit of a node (MNEME_INDEX_MEMORY_MAX). The constants are chosen so
// that the sum is that of a measured index (docs/measurements.md, "Memory of an open index").

import type { NativeIndex } from "../native/addon-types.ts";

/** Bytes of an open project without data: its thread, file handles, and the readers and writer of its text index. */
const PROJECT_BYTES = 512 * 1024;
/**
 * Bytes of a row (vector) of the vector index besides its 4-bit vector and its binary code: keys, log record, and a
 * share of the entry that says which rows a memory has.
 */
const ROW_BYTES = 48;
/** Bytes of a memory: visibility, user, expiry, and attributes in the attribute index. */
const MEMORY_BYTES = 400;
/** Bytes of a chunk in the entity graph. */
const ENTITY_BYTES = 600;
/** Bytes of a chunk in the text index, whose files are mapped into memory. */
const TEXT_BYTES = 1_000;

/**
 * Bytes of a chunk in the graph (HNSW): 32 links of 4 bytes, and about 5 bytes for the upper layers, which have one
 * chunk in 16, with 18 numbers of 4 bytes each. Rounded up.
 */
const GRAPH_BYTES = 134;

/** Estimate of the memory that an open index takes, in bytes. */
export function memoryOfIndex(index: NativeIndex): number {
  const { memories, chunks, deadChunks, textChunks, entityRecords } = index.stats();
  const { dimensions } = index.models().live;
  const row = Math.ceil(dimensions / 128) * 64 + Math.ceil(dimensions / 8) + ROW_BYTES;
  return (
    PROJECT_BYTES +
    memories * MEMORY_BYTES +
    (chunks + deadChunks) * row +
    index.vectorIndexStatus().graphChunks * GRAPH_BYTES +
    textChunks * TEXT_BYTES +
    entityRecords * ENTITY_BYTES
  );
}
