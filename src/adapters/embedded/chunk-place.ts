// The place of a chunk as text, as it is stored with its passage, so that showing a result needs no second store. It
// begins with a checksum of passage and place: the text index checks its files only when they are opened.

import { type ChunkPlace, PLACE_FIELDS } from "../../domain/chunk.ts";

/**
 * Format: `checksum:ordinal,start,end`. The checksum is a CRC-32; earlier versions stored none. If there are headings
 * or a place in the document, `,` and JSON follow: the list of headings, or an object with headings and place.
 */
export function packPlace(chunk: ChunkPlace, passage: string): string {
  const { ordinal, start, end, headings, turn } = chunk;
  const document = Object.fromEntries(
    PLACE_FIELDS.flatMap((name) => (chunk[name] === undefined ? [] : [[name, chunk[name]]])),
  );
  const isOfDocument = turn !== undefined || Object.keys(document).length > 0;
  const more = isOfDocument ? { headings, ...document, turn } : headings;
  const packed = isOfDocument || headings.length > 0 ? `,${JSON.stringify(more)}` : "";
  const place = `${ordinal},${start},${end}${packed}`;
  return `${checksumOf(passage, place)}:${place}`;
}

/** Reads the text that `packPlace` returned for a passage; null if one of the two is damaged. */
export function unpackPlace(packed: string, passage: string): ChunkPlace | null {
  const [, checksum, place = "", ordinal, start, end, more] = FORMAT.exec(packed) ?? [];
  if (ordinal === undefined) return null;
  if (checksum !== undefined && checksum !== checksumOf(passage, place)) return null;
  const found: readonly string[] | Pick<ChunkPlace, "headings" | "page"> = more === undefined ? [] : JSON.parse(more);
  return {
    ordinal: Number(ordinal),
    start: Number(start),
    end: Number(end),
    ...("headings" in found ? found : { headings: found }),
  };
}

const FORMAT = /^(?:([0-9a-z]+):)?((\d+),(\d+),(\d+)(?:,(.*))?)$/s;

function checksumOf(passage: string, place: string): string {
  return Bun.hash.crc32(place, Bun.hash.crc32(passage)).toString(36);
}
