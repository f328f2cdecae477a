// Embeds the chunks of one memory, slice by slice. smoothing.ts smooths the vectors of conversations.

import type { Chunk, ChunkTexts } from "../domain/chunk.ts";
import type { Embedder, EmbedOptions } from "../ports/models.ts";
import { SessionSmoother } from "./smoothing.ts";

/** Number of chunks per slice: enough to keep two lanes (processes that run models) busy for about a second. */
const SLICE_CHUNKS = 64;

/**
 * Embeds chunks at low priority and returns their vectors, `[n, dimensions]`. Other work in the lanes takes turns with
 * the slices; a memory with fewer tokens left goes first. Vectors of a conversation's turns are smoothed with their
 * neighbours.
 * @param shouldContinue called between two slices with the number of chunks already embedded; if it returns false,
 *   embedding stops
 * @returns null if `shouldContinue` returned false
 */
export async function embedChunks(
  embedder: Embedder,
  { chunks, texts }: { readonly chunks: readonly Chunk[]; readonly texts: Pick<ChunkTexts, "embeddedText"> },
  { share, signal }: Pick<EmbedOptions, "share" | "signal">,
  shouldContinue: (chunksDone: number) => Promise<boolean>,
): Promise<Float32Array | null> {
  const vectors = new Float32Array(chunks.length * embedder.dimensions);
  const smoother = new SessionSmoother(vectors, chunks, embedder.dimensions);
  let tokensLeft = chunks.reduce((sum, { tokens }) => sum + tokens, 0);
  for (let first = 0; first < chunks.length; first += SLICE_CHUNKS) {
    const slice = chunks.slice(first, first + SLICE_CHUNKS);
    vectors.set(
      await embedder.embed(
        slice.map((chunk) => texts.embeddedText(chunk)),
        { purpose: "passage", priority: "ingest", share, tokensLeft, signal },
      ),
      first * embedder.dimensions,
    );
    tokensLeft -= slice.reduce((sum, { tokens }) => sum + tokens, 0);
    const chunksDone = first + slice.length;
    smoother.advance(chunksDone);
    if (chunksDone < chunks.length && !(await shouldContinue(chunksDone))) return null;
  }
  return vectors;
}
