// The steps of one memory between claim and publishing, each a small function; worker.ts decides when they run.

import type { Chunk } from "../domain/chunk.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { Job } from "../ports/memory-store.ts";
import type { Embedder } from "../ports/models.ts";
import type { Prepared, PrepareInput, TextMark } from "../ports/preparer.ts";
import type { ReadyMemory } from "./publisher.ts";

/** Chunks of one memory that are embedded before others have their turn: about a second of two lanes, which it fills. */
const EMBED_SLICE_CHUNKS = 64;

/**
 * Texts of jobs in their order: from the row, or from the index where the row handed its text over before. null where
 * neither has it: the archive was replaced or damaged by hand.
 */
export async function contentsOf(index: ChunkIndex, jobs: readonly Job[]): Promise<readonly (string | null)[]> {
  const handedOver = jobs.filter((job) => job.content === null).map((job) => job.memory.key);
  const archived = handedOver.length === 0 ? new Map<bigint, string>() : await index.contents(handedOver);
  return jobs.map((job) => job.content ?? archived.get(job.memory.key) ?? null);
}

/** A job whose text is there. */
export interface ReadJob {
  readonly job: Job;
  readonly content: string;
  /** The title that a file has beside its text; null: none. */
  readonly title: string | null;
  /** Where its pages, slides or sheets begin; empty where it has none. */
  readonly marks: readonly TextMark[];
}

/** What preparation is told: the caller's values, what a file says, and null where it shall find one. */
export function prepareInputOf({ job: { memory }, content, title }: ReadJob): PrepareInput {
  const given = new Set(memory.given);
  return {
    content,
    title: given.has("title") ? memory.title : title,
    type: given.has("type") ? memory.type : null,
    tags: given.has("tags") ? memory.tags : null,
    language: given.has("language") ? memory.language : null,
  };
}

/**
 * Vectors of chunks, `[n, dimensions]`, at low priority, a slice at a time, so that what else is in work comes in between.
 * @param goesOn asked between two slices, with the number of chunks done; false ends the work, and there are no vectors.
 */
export async function embedChunks(
  embedder: Embedder,
  chunks: readonly Chunk[],
  signal: AbortSignal,
  goesOn: (chunksDone: number) => boolean,
): Promise<Float32Array | null> {
  const vectors = new Float32Array(chunks.length * embedder.dimensions);
  for (let first = 0; first < chunks.length; first += EMBED_SLICE_CHUNKS) {
    const slice = chunks.slice(first, first + EMBED_SLICE_CHUNKS).map((chunk) => chunk.own);
    vectors.set(await embedder.embed(slice, "ingest", signal), first * embedder.dimensions);
    const chunksDone = first + slice.length;
    if (chunksDone < chunks.length && !goesOn(chunksDone)) return null;
  }
  return vectors;
}

/** Puts together what publishing needs. */
export function readyMemory(job: Job, content: string, prepared: Prepared, vectors: Float32Array): ReadyMemory {
  return {
    completion: {
      job,
      extracted: prepared.extracted,
      chunkCount: prepared.chunks.length,
      ...(job.upload !== null && { contentBytes: Buffer.byteLength(content, "utf8") }),
    },
    publication: {
      memoryKey: job.memory.key,
      version: job.memory.version,
      content,
      language: prepared.extracted.language,
      chunks: prepared.chunks,
      vectors,
    },
  };
}
