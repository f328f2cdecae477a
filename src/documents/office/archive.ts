// The parts of a ZIP archive (APPNOTE.TXT 6.3), as far as Office documents use it: by name, decompressed a piece at a time and
// counted on the way. What the parts mean is package.ts's question.

import { crc32 } from "node:zlib";
// without the half of the library that wants Node's workers
import { Inflate } from "fflate/browser";
import { isOleContainer } from "../sniff.ts";
import { type Budget, refuse } from "./budget.ts";

/**
 * Compressed bytes that are handed on at once: they become 16 MB at most (a ratio of 1,032). Each step costs the library a new
 * buffer: a quarter of it takes half again as long.
 */
const STEP_BYTES = 16 * 1024;

const END_SIGN = 0x0605_4b50;
const END_BYTES = 22;
const COMMENT_BYTES_MAX = 65_535;
const END64_LOCATOR_SIGN = 0x0706_4b50;
const END64_LOCATOR_BYTES = 20;
const END64_SIGN = 0x0606_4b50;
const END64_BYTES = 56;
const LISTED_SIGN = 0x0201_4b50;
const LISTED_BYTES = 46;
const ENTRY_SIGN = 0x0403_4b50;
const ENTRY_BYTES = 30;
/** Stands where a value is too long for its field and follows in the extra field of ZIP64. */
const TOO_LONG = 0xffff_ffff;
const TOO_MANY = 0xffff;
const EXTRA_ZIP64 = 1;
const FLAG_ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

/** A part as the archive lists it. */
interface Entry {
  readonly name: string;
  readonly isEncrypted: boolean;
  readonly method: number;
  readonly crc: number;
  readonly compressedBytes: number;
  /** Of its own header. */
  readonly at: number;
}

/** An archive. Names are compared without regard to case, as the parts of Office documents are (ECMA-376-2, 6.2.2.3). */
export class Archive {
  readonly #entries = new Map<string, Entry>();

  /** @throws ReadFailure when the bytes are no archive, or one that is cut off, encrypted or too rich in parts */
  constructor(
    private readonly bytes: Uint8Array,
    private readonly budget: Budget,
  ) {
    for (const entry of listedEntries(bytes, budget.limits.entries)) {
      this.#entries.set(entry.name.replaceAll("\\", "/").toLowerCase(), entry);
    }
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** Names of all parts in lower case. */
  names(): Iterable<string> {
    return this.#entries.keys();
  }

  /**
   * The bytes of a part, piece by piece; nothing for a part that is not there.
   * @throws ReadFailure, possibly after some pieces, when it is damaged or goes beyond the budget
   */
  *read(name: string): Generator<Uint8Array> {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry === undefined) return;
    if (entry.isEncrypted) refuse("The file is encrypted. Upload it without a password.");
    const compressed = this.#compressedOf(entry);
    let inflated = 0;
    let crc = 0;
    for (const piece of entry.method === STORED ? stored(compressed) : inflate(compressed, entry.name)) {
      inflated += piece.byteLength;
      this.budget.addInflated(piece.byteLength, { inflated, compressed: compressed.byteLength });
      this.budget.checkTime();
      crc = crc32(piece, crc);
      yield piece;
    }
    if (crc !== entry.crc) refuse(`The file is damaged: its part ${entry.name} does not agree with its checksum.`);
  }

  #compressedOf(entry: Entry): Uint8Array {
    const { at, name } = entry;
    if (entry.method !== STORED && entry.method !== DEFLATED) {
      refuse(`The file cannot be read: its part ${name} is compressed by method ${entry.method}, which is not known.`);
    }
    const view = viewOf(this.bytes);
    if (at + ENTRY_BYTES > view.byteLength || view.getUint32(at, true) !== ENTRY_SIGN) {
      refuse(`The file is damaged: its part ${name} is not where the list of parts says.`);
    }
    const from = at + ENTRY_BYTES + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
    if (from + entry.compressedBytes > view.byteLength) refuse(`The file is damaged: its part ${name} is cut off.`);
    return this.bytes.subarray(from, from + entry.compressedBytes);
  }
}

function* stored(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += STEP_BYTES) yield bytes.subarray(at, at + STEP_BYTES);
}

function* inflate(compressed: Uint8Array, name: string): Generator<Uint8Array> {
  const ready: Uint8Array[] = [];
  const inflater = new Inflate((piece) => ready.push(piece));
  for (let at = 0; at < compressed.byteLength; at += STEP_BYTES) {
    const isLast = at + STEP_BYTES >= compressed.byteLength;
    try {
      inflater.push(compressed.subarray(at, at + STEP_BYTES), isLast);
    } catch (cause) {
      refuse(`The file is damaged: its part ${name} cannot be decompressed.`, cause);
    }
    yield* ready.splice(0);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function listedEntries(bytes: Uint8Array, entriesMax: number): readonly Entry[] {
  const view = viewOf(bytes);
  const { start, end, count } = directoryOf(bytes, view);
  const entries: Entry[] = [];
  let at = start;
  while (at + LISTED_BYTES <= end && view.getUint32(at, true) === LISTED_SIGN) {
    if (entries.length === entriesMax) {
      refuse(`The file's archive holds more than ${entriesMax.toLocaleString("en-US")} parts, the most that is read.`);
    }
    const next = at + LISTED_BYTES + [28, 30, 32].reduce((sum, field) => sum + view.getUint16(at + field, true), 0);
    if (next > end) break;
    entries.push(listedEntry(bytes, view, at));
    at = next;
  }
  if (count !== null && entries.length !== count) refuse("The file is damaged: the list of its parts is broken.");
  return entries;
}

/** Where the list of parts stands, and how many it has; null: not told. */
function directoryOf(bytes: Uint8Array, view: DataView): { start: number; end: number; count: number | null } {
  if (isOleContainer(bytes)) refuse("The file is encrypted. Upload it without a password.");
  const at = endRecordAt(view);
  if (at === null) {
    const isArchive = view.byteLength >= 4 && view.getUint32(0, true) === ENTRY_SIGN;
    refuse(
      isArchive
        ? "The file is damaged: it is cut off, and the list of its parts is missing."
        : "The file is damaged: it is not the archive that an Office document is.",
    );
  }
  const locator = at - END64_LOCATOR_BYTES;
  if (locator >= 0 && view.getUint32(locator, true) === END64_LOCATOR_SIGN) {
    const end = Number(view.getBigUint64(locator + 8, true));
    if (end + END64_BYTES <= locator && view.getUint32(end, true) === END64_SIGN) {
      const start = Number(view.getBigUint64(end + 48, true));
      return { start: Math.min(start, end), end, count: Number(view.getBigUint64(end + 32, true)) };
    }
  }
  const count = view.getUint16(at + 10, true);
  // counted from its end: something may stand before the archive
  const start = Math.max(0, at - view.getUint32(at + 12, true));
  return { start, end: at, count: count === TOO_MANY ? null : count };
}

function endRecordAt(view: DataView): number | null {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES_MAX); at--) {
    if (view.getUint32(at, true) === END_SIGN) return at;
  }
  return null;
}

function listedEntry(bytes: Uint8Array, view: DataView, at: number): Entry {
  const nameBytes = view.getUint16(at + 28, true);
  const nameAt = at + LISTED_BYTES;
  const entry = {
    name: new TextDecoder().decode(bytes.subarray(nameAt, nameAt + nameBytes)),
    isEncrypted: (view.getUint16(at + 8, true) & FLAG_ENCRYPTED) !== 0,
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
  };
  const sizes = {
    inflated: view.getUint32(at + 24, true),
    compressedBytes: view.getUint32(at + 20, true),
    at: view.getUint32(at + 42, true),
  };
  const long = zip64Values(view, nameAt + nameBytes, view.getUint16(at + 30, true));
  // those that are too long follow in this order
  const [, compressedBytes = 0, headerAt = 0] = [sizes.inflated, sizes.compressedBytes, sizes.at].map((value) =>
    value === TOO_LONG ? (long.shift() ?? value) : value,
  );
  return { ...entry, compressedBytes, at: headerAt };
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
