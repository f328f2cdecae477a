// Damage of stored files, for tests of what notices it.

import { readFileSync, writeFileSync } from "node:fs";

/** Flips one bit of a file. Bits are counted from the start of the file, the lowest bit of each byte first. */
export function flipBit(path: string, bit: number): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bit / 8);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit % 8));
  writeFileSync(path, bytes);
}
