// Checksums of the pages of mneme.sqlite, in the file `mneme.sqlite-sums`. SQLite itself has none for its main file.
//
// The main file changes in checkpoints only. Before a checkpoint, the sums of all pages in the log are written and
// synced; a page that is in the log is not compared, because SQLite reads it from the log. So the sums are right at
// every moment, also after a crash between the two steps.
//
// Format: a header of 512 bytes (magic, page size, number of pages, CRC-32 of these), then eight bytes per page: the
// CRC-32 of its used bytes (page-gaps.ts), and a check of that entry, which tells a damaged entry from a damaged page.
// Earlier versions summed the whole page.

import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { invariant } from "../../domain/fault.ts";
import { readIfThere } from "../../kit/missing-files.ts";
import { blocksOf } from "./file-blocks.ts";
import { clearLeftovers, hasLeftovers, usedSumOf } from "./page-gaps.ts";
import type { WalContent } from "./wal.ts";

const MAGIC = Buffer.from("MNEMEPS2");
/** Magic of the version whose sums are those of whole pages. */
const MAGIC_OF_WHOLE_PAGES = Buffer.from("MNEMEPS1");
const HEADER_BYTES = 512;
const HEADER_USED_BYTES = 20;
const ENTRY_BYTES = 8;
/** Entries are written in blocks of this size in bytes. */
const BLOCK_BYTES = 4_096;

/** How the pages of a database file compare with their sums. */
export interface PageComparison {
  /** Numbers of the pages whose content is not the one that was last written. */
  readonly damaged: readonly number[];
  /** Number of pages whose entry is damaged. */
  readonly unknown: number;
  /** Numbers of the pages that have leftovers in their unused bytes. */
  readonly withLeftovers: readonly number[];
}

/** The sums of one database file. */
export class PageSums {
  readonly #dirtyBlocks = new Set<number>();

  private constructor(
    readonly pageSize: number,
    private entries: Buffer,
    private pageCount: number,
    /** Whether these are sums of whole pages. Such sums can be compared, but not changed. */
    readonly isOutdated = false,
  ) {}

  /** Reads the file; null if it is missing or its header is damaged. */
  static read(path: string): PageSums | null {
    const content = readIfThere(path);
    if (content === null || content.length < HEADER_BYTES) return null;
    const isOutdated = content.compare(MAGIC_OF_WHOLE_PAGES, 0, 8, 0, 8) === 0;
    if (!isOutdated && content.compare(MAGIC, 0, 8, 0, 8) !== 0) return null;
    if (content.readUInt32LE(16) !== Bun.hash.crc32(content.subarray(0, 16))) return null;
    const entries = Buffer.from(content.subarray(HEADER_BYTES));
    return new PageSums(content.readUInt32LE(8), entries, content.readUInt32LE(12), isOutdated);
  }

  /** The sums of a database file that does not exist yet. */
  static empty(pageSize: number): PageSums {
    return new PageSums(pageSize, Buffer.alloc(0), 0);
  }

  /** The sums of a database file as it is now. SQLite must not have it open in this process. */
  static of(databasePath: string): PageSums {
    const file = openSync(databasePath, "r");
    try {
      const sums = new PageSums(pageSizeOf(file), Buffer.alloc(0), 0);
      for (const content of blocksOf(file, 0, sums.pageSize)) {
        sums.pageCount += 1;
        sums.#set(sums.pageCount, usedSumOf(sums.pageCount, content));
      }
      return sums;
    } finally {
      closeSync(file);
    }
  }

  /**
   * Compares a database file. SQLite must not have it open in this process.
   * @param wal the log, whose pages are not compared
   */
  compare(databasePath: string, wal: WalContent): PageComparison {
    const file = openSync(databasePath, "r");
    try {
      return this.#compare(file, wal);
    } finally {
      closeSync(file);
    }
  }

  /** Overwrites the unused bytes of these pages, durably. SQLite must not have the file open in this process. */
  clear(databasePath: string, pages: readonly number[]): void {
    if (pages.length === 0) return;
    const file = openSync(databasePath, "r+");
    try {
      clearLeftovers(file, this.pageSize, pages);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** Number of pages that have a sum. */
  get pages(): number {
    return this.pageCount;
  }

  /** Numbers of the pages in a range, end exclusive, whose content is not the one that was last written. */
  damagedIn(file: number, first: number, end: number): readonly number[] {
    const content = Buffer.alloc(this.pageSize);
    const damaged: number[] = [];
    for (let page = first; page < end && page <= this.pageCount; page++) {
      const expected = this.#get(page);
      const isWhole = readSync(file, content, 0, this.pageSize, (page - 1) * this.pageSize) === this.pageSize;
      if (!isWhole || (expected !== null && usedSumOf(page, content) !== expected)) damaged.push(page);
    }
    return damaged;
  }

  /** Whether there are changes that `write` has not made durable. */
  get isChanged(): boolean {
    return this.#dirtyBlocks.size > 0;
  }

  /** Takes over the sums of the pages in a log that will be merged into the database file. */
  apply(wal: WalContent): void {
    if (wal.pageCount === 0) return;
    for (const [page, sum] of wal.sums) this.#set(page, sum);
    this.pageCount = wal.pageCount;
  }

  /** Takes over all sums of another instance. */
  replace(other: PageSums): void {
    this.entries = other.entries;
    this.pageCount = other.pageCount;
    for (let block = 0; block * BLOCK_BYTES < this.entries.length; block++) this.#dirtyBlocks.add(block);
  }

  /** Makes all changes durable. */
  write(path: string): void {
    const file = openSync(path, "a", 0o600);
    closeSync(file);
    const writable = openSync(path, "r+");
    try {
      for (const block of this.#dirtyBlocks) {
        const start = block * BLOCK_BYTES;
        const bytes = this.entries.subarray(start, Math.min(start + BLOCK_BYTES, this.entries.length));
        writeSync(writable, bytes, 0, bytes.length, HEADER_BYTES + start);
      }
      const header = Buffer.alloc(HEADER_BYTES);
      MAGIC.copy(header);
      header.writeUInt32LE(this.pageSize, 8);
      header.writeUInt32LE(this.pageCount, 12);
      header.writeUInt32LE(Bun.hash.crc32(header.subarray(0, 16)), 16);
      writeSync(writable, header, 0, fstatSync(writable).size < HEADER_BYTES ? HEADER_BYTES : HEADER_USED_BYTES, 0);
      fsyncSync(writable);
      this.#dirtyBlocks.clear();
    } finally {
      closeSync(writable);
    }
  }

  #compare(file: number, wal: WalContent): PageComparison {
    const damaged: number[] = [];
    const withLeftovers: number[] = [];
    let unknown = 0;
    let page = 0;
    for (const content of blocksOf(file, 0, this.pageSize)) {
      page += 1;
      if (page > this.pageCount) break;
      if (wal.sums.has(page)) continue;
      const expected = this.#get(page);
      if (hasLeftovers(page, content)) withLeftovers.push(page);
      if (expected === null) unknown += 1;
      else if (expected !== (this.isOutdated ? Bun.hash.crc32(content) : usedSumOf(page, content))) damaged.push(page);
    }
    for (page += 1; page <= this.pageCount; page++) if (!wal.sums.has(page)) damaged.push(page);
    return { damaged, unknown, withLeftovers };
  }

  #get(page: number): number | null {
    const at = (page - 1) * ENTRY_BYTES;
    if (at + ENTRY_BYTES > this.entries.length) return null;
    const sum = this.entries.readUInt32LE(at);
    return this.entries.readUInt32LE(at + 4) === checkOf(page, sum) ? sum : null;
  }

  #set(page: number, sum: number): void {
    invariant(page > 0, "SQLite numbers pages from 1");
    const at = (page - 1) * ENTRY_BYTES;
    if (at + ENTRY_BYTES > this.entries.length) {
      const blocks = Math.ceil((at + ENTRY_BYTES) / BLOCK_BYTES);
      const grown = Buffer.alloc(Math.max(blocks * BLOCK_BYTES, this.entries.length * 2));
      this.entries.copy(grown);
      this.entries = grown;
    }
    this.entries.writeUInt32LE(sum, at);
    this.entries.writeUInt32LE(checkOf(page, sum), at + 4);
    this.#dirtyBlocks.add(Math.floor(at / BLOCK_BYTES));
  }
}

/** Check value of an entry, from page number and sum. Not 0 for a sum of 0, so that an empty entry is not valid. */
function checkOf(page: number, sum: number): number {
  const mixed = Math.imul(sum ^ Math.imul(page, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 15) ^ 0x5bd1e995) >>> 0;
}

/** Page size of a database file, from its header. */
function pageSizeOf(file: number): number {
  const header = Buffer.alloc(100);
  const size = readSync(file, header, 0, 100, 0) < 100 ? 0 : header.readUInt16BE(16);
  if (size === 1) return 65_536;
  return size >= 512 && (size & (size - 1)) === 0 ? size : 4_096;
}
