// Assigns to each chunk of a document the page, slide or sheet on which it begins.

import type { Chunk } from "../domain/chunk.ts";
import type { TextMark } from "../ports/document-reader.ts";

/**
 * Returns the chunks, each with the page, slide or sheet on which it begins. Chunks and marks are both in ascending
 * order, so one pass is enough.
 */
export function placedChunks(chunks: readonly Chunk[], marks: readonly TextMark[]): readonly Chunk[] {
  if (marks.length === 0) return chunks;
  let last = -1;
  return chunks.map((chunk) => {
    while (last + 1 < marks.length && (marks[last + 1]?.at ?? 0) <= chunk.start) last += 1;
    return { ...chunk, ...marks[last]?.place };
  });
}
