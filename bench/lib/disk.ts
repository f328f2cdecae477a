// Size of a data directory on disk.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** File whose space the server frees if the disk is full, so that memories can still be deleted. */
const RESERVE = "reserve";

/** Bytes of all files in a data directory, without reserved space. */
export function diskBytes(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += diskBytes(path);
    else if (entry.isFile() && entry.name !== RESERVE) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
