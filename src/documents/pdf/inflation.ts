// Checks for decompression bombs in a PDF: a few kilobytes can expand to gigabytes, and pdf.js decompresses a stream at
// once. Checks the streams in the bytes of the file, but cannot check those of an encrypted file.

import { inflateSync } from "node:zlib";

/** Maximum decompressed size of a stream in bytes: a hundred times the longest real page. */
export const STREAM_BYTES_MAX = 200_000_000;

/** Number of bytes before a stream in which its dictionary must begin. */
const DICTIONARY_BYTES_MAX = 4_096;
/**
 * Minimum compressed size in bytes of a stream that can exceed the limit, because the maximum ratio of Deflate is
 * 1,032. Streams that are compressed twice can be smaller.
 */
const COMPRESSED_BYTES_MIN = Math.floor(STREAM_BYTES_MAX / 1_032);
/** Maximum number of nested compressions of a stream that are decompressed. */
const COMPRESSIONS_MAX = 4;
const START = Buffer.from("stream");
const END = Buffer.from("endstream");

/**
 * Whether any stream of a file exceeds the limit. Ignores pictures, because reading the text does not decompress them.
 * Takes as long as decompressing the streams that are large or compressed twice.
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
  // this was the end of "endstream", which has no dictionary
  if (before.endsWith("end")) return "";
  return before.slice(before.lastIndexOf("obj") + 1);
}

function isTooLarge(compressed: Uint8Array, compressions: number): boolean {
  let bytes = compressed;
  for (let compression = 0; compression < compressions; compression++) {
    try {
      bytes = inflateSync(bytes, { maxOutputLength: STREAM_BYTES_MAX });
    } catch (cause) {
      // other errors are no reason to refuse the file: pdf.js can repair them
      return cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    }
  }
  return false;
}
