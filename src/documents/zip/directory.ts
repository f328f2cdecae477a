// Finds and parses the directory of a ZIP archive (APPNOTE.TXT 6.3). It trusts no value in the archive. archive.ts
// reads the entries' contents.

import { beginsWith } from "../file-bytes.ts";

/** Signature of an entry's local header. */
export const ENTRY_SIGNATURE = "PK\x03\x04";
/** Signature of the end record, with which an empty archive begins. */
export const END_SIGNATURE = "PK\x05\x06";
const LISTED_SIGNATURE = "PK\x01\x02";
const END64_SIGNATURE = "PK\x06\x06";
const END64_LOCATOR_SIGNATURE = "PK\x06\x07";

/** Length of an entry's local header without name and extra field. */
export const ENTRY_BYTES = 30;
const LISTED_BYTES = 46;
const END_BYTES = 22;
const END64_BYTES = 56;
const END64_LOCATOR_BYTES = 20;
const COMMENT_BYTES_MAX = 65_535;

/** Number of bytes at the end of an archive that `findZipDirectory` needs (APPNOTE 4.3.14 to 4.3.16). */
export const ZIP_TAIL_BYTES = END_BYTES + COMMENT_BYTES_MAX + END64_LOCATOR_BYTES + END64_BYTES;

/**
 * Value of the field for a size or offset if the number does not fit into it. The number is in the ZIP64 extra field
 * instead.
 */
const IN_EXTRA_FIELD = 0xffff_ffff;
/** Value of the field for the number of entries if the number does not fit into it. */
const COUNT_OVERFLOW = 0xffff;
const EXTRA_ZIP64 = 1;
const FLAG_ENCRYPTED = 1;
const MADE_ON_UNIX = 3;

/** Range of a directory in the archive, in bytes. */
export interface ZipDirectory {
  readonly start: number;
  readonly end: number;
  /** Number of entries; null if the archive does not contain this number. */
  readonly entryCount: number | null;
}

/** An entry as the directory lists it. */
export interface ZipEntry {
  readonly name: string;
  readonly isEncrypted: boolean;
  /** See `ZIP_METHOD`. */
  readonly method: number;
  readonly crc: number;
  /** Mode of the file as Unix has it, with its kind; 0 if the archive was made on another system. */
  readonly mode: number;
  readonly compressedBytes: number;
  /** Offset of the entry's local header in the archive. */
  readonly headerAt: number;
}

/**
 * Finds the directory of an archive; null if its end record is missing. The range is inside the archive, but its bytes
 * may be anything.
 * @param tail the end of the archive, `ZIP_TAIL_BYTES` or all of it
 * @param tailAt offset of `tail` in the archive
 */
export function findZipDirectory(tail: Uint8Array, tailAt = 0): ZipDirectory | null {
  const view = viewOf(tail);
  const at = endRecordAt(tail);
  if (at === null) return null;
  const locator = at - END64_LOCATOR_BYTES;
  if (locator >= 0 && beginsWith(tail, END64_LOCATOR_SIGNATURE, locator)) {
    const end = Number(view.getBigUint64(locator + 8, true)) - tailAt;
    if (end >= 0 && end + END64_BYTES <= locator && beginsWith(tail, END64_SIGNATURE, end)) {
      const start = Number(view.getBigUint64(end + 48, true));
      const entryCount = Number(view.getBigUint64(end + 32, true));
      return { start: Math.min(start, tailAt + end), end: tailAt + end, entryCount };
    }
  }
  const count = view.getUint16(at + 10, true);
  // the position is counted back from the end record, because other bytes may precede the archive
  const start = Math.max(0, tailAt + at - view.getUint32(at + 12, true));
  return { start, end: tailAt + at, entryCount: count === COUNT_OVERFLOW ? null : count };
}

/** Compression methods of entries that are read. */
export const ZIP_METHOD = { stored: 0, deflated: 8 } as const;

/** Whether entries with this method can be read. */
export function isKnownMethod(method: number): boolean {
  return method === ZIP_METHOD.stored || method === ZIP_METHOD.deflated;
}

/**
 * Offset of an entry's contents after its local header; null if no header is there.
 * @param header bytes that begin with the header: at least `ENTRY_BYTES`
 */
export function contentsOffset(header: Uint8Array): number | null {
  if (header.byteLength < ENTRY_BYTES || !beginsWith(header, ENTRY_SIGNATURE)) return null;
  const view = viewOf(header);
  return ENTRY_BYTES + view.getUint16(26, true) + view.getUint16(28, true);
}

/** Parses the entries of a directory, in their order; stops at the first bytes that are not an entry. */
export function* zipEntries(directory: Uint8Array): Generator<ZipEntry> {
  const view = viewOf(directory);
  let at = 0;
  while (at + LISTED_BYTES <= directory.byteLength && beginsWith(directory, LISTED_SIGNATURE, at)) {
    const next = at + LISTED_BYTES + [28, 30, 32].reduce((sum, field) => sum + view.getUint16(at + field, true), 0);
    if (next > directory.byteLength) return;
    yield listedEntry(directory, view, at);
    at = next;
  }
}

/**
 * Names of the first entries of an archive without a directory, read from their local headers. Stops at the first entry
 * whose size is unknown.
 */
export function localEntryNames(head: Buffer): readonly string[] {
  const names: string[] = [];
  for (let at = 0; at + ENTRY_BYTES <= head.byteLength && beginsWith(head, ENTRY_SIGNATURE, at); ) {
    const [nameBytes, extraBytes] = [head.readUInt16LE(at + 26), head.readUInt16LE(at + 28)];
    names.push(head.toString("latin1", at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes));
    at += ENTRY_BYTES + nameBytes + extraBytes + head.readUInt32LE(at + 18);
  }
  return names;
}

/** A `DataView` of bytes that shares their memory. */
function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function endRecordAt(tail: Uint8Array): number | null {
  const last = tail.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES_MAX); at--) {
    if (beginsWith(tail, END_SIGNATURE, at)) return at;
  }
  return null;
}

const nameDecoder = new TextDecoder();

function listedEntry(directory: Uint8Array, view: DataView, at: number): ZipEntry {
  const nameBytes = view.getUint16(at + 28, true);
  const nameAt = at + LISTED_BYTES;
  const sizes = [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)];
  const long = zip64Values(view, nameAt + nameBytes, view.getUint16(at + 30, true));
  // the extra field contains only the values that do not fit into their own fields, in this order
  const [, compressedBytes = 0, headerAt = 0] = sizes.map((value) =>
    value === IN_EXTRA_FIELD ? (long.shift() ?? value) : value,
  );
  return {
    name: nameDecoder.decode(directory.subarray(nameAt, nameAt + nameBytes)),
    isEncrypted: (view.getUint16(at + 8, true) & FLAG_ENCRYPTED) !== 0,
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
    mode: view.getUint8(at + 5) === MADE_ON_UNIX ? view.getUint32(at + 38, true) >>> 16 : 0,
    compressedBytes,
    headerAt,
  };
}

function zip64Values(view: DataView, from: number, bytes: number): number[] {
  const values: number[] = [];
  for (let at = from; at + 4 <= from + bytes; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== EXTRA_ZIP64) continue;
    const end = Math.min(at + 4 + view.getUint16(at + 2, true), from + bytes);
    for (let value = at + 4; value + 8 <= end; value += 8) values.push(Number(view.getBigUint64(value, true)));
  }
  return values;
}
