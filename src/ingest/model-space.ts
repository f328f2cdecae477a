// How much disk and memory the vectors of another model need at most while both models' vectors exist, and whether
// there is enough. docs/decisions/036-changing-the-model.md has the derivation.

const MiB = 1024 * 1024;
/** Bytes of a record of the vector log besides its vector: tag, keys of chunk and memory, checksum. */
const RECORD_BYTES = 24;
/** Bytes of a row in memory besides its vector: keys, log record, and the range of its memory; vectors double. */
const ROW_BYTES = 48;
/** Bytes of a node of the HNSW graph besides its bf16 vector: its key and its links on all levels. */
const NODE_BYTES = 320;
/** Bytes that must stay free for everything else. */
const DISK_RESERVE_BYTES = 64 * MiB;
const MEMORY_RESERVE_BYTES = 128 * MiB;

/** Bytes of disk and memory. */
export interface Space {
  readonly diskBytes: number;
  readonly memoryBytes: number;
}

/**
 * Upper bound of the space that vectors of `chunks` chunks take: the log on disk, and for the HNSW graph two snapshots,
 * because the new one replaces the old one only when it is complete; in memory the int8 vectors, binary codes and keys,
 * and the graph, whose capacity doubles when it is full.
 * @param hasGraph whether the project is large enough for an HNSW graph
 */
export function spaceOfVectors(chunks: number, dimensions: number, hasGraph: boolean): Space {
  const node = hasGraph ? 2 * (2 * dimensions + NODE_BYTES) : 0;
  return {
    diskBytes: chunks * (2 * dimensions + RECORD_BYTES + node),
    memoryBytes: chunks * (dimensions + Math.ceil(dimensions / 8) + ROW_BYTES + node),
  };
}

/** A sentence that says what is missing; null if there is enough space. */
export function lackOfSpace(model: string, chunks: number, needed: Space, free: Space): string | null {
  const lacking = (what: string, needs: number, has: number, advice: string) =>
    `The change to ${model} needs ${readable(needs)} of ${what} for ${chunks} chunks, but ${readable(has)} are free: ${advice}, then ask for it again.`;
  const disk = needed.diskBytes + DISK_RESERVE_BYTES;
  if (disk > free.diskBytes) return lacking("disk space", disk, free.diskBytes, "free some on the server's disk");
  const memory = needed.memoryBytes + MEMORY_RESERVE_BYTES;
  if (memory > free.memoryBytes) return lacking("memory", memory, free.memoryBytes, "give the server more of it");
  return null;
}

function readable(bytes: number): string {
  return `${Math.ceil(bytes / MiB)} MiB`;
}
