// Sizes of the stores in a data directory, and of its disk.

import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Sizes, StoreSize } from "../../domain/system.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";

/** The stores with the names under which they are shown, and the files and folders of each. */
const STORES: Readonly<Record<string, readonly string[]>> = {
  "mneme.sqlite": ["mneme.sqlite", "mneme.sqlite-wal", "mneme.sqlite-shm", "mneme.sqlite-commits", "mneme.sqlite-sums"],
  "memories.duckdb": ["memories.duckdb", "memories.duckdb.wal"],
  indexes: ["projects"],
  uploads: ["uploads"],
  models: ["models"],
  quarantine: ["quarantine"],
};

/** Reads the sizes. Stores that do not exist are left out. Cost: one system call per file. */
export async function dataSizes(dataDir: string): Promise<Sizes> {
  const stores: StoreSize[] = [];
  for (const [name, parts] of Object.entries(STORES)) {
    const sizes = await Promise.all(parts.map((part) => bytesOf(join(dataDir, part))));
    const known = sizes.filter((bytes) => bytes !== null);
    if (known.length > 0) stores.push({ name, bytes: known.reduce((sum, bytes) => sum + bytes, 0) });
  }
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return { stores, diskFreeBytes: bavail * bsize, diskTotalBytes: blocks * bsize };
}

/** Size of a file, or of all files in a folder; null if there is neither. */
async function bytesOf(path: string): Promise<number | null> {
  const found = await stat(path).catch(nullIfMissing);
  if (found === null) return null;
  if (!found.isDirectory()) return found.size;
  let bytes = 0;
  for (const entry of (await readdir(path).catch(nullIfMissing)) ?? [])
    bytes += (await bytesOf(join(path, entry))) ?? 0;
  return bytes;
}
