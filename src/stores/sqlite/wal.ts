// Reads the write-ahead log of SQLite (`-wal`): which pages it has, and their checksums. The format is described in
// https://www.sqlite.org/fileformat.html#the_write_ahead_log. No lock is held on this file, so it may be opened and
// closed at any time; the main file may not, because closing any handle of it releases SQLite's locks.

import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { blocksOf } from "./file-blocks.ts";
import { hasLeftovers, usedSumOf } from "./page-gaps.ts";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Magic number of a log whose checksums read words in little-endian order. `MAGIC + 1`: big-endian. */
const MAGIC = 0x377f0682;

/** The committed frames of a log. */
export interface WalContent {
  /** Number of pages of the database after the last commit; 0 if the log has no commit. */
  readonly pageCount: number;
  /** Sum (`usedSumOf`) of the newest committed content of each page, by page number from 1. */
  readonly sums: ReadonlyMap<number, number>;
  /** Numbers of the pages with leftovers in the unused bytes of a frame. */
  readonly withLeftovers: ReadonlySet<number>;
}

/** A log without a commit. */
export const EMPTY_WAL: WalContent = { pageCount: 0, sums: new Map(), withLeftovers: new Set() };

/**
 * Reads the committed frames, up to the first frame that is not valid: SQLite reads the same frames when it opens the
 * database. A missing, empty or unreadable log has none.
 * @param isTrusted whether this process has the database open, so that SQLite has checked the frames. Their checksums
 *   are not computed again then, which takes most of the time.
 */
export function readWal(path: string, { isTrusted }: { readonly isTrusted: boolean }): WalContent {
  if (!existsSync(path)) return EMPTY_WAL;
  const file = openSync(path, "r");
  try {
    return readFrames(file, isTrusted);
  } finally {
    closeSync(file);
  }
}

function readFrames(file: number, isTrusted: boolean): WalContent {
  const header = Buffer.alloc(HEADER_BYTES);
  if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return EMPTY_WAL;
  const magic = header.readUInt32BE(0);
  const pageSize = header.readUInt32BE(8);
  if ((magic & ~1) !== MAGIC || pageSize < 512 || pageSize > 65_536) return EMPTY_WAL;
  const sum = new RunningSum(magic === MAGIC);
  sum.add(header, 0, 24);
  if (!sum.equals(header, 24)) return EMPTY_WAL;

  const [firstSalt, secondSalt] = [header.readUInt32BE(16), header.readUInt32BE(20)];
  const committed = new Map<number, number>();
  const open = new Map<number, number>();
  const withLeftovers = new Set<number>();
  let pageCount = 0;
  for (const frame of blocksOf(file, HEADER_BYTES, FRAME_HEADER_BYTES + pageSize)) {
    // The salts change whenever SQLite writes the log from its start again. So older frames behind its end differ.
    if (frame.readUInt32BE(8) !== firstSalt || frame.readUInt32BE(12) !== secondSalt) break;
    if (!isTrusted) {
      sum.add(frame, 0, 8);
      sum.add(frame, FRAME_HEADER_BYTES, pageSize);
      if (!sum.equals(frame, 16)) break;
    }
    const content = frame.subarray(FRAME_HEADER_BYTES);
    const page = frame.readUInt32BE(0);
    open.set(page, usedSumOf(page, content));
    if (hasLeftovers(page, content)) withLeftovers.add(page);
    const pagesAfterCommit = frame.readUInt32BE(4);
    if (pagesAfterCommit === 0) continue;
    pageCount = pagesAfterCommit;
    for (const [number, pageSum] of open) committed.set(number, pageSum);
    open.clear();
  }
  return { pageCount, sums: committed, withLeftovers };
}

/** The cumulative checksum of a log. */
class RunningSum {
  #first = 0;
  #second = 0;

  constructor(private readonly isLittleEndian: boolean) {}

  /** Adds bytes; their number is a multiple of 8, and `offset` one of 4. */
  add(buffer: Buffer, offset: number, length: number): void {
    const words = this.#words(buffer, offset, length);
    let first = this.#first;
    let second = this.#second;
    for (let at = 0; at < words.length; at += 2) {
      first = (first + (words[at] ?? 0) + second) | 0;
      second = (second + (words[at + 1] ?? 0) + first) | 0;
    }
    this.#first = first;
    this.#second = second;
  }

  /** Whether the eight bytes at `offset` are this checksum. */
  equals(buffer: Buffer, offset: number): boolean {
    return buffer.readInt32BE(offset) === this.#first && buffer.readInt32BE(offset + 4) === this.#second;
  }

  #words(buffer: Buffer, offset: number, length: number): Int32Array {
    if (this.isLittleEndian) return new Int32Array(buffer.buffer, buffer.byteOffset + offset, length / 4);
    return Int32Array.from({ length: length / 4 }, (_, at) => buffer.readInt32BE(offset + at * 4));
  }
}
