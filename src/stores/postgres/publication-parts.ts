// Packs publications: the texts of up to 256 chunks as compressed JSON, and vectors as bf16. The native core stores
// vectors with the same precision, so an index that is loaded ranks exactly like the one that was computed.

import { invariant } from "../../domain/fault.ts";
import type { KnownEntities, ModelVectors } from "../../ports/chunk-index.ts";
import { PART_CHUNKS, type SharedChunkTexts, type SharedMemory } from "../../ports/shared-index.ts";

/**
 * Compression level of zstd. It compresses 300 MB/s, and context texts take little space, because they repeat passages.
 */
const ZSTD_LEVEL = 1;

/** The content of one part. */
interface PackedPart {
  readonly language: string;
  /** Only in the first part. */
  readonly entities?: KnownEntities;
  readonly chunks: readonly (readonly [own: string, context: string | null, passage: string, place: string])[];
}

/** Number of parts of a memory with this many chunks. */
export function partsOf(chunkCount: number): number {
  return Math.ceil(chunkCount / PART_CHUNKS);
}

/** Packs the texts of one part. */
export function packTexts(memory: Omit<SharedMemory, "version" | "lease" | "content">, part: number): Uint8Array {
  const first = part * PART_CHUNKS;
  const texts = memory.texts(first, Math.min(first + PART_CHUNKS, memory.chunks.length));
  const packed: PackedPart = {
    language: memory.language,
    ...(part === 0 && { entities: memory.entities }),
    chunks: texts.map(({ own, context, passage, place }) => [own, context, passage, place]),
  };
  return Bun.zstdCompressSync(JSON.stringify(packed), { level: ZSTD_LEVEL });
}

/** Unpacks the texts of one part. */
export function unpackTexts(packed: Uint8Array): {
  readonly language: string;
  readonly entities: KnownEntities;
  readonly chunks: readonly SharedChunkTexts[];
} {
  const bytes = Bun.zstdDecompressSync(packed as Uint8Array<ArrayBuffer>);
  const { language, entities, chunks } = JSON.parse(bytes.toString("utf8")) as PackedPart;
  return {
    language,
    entities: entities ?? { title: null, phrases: [] },
    chunks: chunks.map(([own, context, passage, place]) => ({ own, context, passage, place })),
  };
}

/** Packs the vectors of one part of a memory with `chunkCount` chunks. */
export function packVectors({ vectors }: ModelVectors, chunkCount: number, part: number): Uint8Array {
  const dimensions = vectors.length / chunkCount;
  invariant(Number.isInteger(dimensions), `${vectors.length} components for ${chunkCount} chunks`);
  return toBf16(vectors.subarray(part * PART_CHUNKS * dimensions, (part + 1) * PART_CHUNKS * dimensions));
}

/** Joins the vectors of all parts of a memory. */
export function unpackVectors(parts: readonly Uint8Array[]): Float32Array {
  const vectors = new Float32Array(parts.reduce((sum, { length }) => sum + length / 2, 0));
  const bits = new Uint32Array(vectors.buffer);
  let at = 0;
  for (const part of parts) {
    const halves = new Uint16Array(part.buffer, part.byteOffset, part.length / 2);
    for (const half of halves) bits[at++] = half << 16;
  }
  return vectors;
}

/** Rounds to the nearest bf16, ties to even, as the native core does; little-endian. */
function toBf16(vectors: Float32Array): Uint8Array {
  const bits = new Uint32Array(vectors.buffer, vectors.byteOffset, vectors.length);
  const rounded = new Uint16Array(bits.length);
  for (let at = 0; at < bits.length; at++) {
    const value = bits[at] ?? 0;
    rounded[at] = (value + 0x7fff + ((value >>> 16) & 1)) >>> 16;
  }
  return new Uint8Array(rounded.buffer);
}
