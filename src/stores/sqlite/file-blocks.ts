// Reads a file that consists of blocks of equal size, such as pages of a database or frames of its log.

import { readSync } from "node:fs";

/** Number of bytes that are read at once, about. */
const READ_BYTES = 1024 * 1024;

/** The complete blocks of a file from `start` on. A block is valid until the next one is read. */
export function* blocksOf(file: number, start: number, blockBytes: number): Generator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.ceil(READ_BYTES / blockBytes) * blockBytes);
  for (let position = start; ; position += buffer.length) {
    const read = readSync(file, buffer, 0, buffer.length, position);
    for (let at = 0; at + blockBytes <= read; at += blockBytes) yield buffer.subarray(at, at + blockBytes);
    if (read < buffer.length) return;
  }
}
