// Estimates the memory of an open index, for the limit of a node (MNEME_INDEX_MEMORY_MAX). The constants are chosen so
// that the sum is that of a measured index (docs/measurements.md, "Memory of an open index").

import type { NativeIndex } from "../native/addon-types.ts";

/** Bytes of an open project without data: its thread, file handles, and the readers and writer of its text index. */
const PROJECT_BYTES = 512 * 1024;
/** Bytes of a row of the vector index besides 4-bit vector and binary code: keys, log record, range of its memory. */
const ROW_BYTES = 48;
/** Bytes of a memory: visibility, user, expiry, and attributes in the attribute index. */
const MEMORY_BYTES = 400;
/** Bytes of a chunk in the entity graph. */
const ENTITY_BYTES = 600;
/** Bytes of a chunk in the text index, whose files are mapped into memory. */
const TEXT_BYTES = 1_000;

/** Bytes of a chunk in the graph (HNSW): 32 links, and, for one chunk in 16, 18 numbers in upper layers. */
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
