// Where in their document the chunks of a text stand.

import type { Chunk } from "../domain/chunk.ts";
import type { TextMark } from "../ports/document-reader.ts";

/** Chunks with the page, slide or sheet on which each begins. Both ascend, so one walk places all. */
export function placedChunks(chunks: readonly Chunk[], marks: readonly TextMark[]): readonly Chunk[] {
  if (marks.length === 0) return chunks;
  let last = -1;
  return chunks.map((chunk) => {
    while (last + 1 < marks.length && (marks[last + 1]?.at ?? 0) <= chunk.start) last += 1;
    // with its accessors: spreading the chunk would make the texts of all of them (preparation/assemble.ts)
    return Object.defineProperties({} as Chunk, {
      ...Object.getOwnPropertyDescriptors(chunk),
      ...Object.getOwnPropertyDescriptors(marks[last]?.place ?? {}),
    });
  });
}
