// The unused bytes of a page of mneme.sqlite: the gap between the cell pointers of a b-tree page and its cells. SQLite
// never reads them, but leaves copies of rows there when it moves cells between pages; `secure_delete` does not clear
// those. The format is described in https://www.sqlite.org/fileformat.html#b_tree_pages.

import { readSync, writeSync } from "node:fs";

/** Bytes of the file's header on page 1, before the header of its b-tree page. */
const FILE_HEADER_BYTES = 100;
/** Header sizes in bytes by the type of a b-tree page: interior pages of an index and a table, then leaves. */
const HEADER_BYTES: Readonly<Record<number, number>> = { 2: 12, 5: 12, 10: 8, 13: 8 };
/**
 * Number of pages from which on nothing is cleared. Overflow pages and pages of the free list begin with the number of
 * another page; in a file with fewer pages, the first byte of that number is no type of a b-tree page.
 */
const PAGES_MAX = 2 * 2 ** 24;
const ZEROS = Buffer.alloc(65_536);

/** A range of bytes of a page; the end is exclusive. */
interface Gap {
  readonly start: number;
  readonly end: number;
}

/** The gap of a page; null if the page is no b-tree page. */
function gapOf(number: number, page: Buffer): Gap | null {
  const header = number === 1 ? FILE_HEADER_BYTES : 0;
  const headerBytes = HEADER_BYTES[page.readUInt8(header)];
  if (headerBytes === undefined) return null;
  const start = header + headerBytes + 2 * page.readUInt16BE(header + 3);
  const end = page.readUInt16BE(header + 5) || 65_536; // 0 stands for 65,536, which does not fit into two bytes
  return start <= end && end <= page.length ? { start, end } : null;
}

/** CRC-32 of what SQLite reads of a page. Clearing the gap does not change it. */
export function usedSumOf(number: number, page: Buffer): number {
  const gap = gapOf(number, page);
  if (gap === null) return Bun.hash.crc32(page);
  return Bun.hash.crc32(page.subarray(gap.end), Bun.hash.crc32(page.subarray(0, gap.start)));
}

/** Whether the gap of a page has bytes other than zero. */
export function hasLeftovers(number: number, page: Buffer): boolean {
  const gap = gapOf(number, page);
  return gap !== null && page.compare(ZEROS, 0, gap.end - gap.start, gap.start, gap.end) !== 0;
}

/**
 * Overwrites the gaps of these pages with zeros. May run beside reads of SQLite, but not beside changes of the file.
 * @param file the database, open for reading and writing
 * @returns the number of pages that were changed
 */
export function clearLeftovers(file: number, pageSize: number, pages: Iterable<number>): number {
  const page = Buffer.alloc(pageSize);
  let cleared = 0;
  for (const number of pages) {
    const at = (number - 1) * pageSize;
    if (number >= PAGES_MAX || readSync(file, page, 0, pageSize, at) < pageSize) continue;
    const gap = gapOf(number, page);
    if (gap === null || !hasLeftovers(number, page)) continue;
    writeSync(file, ZEROS, 0, gap.end - gap.start, at + gap.start);
    cleared += 1;
  }
  return cleared;
}
