// Checks for decompression bombs in a PDF: a few kilobytes can expand to gigabytes, and pdf.js decompresses a stream at
// once. Checks streams as they lie in the file, but not those of an encrypted file.

import { inflateSync } from "node:zlib";

/** Maximum decompressed size of a stream: a hundred times the longest page. */
export const STREAM_BYTES_MAX = 200_000_000;

/** Bytes before a stream in which its dictionary begins. */
const DICTIONARY_BYTES_MAX = 4_096;
/**
 * Streams below this size cannot exceed the limit, since the maximum ratio of Deflate is 1,032, unless they are
 * compressed twice.
 */
const COMPRESSED_BYTES_MIN = Math.floor(STREAM_BYTES_MAX / 1_032);
/** Maximum number of nested compressions that are decompressed. */
const COMPRESSIONS_MAX = 4;
const START = Buffer.from("stream");
const END = Buffer.from("endstream");

/**
 * Whether a stream exceeds the limit. Ignores pictures, which are not decompressed. Takes the time to decompress large
 * and doubly compressed streams.
 */
export function hasDecompressionBomb(bytes: Uint8Array): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = file.indexOf(START); at !== -1; at = file.indexOf(START, at + START.length)) {
    const dictionary = dictionaryBefore(file, at);
    const compressions = dictionary.match(/\/(?:FlateDecode|Fl)\b/g)?.length ?? 0;
    if (compressions === 0 || /\/Width\b/.test(dictionary)) continue;
    const start = file[at + START.length] === 0x0d ? at + START.length + 2 : at + START.length + 1;
    const end = file.indexOf(END, start);
    const compressed = file.subarray(start, end === -1 ? file.length : end);
    if (
      (compressions > 1 || compressed.length >= COMPRESSED_BYTES_MIN) &&
      isTooLarge(compressed, Math.min(compressions, COMPRESSIONS_MAX))
    ) {
      return true;
    }
    at = start + compressed.length;
  }
  return false;
}

function dictionaryBefore(file: Buffer, at: number): string {
  const before = file.toString("latin1", Math.max(0, at - DICTIONARY_BYTES_MAX), at);
  // "endstream" has no dictionary
  if (before.endsWith("end")) return "";
  return before.slice(before.lastIndexOf("obj") + 1);
}

function isTooLarge(compressed: Uint8Array, compressions: number): boolean {
  let bytes = compressed;
  for (let compression = 0; compression < compressions; compression++) {
    try {
      bytes = inflateSync(bytes, { maxOutputLength: STREAM_BYTES_MAX });
    } catch (cause) {
      // pdf.js can repair other errors
      return cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    }
  }
  return false;
}
