// The place of a chunk as text, as it is stored with its passage, so that showing a result needs no second store.

import type { ChunkPlace } from "../../domain/chunk.ts";

/**
 * Format: `ordinal,start,end`. If there are headings or a place in the document, `,` and JSON follow: the list of
 * headings, or an object with headings and place.
 */
export function packPlace({ ordinal, start, end, headings, page, slide, sheet, turn }: ChunkPlace): string {
  const isOfDocument = page !== undefined || slide !== undefined || sheet !== undefined || turn !== undefined;
  const more = isOfDocument ? { headings, page, slide, sheet, turn } : headings;
  const packed = isOfDocument || headings.length > 0 ? `,${JSON.stringify(more)}` : "";
  return `${ordinal},${start},${end}${packed}`;
}

/** Reads the text that `packPlace` returned. */
export function unpackPlace(packed: string): ChunkPlace {
  const [, ordinal, start, end, more] = /^(\d+),(\d+),(\d+)(?:,(.*))?$/.exec(packed) ?? [];
  const found: readonly string[] | Pick<ChunkPlace, "headings" | "page"> = more === undefined ? [] : JSON.parse(more);
  return {
    ordinal: Number(ordinal),
    start: Number(start),
    end: Number(end),
    ...("headings" in found ? found : { headings: found }),
  };
}
