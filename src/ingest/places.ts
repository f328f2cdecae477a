// Assigns to each chunk of a document the page, slide, sheet or other place at which it begins, and of a sheet the
// range of its cells.

import { type CellRange, nameOfRange, rangeOfName, unionOfRanges } from "../domain/cell-range.ts";
import type { Chunk, DocumentPlace } from "../domain/chunk.ts";
import type { TextMark } from "../ports/document-reader.ts";

/**
 * Returns the chunks, each with the page, slide, sheet or other place at which it begins. A chunk of a sheet also gets
 * the range that contains all of its cells on that sheet. One of subtitles ends with the last of them that it has a
 * part of; one of source code names the first definition in it. Chunks and marks are both in ascending order; chunks
 * may overlap.
 */
export function placedChunks(chunks: readonly Chunk[], marks: readonly TextMark[]): readonly Chunk[] {
  if (marks.length === 0) return chunks;
  let last = -1;
  let place: DocumentPlace | undefined;
  return chunks.map((chunk) => {
    for (let next = marks[last + 1]; next !== undefined && next.at <= chunk.start; next = marks[last + 1]) {
      if (!isOfCells(next)) place = next.place;
      last += 1;
    }
    const cells = cellsFrom(marks, last, chunk.end);
    const within = placeWithin(marks, last, chunk.end);
    return {
      ...chunk,
      ...within.before,
      ...place,
      ...within.after,
      ...(cells !== null && { cells: nameOfRange(cells) }),
    };
  });
}

/** What the marks behind the first one, up to the end of a chunk, add to its place. */
function placeWithin(marks: readonly TextMark[], first: number, end: number) {
  let symbol: string | undefined;
  let toSeconds: number | undefined;
  for (let at = first + 1; at < marks.length && (marks[at]?.at ?? 0) < end; at++) {
    const place = marks[at]?.place;
    symbol ??= place?.symbol;
    toSeconds = place?.toSeconds ?? toSeconds;
  }
  return {
    before: symbol === undefined ? {} : { symbol },
    after: toSeconds === undefined ? {} : { toSeconds },
  };
}

/** Whether a mark names only cells: cells of the sheet of the mark before it. */
function isOfCells({ place }: TextMark): boolean {
  return place.cells !== undefined && place.sheet === undefined;
}

/** The range of all cells from a mark to the end of a chunk, or to the next sheet; null if there are none. */
function cellsFrom(marks: readonly TextMark[], first: number, end: number): CellRange | null {
  let whole: CellRange | null = null;
  for (let at = Math.max(first, 0); at < marks.length; at++) {
    const mark = marks[at];
    if (mark === undefined || (at > first && (mark.at >= end || !isOfCells(mark)))) break;
    const range = rangeOfName(mark.place.cells ?? "");
    if (range !== null) whole = whole === null ? range : unionOfRanges(whole, range);
  }
  return whole;
}
