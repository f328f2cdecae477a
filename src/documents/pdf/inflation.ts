// Whether a part of a PDF unpacks to more than can be read: a few kilobytes can stand for gigabytes, and pdf.js unpacks a page's
// part in one go. Looks at packed parts as they lie in the file; those of an encrypted file stay unknown.

import { inflateSync } from "node:zlib";

/** Bytes that one part may unpack to: more than the longest page has by a factor of a hundred. */
export const PART_BYTES_MAX = 200_000_000;

/** Bytes before a part in which its dictionary begins. */
const DICTIONARY_BYTES_MAX = 4_096;
/** Parts below this size cannot unpack to more than the limit at Deflate's best, 1,032 to 1, unless they are packed twice. */
const PACKED_BYTES_MIN = Math.floor(PART_BYTES_MAX / 1_032);
/** Packings of one part that are undone, one after the other. */
const PACKINGS_MAX = 4;
const START = Buffer.from("stream");
const END = Buffer.from("endstream");

/** Whether one does. Pictures, which are not unpacked, do not count. Time: that of unpacking what is large or packed twice. */
export function unpacksTooFar(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = file.indexOf(START); at !== -1; at = file.indexOf(START, at + START.length)) {
    const dictionary = dictionaryBefore(file, at);
    const packings = dictionary.match(/\/(?:FlateDecode|Fl)\b/g)?.length ?? 0;
    if (packings === 0 || /\/Width\b/.test(dictionary)) continue;
    const start = file[at + START.length] === 0x0d ? at + START.length + 2 : at + START.length + 1;
    const end = file.indexOf(END, start);
    const packed = file.subarray(start, end === -1 ? file.length : end);
    if ((packings > 1 || packed.length >= PACKED_BYTES_MIN) && isTooLarge(packed, Math.min(packings, PACKINGS_MAX))) {
      return true;
    }
    at = start + packed.length;
  }
  return false;
}

function dictionaryBefore(file: Buffer, at: number): string {
  const before = file.toString("latin1", Math.max(0, at - DICTIONARY_BYTES_MAX), at);
  // "endstream" has none
  if (before.endsWith("end")) return "";
  return before.slice(before.lastIndexOf("obj") + 1);
}

function isTooLarge(packed: Uint8Array, packings: number): boolean {
  let bytes = packed;
  for (let packing = 0; packing < packings; packing++) {
    try {
      bytes = inflateSync(bytes, { maxOutputLength: PART_BYTES_MAX });
    } catch (cause) {
      // whatever else is wrong with it, pdf.js knows better how to mend it
      return cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    }
  }
  return false;
}
