// Reads the streams of an OLE compound file ([MS-CFB]), the container of DOC, XLS and PPT. Trusts no number in the
// file: chains of sectors end at the size of the file.

import { refuse } from "../budget.ts";

const HEADER_BYTES = 512;
const HEADER_TABLE_AT = 76;
const HEADER_TABLE_ENTRIES = 109;
const ENTRY_BYTES = 128;
/** Highest number of a sector; greater numbers mark the end of a chain and unused sectors. */
const SECTOR_MAX = 0xfffffffa;
const FOLDER = 1;
const STREAM = 2;
const ROOT = 5;

/** A stream or folder in the directory. */
interface Entry {
  readonly name: string;
  /** Numbers of its two siblings and its child in the tree of entries. */
  readonly links: readonly number[];
  readonly kind: number;
  readonly start: number;
  readonly bytes: number;
}

/** An open compound file. */
export class CompoundFile {
  readonly #file: Buffer;
  /** Size of a sector, and of a mini sector, in bytes. */
  readonly #sectorBytes: number;
  readonly #miniBytes: number;
  /** Streams smaller than this many bytes consist of mini sectors. */
  readonly #miniBelow: number;
  /** For each sector, the number of the next one in its chain (FAT). */
  readonly #next: readonly number[];
  /** For each mini sector, the number of the next one in its chain (mini FAT). */
  readonly #nextMini: readonly number[];
  readonly #entries: readonly Entry[];
  /** All mini sectors, one after the other. */
  readonly #miniStream: Buffer;

  /** @throws ReadFailure if the file is damaged */
  constructor(bytes: Uint8Array) {
    this.#file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#file.length < HEADER_BYTES) damaged();
    const shift = this.#file.readUInt16LE(30);
    const miniShift = this.#file.readUInt16LE(32);
    if (shift < 7 || shift > 16 || miniShift < 4 || miniShift > shift) damaged();
    this.#sectorBytes = 2 ** shift;
    this.#miniBytes = 2 ** miniShift;
    this.#miniBelow = this.#file.readUInt32LE(56);
    this.#next = this.#table(this.#tableSectors());
    this.#entries = this.#directory(this.#chain(this.#file.readUInt32LE(48)));
    this.#nextMini = numbersOf(this.#chain(this.#file.readUInt32LE(60)));
    const root = this.#entries.find(({ kind }) => kind === ROOT);
    this.#miniStream = root === undefined ? Buffer.alloc(0) : this.#chain(root.start);
  }

  /** The bytes of a stream, whatever the case of its name; null if there is none. */
  stream(name: string): Buffer | null {
    const wanted = name.toLowerCase();
    const entry = this.#entries.find((each) => each.kind === STREAM && each.name.toLowerCase() === wanted);
    if (entry === undefined) return null;
    const whole = entry.bytes < this.#miniBelow ? this.#miniChain(entry.start) : this.#chain(entry.start);
    return whole.subarray(0, entry.bytes);
  }

  /** The names of the folders. */
  folders(): readonly string[] {
    return this.#entries.filter(({ kind }) => kind === FOLDER).map(({ name }) => name);
  }

  /**
   * Checks that no chain of sectors and no folder leads back to itself. Readers that follow them without a limit would
   * not end.
   * @throws ReadFailure if one does
   */
  checkEnds(): void {
    if (leadsBack(this.#next) || leadsBack(this.#nextMini)) damaged();
    const seen = new Set<number>();
    for (let open = [0], next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) damaged();
      seen.add(next);
      open.push(...(this.#entries[next]?.links.filter((link) => link < this.#entries.length) ?? []));
    }
  }

  #sector(number: number): Buffer {
    const at = (number + 1) * this.#sectorBytes;
    return this.#file.subarray(at, at + this.#sectorBytes);
  }

  /** Sectors of the table of chains: those that the header lists, and those that other sectors list. */
  #tableSectors(): readonly number[] {
    const sectors: number[] = [];
    for (let at = 0; at < HEADER_TABLE_ENTRIES; at++) sectors.push(this.#file.readUInt32LE(HEADER_TABLE_AT + 4 * at));
    const limit = this.#file.length / this.#sectorBytes;
    for (let next = this.#file.readUInt32LE(68), read = 0; next <= SECTOR_MAX && read < limit; read++) {
      const numbers = numbersOf(this.#sector(next));
      const following = numbers.pop();
      sectors.push(...numbers);
      if (following === undefined) break;
      next = following;
    }
    // a table that lists one sector many times would take much memory
    return [...new Set(sectors)].filter((sector) => sector <= limit);
  }

  #table(sectors: readonly number[]): readonly number[] {
    return sectors.flatMap((sector) => numbersOf(this.#sector(sector)));
  }

  #chain(start: number): Buffer {
    const sectors = this.#file.length / this.#sectorBytes;
    return chained(start, this.#next, sectors, (sector) => this.#sector(sector));
  }

  #miniChain(start: number): Buffer {
    const bytes = this.#miniBytes;
    const sectors = this.#miniStream.length / bytes;
    return chained(start, this.#nextMini, sectors, (sector) =>
      this.#miniStream.subarray(sector * bytes, (sector + 1) * bytes),
    );
  }

  #directory(bytes: Buffer): readonly Entry[] {
    const entries: Entry[] = [];
    for (let at = 0; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
      const nameBytes = Math.min(64, bytes.readUInt16LE(at + 64));
      const name = bytes.toString("utf16le", at, at + Math.max(0, nameBytes - 2));
      const [kind, start] = [bytes.readUInt8(at + 66), bytes.readUInt32LE(at + 116)];
      const links = [68, 72, 76].map((link) => bytes.readUInt32LE(at + link));
      entries.push({ name, links, kind, start, bytes: bytes.readUInt32LE(at + 120) });
    }
    return entries;
  }
}

/**
 * The bytes of a chain. @param next the number of the sector after each
 * @param limit maximum number of sectors, and highest number of one
 */
function chained(start: number, next: readonly number[], limit: number, read: (sector: number) => Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let sector = start; sector <= limit && parts.length <= limit; sector = next[sector] ?? SECTOR_MAX + 1) {
    parts.push(read(sector));
  }
  return Buffer.concat(parts);
}

/** Whether one of the chains in a table is a circle. */
function leadsBack(next: readonly number[]): boolean {
  const walks = new Uint32Array(next.length);
  for (let start = 0; start < next.length; start++) {
    for (let at = start; at < next.length && walks[at] !== start + 1; at = next[at] ?? next.length) {
      if (walks[at] !== 0) break;
      walks[at] = start + 1;
      const following = next[at] ?? next.length;
      if (following < next.length && walks[following] === start + 1) return true;
    }
  }
  return false;
}

function numbersOf(bytes: Buffer): number[] {
  const numbers: number[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) numbers.push(bytes.readUInt32LE(at));
  return numbers;
}

function damaged(): never {
  refuse("The file is damaged: its directory cannot be read.");
}
