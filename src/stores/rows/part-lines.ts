// Cuts the rows of a table into the parts of a copy (domain/store-copy.ts). All stores cut in the same way, so that
// equal rows give equal parts, whichever database has them.

const KiB = 1024;
const MiB = 1024 * KiB;
/** A part is at least this large, unless it is the last of its table. */
const PART_BYTES_MIN = 64 * KiB;
/** A part ends here wherever it is, except that a row is never cut. A part of a file has this size. */
export const PART_BYTES_MAX = 4 * MiB;
/** One of this many keys ends a part that is large enough. */
const KEYS_PER_END = 64n;

/** The bytes and the number of rows of a part. */
export interface FullPart {
  readonly bytes: Uint8Array;
  readonly rows: number;
}

/** Collects the lines of a part. */
export class PartLines {
  #lines: string[] = [];
  #characters = 0;

  /** Adds a row. Returns the part if the row is its last one. */
  add(line: string, key: string): FullPart | null {
    this.#lines.push(line);
    this.#characters += line.length + 1;
    const isEnd = this.#characters >= PART_BYTES_MIN && Bun.hash.wyhash(key) % KEYS_PER_END === 0n;
    return isEnd || this.#characters >= PART_BYTES_MAX ? this.end() : null;
  }

  /** Returns the part that is not full; null if it has no rows. */
  end(): FullPart | null {
    if (this.#lines.length === 0) return null;
    const full = { bytes: new TextEncoder().encode(`${this.#lines.join("\n")}\n`), rows: this.#lines.length };
    [this.#lines, this.#characters] = [[], 0];
    return full;
  }
}
