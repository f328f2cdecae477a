// Makes the stores of a data directory from the parts of a backup.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { DirectoryWriter, RESTORING } from "../adapters/embedded/copies/writer.ts";
import { addon } from "../adapters/native/addon.ts";
import type { FilledPart, StoreSummary } from "../domain/store-copy.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";

/**
 * Names in a data directory that still counts as empty: its lock, `lost+found` of a file system, folders of earlier
 * builds (binary/installed.ts), and stores that are not complete.
 */
const HARMLESS = /^(lock|lost\+found|runtime.*|restoring)$/;

/**
 * Restores into an empty data directory: all stores or none.
 * @throws UsageError if the directory is not empty; StoreError if the stores cannot be made, and any error of `parts`
 */
export function restoreInto(
  dataDir: string,
  summary: StoreSummary,
  parts: AsyncIterable<FilledPart>,
  log: Log,
): Promise<void> {
  return inEmptyDirectory(dataDir, async () => {
    const writer = await DirectoryWriter.create(dataDir, summary, log);
    try {
      let number = 0;
      for await (const part of parts) await writer.write(part, number++);
      await writer.finish();
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  });
}

/**
 * Runs `work` while it holds the lock of a data directory that is empty, or has an unfinished restore or move.
 * @throws UsageError if the directory is not empty
 */
export async function inEmptyDirectory<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  refuseData(dataDir); // also before the lock, which a running server has
  const lock = addon().lockDirectory(dataDir);
  try {
    refuseData(dataDir);
    return await work();
  } finally {
    lock.release();
  }
}

function refuseData(dataDir: string): void {
  const found = readdirSync(dataDir).find((name) => !HARMLESS.test(name));
  if (found === undefined || existsSync(`${dataDir}/${RESTORING}`)) return;
  throw new UsageError(`${dataDir} is not empty (it has ${found}): give an empty folder.`);
}
