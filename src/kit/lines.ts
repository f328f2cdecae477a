// Reads a text file of any size line by line in constant memory. Decompresses it if its name ends with .gz.

import { createReadStream, statSync } from "node:fs";
import { createGunzip } from "node:zlib";

/** Maximum length of a line in UTF-16 code units. The API accepts no body with more bytes than that either. */
const LINE_UNITS_MAX = 100 * 1024 * 1024;

/** A line and its position. */
export interface Line {
  /** Line number, from 1. */
  readonly number: number;
  readonly text: string;
  /** Share of the file read so far, 0..1. */
  readonly shareRead: number;
}

/**
 * The lines of a file, without line ends and without blank lines.
 * @throws Error if the file cannot be read, is not valid gzip, or has a line of more than `LINE_UNITS_MAX`
 */
export async function* readLines(path: string): AsyncGenerator<Line> {
  const totalBytes = Math.max(1, statSync(path).size);
  const file = createReadStream(path, { highWaterMark: 256 * 1024 });
  const bytes = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  if (bytes !== file) file.on("error", (error) => bytes.destroy(error));

  const decoder = new TextDecoder();
  let number = 0;
  // Pieces of the unfinished line. They are joined only once, so that a long line takes linear time.
  let pieces: string[] = [];
  let pieceUnits = 0;
  for await (const chunk of bytes as AsyncIterable<Uint8Array>) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [at, part] of parts.entries()) {
      pieces.push(part);
      pieceUnits += part.length;
      if (pieceUnits > LINE_UNITS_MAX)
        throw new Error(`${path}: line ${number + 1} is longer than ${LINE_UNITS_MAX} characters`);
      if (at === parts.length - 1) break;
      number++;
      const text = pieces.join("").replace(/\r$/, "");
      pieces = [];
      pieceUnits = 0;
      if (text.trim() !== "") yield { number, text, shareRead: Math.min(1, file.bytesRead / totalBytes) };
    }
  }
  const last = pieces.join("") + decoder.decode();
  if (last.trim() !== "") yield { number: number + 1, text: last, shareRead: 1 };
}
