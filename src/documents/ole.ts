// Recognises OLE containers ([MS-CFB]): Office documents of the old binary formats, encrypted ones of the new formats,
// and messages of Outlook.

import { beginsWith, type ReadableFile, readAt } from "./file-bytes.ts";

const OLE_SIGNATURE = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/** Number of bytes that are searched at once. */
const STEP_BYTES = 1024 * 1024;
/**
 * Layout of a directory entry ([MS-CFB] 2.6.1): size, offset of the name's length in bytes (with the final zero),
 * offset of the type, and the type of a stream.
 */
const DIRECTORY_ENTRY = { bytes: 128, nameBytesAt: 64, typeAt: 66, streamType: 2 } as const;

/** What an OLE container holds. */
export type OleKind = "encrypted" | "doc" | "xls" | "ppt" | "msg";

/** The streams by whose names the kinds are recognised. The first kind wins. */
const STREAMS: readonly (readonly [OleKind, string])[] = [
  ["encrypted", "EncryptedPackage"],
  ["msg", "__properties_version1.0"],
  ["ppt", "PowerPoint Document"],
  ["doc", "WordDocument"],
  ["xls", "Workbook"],
  ["xls", "Book"],
];

/** Whether a file begins as an OLE container. */
export function isOleContainer(bytes: Uint8Array): boolean {
  return beginsWith(bytes, OLE_SIGNATURE);
}

/**
 * What an OLE container holds, by the names of its streams; null if none is known. Wherever its sector is, a directory
 * entry begins at a multiple of its size. So the search checks every such offset and does not trust the sector tables.
 */
export async function oleKind(file: ReadableFile, size: number): Promise<OleKind | null> {
  const found = new Set<OleKind>();
  for (let stepAt = 0; stepAt < size; stepAt += STEP_BYTES) {
    const step = await readAt(file, stepAt, Math.min(STEP_BYTES, size - stepAt));
    for (const [kind, name] of STREAMS) if (!found.has(kind) && listsStream(step, name)) found.add(kind);
    if (found.has("encrypted")) break;
  }
  return STREAMS.find(([kind]) => found.has(kind))?.[0] ?? null;
}

function listsStream(bytes: Buffer, name: string): boolean {
  const written = Buffer.from(`${name}\0`, "utf16le");
  for (let at = bytes.indexOf(written); at !== -1; at = bytes.indexOf(written, at + 1)) {
    const isEntry =
      at % DIRECTORY_ENTRY.bytes === 0 &&
      at + DIRECTORY_ENTRY.bytes <= bytes.byteLength &&
      bytes.readUInt16LE(at + DIRECTORY_ENTRY.nameBytesAt) === written.byteLength &&
      bytes[at + DIRECTORY_ENTRY.typeAt] === DIRECTORY_ENTRY.streamType;
    if (isEntry) return true;
  }
  return false;
}
