// Reads the parts of a ZIP archive, such as an Office document, by name. Decompresses them piece by piece and counts
// the bytes against the reading budget. directory.ts parses the list of entries; office/package.ts interprets the
// parts.

import { crc32 } from "node:zlib";
// this entry point omits the half of the library that needs worker threads of Node
import { Inflate } from "fflate/browser";
import { type Budget, refuse } from "../budget.ts";
import { ENCRYPTED } from "../document.ts";
import { beginsWith } from "../file-bytes.ts";
import { isOleContainer } from "../ole.ts";
import {
  contentsOffset,
  ENTRY_SIGNATURE,
  findZipDirectory,
  isKnownMethod,
  ZIP_METHOD,
  type ZipEntry,
  zipEntries,
} from "./directory.ts";

/**
 * Number of compressed bytes that are decompressed per step; at the maximum ratio of 1,032 they become 16 MB. The
 * library allocates a new buffer per step: steps of a quarter of this size make reading take 1.5 times as long.
 */
const STEP_BYTES = 16 * 1024;

/** An archive. Names of parts are case-insensitive (ECMA-376-2, 6.2.2.3). */
export class Archive {
  readonly #entries = new Map<string, ZipEntry>();
  readonly #list: readonly ZipEntry[];

  /**
   * @throws ReadFailure if the bytes are not an archive, or the archive is cut off, is encrypted or has too many parts
   */
  constructor(
    private readonly bytes: Uint8Array,
    private readonly budget: Budget,
  ) {
    this.#list = listedEntries(bytes, budget.limits.entries);
    for (const entry of this.#list) {
      this.#entries.set(entry.name.replaceAll("\\", "/").toLowerCase(), entry);
    }
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** All entries, in their order. */
  entries(): readonly ZipEntry[] {
    return this.#list;
  }

  /** Names of all parts in lower case. */
  names(): Iterable<string> {
    return this.#entries.keys();
  }

  /**
   * The decompressed bytes of a part, piece by piece; nothing if the part does not exist.
   * @throws ReadFailure, possibly after some pieces, if the part is damaged or exceeds the budget
   */
  *read(name: string): Generator<Uint8Array> {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry !== undefined) yield* this.contentsOf(entry);
  }

  /**
   * The decompressed bytes of an entry, piece by piece.
   * @throws ReadFailure as `read` does
   */
  *contentsOf(entry: ZipEntry): Generator<Uint8Array> {
    if (entry.isEncrypted) refuse(ENCRYPTED);
    const compressed = this.#compressedOf(entry);
    let inflated = 0;
    let crc = 0;
    for (const piece of entry.method === ZIP_METHOD.stored ? stored(compressed) : inflate(compressed, entry.name)) {
      inflated += piece.byteLength;
      this.budget.addInflated(piece.byteLength, { inflated, compressed: compressed.byteLength });
      this.budget.checkTime();
      crc = crc32(piece, crc);
      yield piece;
    }
    if (crc !== entry.crc) refuse(`The file is damaged: its part ${entry.name} does not agree with its checksum.`);
  }

  #compressedOf(entry: ZipEntry): Uint8Array {
    const { headerAt: at, name } = entry;
    if (!isKnownMethod(entry.method)) {
      refuse(`The file cannot be read: its part ${name} is compressed by method ${entry.method}, which is not known.`);
    }
    const offset = contentsOffset(this.bytes.subarray(at));
    if (offset === null) refuse(`The file is damaged: its part ${name} is not where the list of parts says.`);
    const end = at + offset + entry.compressedBytes;
    if (end > this.bytes.byteLength) refuse(`The file is damaged: its part ${name} is cut off.`);
    return this.bytes.subarray(at + offset, end);
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

function listedEntries(bytes: Uint8Array, entriesMax: number): readonly ZipEntry[] {
  if (isOleContainer(bytes)) refuse(ENCRYPTED);
  const directory = findZipDirectory(bytes);
  if (directory === null) {
    refuse(
      beginsWith(bytes, ENTRY_SIGNATURE)
        ? "The file is damaged: it is cut off, and the list of its parts is missing."
        : "The file is damaged: it is no ZIP archive, as every Office document is.",
    );
  }
  const { start, end, entryCount } = directory;
  const entries: ZipEntry[] = [];
  for (const entry of zipEntries(bytes.subarray(start, end))) {
    if (entries.length === entriesMax) {
      refuse(`The file's archive holds more than ${entriesMax.toLocaleString("en-US")} parts, the limit for a file.`);
    }
    entries.push(entry);
  }
  if (entryCount !== null && entries.length !== entryCount) {
    refuse("The file is damaged: the list of its parts is broken.");
  }
  return entries;
}
