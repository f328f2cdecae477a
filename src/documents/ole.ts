// Recognises OLE containers ([MS-CFB]): Office documents of the old binary formats, and encrypted ones of the new
// formats.

import type { FileHandle } from "node:fs/promises";
import { beginsWith, readAt } from "./file-bytes.ts";

const OLE_SIGNATURE = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/** Number of bytes that are searched at once. */
const STEP_BYTES = 1024 * 1024;
/**
 * Layout of a directory entry ([MS-CFB] 2.6.1): size, offset of the name's length in bytes (with the final zero),
 * offset of the type, and the type of a stream.
 */
const DIRECTORY_ENTRY = { bytes: 128, nameBytesAt: 64, typeAt: 66, streamType: 2 } as const;
const ENCRYPTED_PACKAGE = Buffer.from("EncryptedPackage\0", "utf16le");

/** Whether a file begins as an OLE container. */
export function isOleContainer(bytes: Uint8Array): boolean {
  return beginsWith(bytes, OLE_SIGNATURE);
}

/**
 * Whether an OLE container lists a stream `EncryptedPackage`. Wherever its sector is, a directory entry begins at a
 * multiple of its size. So the search checks every such offset and does not trust the sector tables.
 */
export async function holdsEncryptedPackage(file: FileHandle, size: number): Promise<boolean> {
  for (let stepAt = 0; stepAt < size; stepAt += STEP_BYTES) {
    const step = await readAt(file, stepAt, Math.min(STEP_BYTES, size - stepAt));
    for (let at = step.indexOf(ENCRYPTED_PACKAGE); at !== -1; at = step.indexOf(ENCRYPTED_PACKAGE, at + 1)) {
      const isEntry =
        at % DIRECTORY_ENTRY.bytes === 0 &&
        at + DIRECTORY_ENTRY.bytes <= step.byteLength &&
        step.readUInt16LE(at + DIRECTORY_ENTRY.nameBytesAt) === ENCRYPTED_PACKAGE.byteLength &&
        step[at + DIRECTORY_ENTRY.typeAt] === DIRECTORY_ENTRY.streamType;
      if (isEntry) return true;
    }
  }
  return false;
}
