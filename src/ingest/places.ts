// Assigns to each chunk of a document the page, slide, sheet or other place at which it begins, and, depending on the
// format, the range of its cells or lines, the end of its last subtitle, or a definition.

import { type CellRange, nameOfRange, rangeOfName, unionOfRanges } from "../domain/cell-range.ts";
import type { Chunk, DocumentPlace } from "../domain/chunk.ts";
import type { TextMark } from "../ports/document-reader.ts";

/**
 * Returns the chunks, each with the page, slide, sheet or other place at which it begins. A chunk of a sheet also gets
 * the range that contains all of its cells on that sheet; one of subtitles the end of the last subtitle that begins in
 * it; one of source code the definition in which it begins, else the first one in it; one of a text file its first and
 * last line; one with text of pictures the lowest of their confidences. Chunks and marks are both in ascending order;
 * chunks may overlap.
 * @param lines lines of the chunks in the text, see `Prepared`
 */
export function placedChunks(
  chunks: readonly Chunk[],
  marks: readonly TextMark[],
  lines: ArrayLike<number>,
): readonly Chunk[] {
  if (marks.length === 0) return chunks;
  let last = -1;
  let place: DocumentPlace | undefined;
  let firstLine: number | undefined;
  return chunks.map((chunk, position) => {
    for (let next = marks[last + 1]; next !== undefined && next.at <= chunk.start; next = marks[last + 1]) {
      if (!isOfCells(next)) place = next.place;
      firstLine = next.place.line ?? firstLine;
      last += 1;
    }
    const cells = cellsFrom(marks, last, chunk.end);
    const within = placeWithin(marks, last, chunk.end);
    return {
      ...chunk,
      ...within.before,
      ...place,
      ...within.after,
      ...(firstLine !== undefined && {
        line: (lines[2 * position] ?? 1) + firstLine - 1,
        lineEnd: (lines[2 * position + 1] ?? 1) + (within.lastLine ?? firstLine) - 1,
      }),
      ...(cells !== null && { cells: nameOfRange(cells) }),
    };
  });
}

/** The additions to the place of a chunk by the marks after its first one, up to its end. */
function placeWithin(marks: readonly TextMark[], first: number, end: number) {
  let symbol: string | undefined;
  let toSeconds: number | undefined;
  let lastLine: number | undefined;
  let ocrConfidence = first === -1 ? undefined : marks[first]?.place.ocrConfidence;
  for (let at = first + 1; at < marks.length && (marks[at]?.at ?? 0) < end; at++) {
    const place = marks[at]?.place;
    symbol ??= place?.symbol;
    toSeconds = place?.toSeconds ?? toSeconds;
    lastLine = place?.line ?? lastLine;
    const confidence = place?.ocrConfidence;
    if (confidence !== undefined) ocrConfidence = Math.min(confidence, ocrConfidence ?? 1);
  }
  return {
    before: symbol === undefined ? {} : { symbol },
    after: { ...(toSeconds !== undefined && { toSeconds }), ...(ocrConfidence !== undefined && { ocrConfidence }) },
    lastLine,
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
