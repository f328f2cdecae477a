// Computes an upper bound of the disk space and RAM that the vectors of a second model need, and whether there is
// enough (docs/decisions/036-changing-the-model.md).

const MiB = 1024 * 1024;
/** Bytes of a record of the vector log besides its vector: tag (4), keys of chunk and memory (8 each), checksum (4). */
const RECORD_BYTES = 24;
/**
 * Bytes of a row in RAM besides its vector: twice the 24 bytes of chunk key (8), ordinal (4), log record (4) and range
 * of rows (8), because a list that grows doubles its space.
 */
const ROW_BYTES = 48;
/** Bytes that must stay free for everything else. */
const DISK_RESERVE_BYTES = 64 * MiB;
const MEMORY_RESERVE_BYTES = 128 * MiB;

/** Bytes of disk and RAM. */
export interface Space {
  readonly diskBytes: number;
  readonly memoryBytes: number;
}

/**
 * Upper bound of the space that vectors of `chunks` chunks take: the log on disk; in RAM the 4-bit vectors in whole
 * cache lines, binary codes and keys.
 */
export function spaceOfVectors(chunks: number, dimensions: number): Space {
  const vector = Math.ceil(dimensions / 128) * 64;
  return {
    diskBytes: chunks * (2 * dimensions + RECORD_BYTES),
    memoryBytes: chunks * (vector + Math.ceil(dimensions / 8) + ROW_BYTES),
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
