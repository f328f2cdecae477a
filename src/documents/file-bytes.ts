// Reads ranges of a file and compares bytes with signatures.

import type { FileHandle } from "node:fs/promises";

/** Whether bytes contain a signature at an offset. @param signature one character per byte (Latin-1) */
export function beginsWith(bytes: Uint8Array, signature: string, at = 0): boolean {
  for (let position = 0; position < signature.length; position++) {
    if (bytes[at + position] !== signature.charCodeAt(position)) return false;
  }
  return true;
}

/** Reads `length` bytes from an offset on, or fewer if the file ends before that. */
export async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
