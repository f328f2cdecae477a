// Embeds the chunks of one memory, slice by slice. smoothing.ts smooths the vectors of conversations.

import type { Embedder } from "../ports/models.ts";
import type { Prepared } from "../ports/preparer.ts";
import { SessionSmoother } from "./smoothing.ts";

/** Chunks per slice: about a second of work for two lanes, both of which it keeps busy. */
const SLICE_CHUNKS = 64;

/**
 * Vectors of chunks, `[n, dimensions]`, at low priority. Other work in the lanes takes turns with the slices. Vectors
 * of a conversation's turns are smoothed with their neighbours.
 * @param shouldContinue called between two slices with the number of chunks done; false ends the work
 * @returns null if `shouldContinue` ended the work
 */
export async function embedChunks(
  embedder: Embedder,
  { chunks, texts }: Pick<Prepared, "chunks" | "texts">,
  signal: AbortSignal,
  shouldContinue: (chunksDone: number) => Promise<boolean>,
): Promise<Float32Array | null> {
  const vectors = new Float32Array(chunks.length * embedder.dimensions);
  const smoother = new SessionSmoother(vectors, chunks, embedder.dimensions);
  for (let first = 0; first < chunks.length; first += SLICE_CHUNKS) {
    const slice = chunks.slice(first, first + SLICE_CHUNKS).map((chunk) => texts.embeddedText(chunk));
    vectors.set(await embedder.embed(slice, "ingest", signal), first * embedder.dimensions);
    const chunksDone = first + slice.length;
    smoother.advance(chunksDone);
    if (chunksDone < chunks.length && !(await shouldContinue(chunksDone))) return null;
  }
  return vectors;
}
