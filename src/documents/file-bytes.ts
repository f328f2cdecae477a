// Reads ranges of a file and compares bytes with signatures.

/** A file of which ranges can be read: an open file, or bytes in memory. */
export interface ReadableFile {
  stat(): Promise<{ readonly size: number }>;
  /** Reads up to `length` bytes at `position` into `bytes`, from `offset` on. */
  read(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

/** Bytes in memory as a file. */
export function readableBytes(bytes: Uint8Array): ReadableFile {
  return {
    stat: async () => ({ size: bytes.byteLength }),
    read: async (target, offset, length, position) => {
      const part = bytes.subarray(position, position + length);
      target.set(part, offset);
      return { bytesRead: part.byteLength };
    },
  };
}

/** Whether bytes contain a signature at an offset. @param signature one character per byte (Latin-1) */
export function beginsWith(bytes: Uint8Array, signature: string, at = 0): boolean {
  for (let position = 0; position < signature.length; position++) {
    if (bytes[at + position] !== signature.charCodeAt(position)) return false;
  }
  return true;
}

/** Reads `length` bytes from an offset on, or fewer if the file ends before that. */
export async function readAt(file: ReadableFile, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
