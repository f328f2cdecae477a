// Makes the stores of a data directory from the parts of a backup.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { DirectoryWriter, RESTORING } from "../adapters/embedded/copies/writer.ts";
import { lockDirectory } from "../adapters/native/core.ts";
import type { FilledPart, StoreSummary } from "../domain/store-copy.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";

/** What may be in a data directory before a restore: its lock, and the program's own files. */
const HARMLESS = /^(lock|lost\+found|runtime.*|restoring)$/;

/**
 * Restores into an empty data directory: all stores or none.
 * @throws UsageError if the directory is not empty; StoreError if the stores cannot be made, and any error of `parts`
 */
export async function restoreInto(
  dataDir: string,
  summary: StoreSummary,
  parts: AsyncIterable<FilledPart>,
  log: Log,
): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  refuseData(dataDir); // also before the lock, which a running server has
  const lock = lockDirectory(dataDir);
  try {
    refuseData(dataDir);
    const writer = await DirectoryWriter.create(dataDir, summary, log);
    try {
      let number = 0;
      for await (const part of parts) await writer.write(part, number++);
      await writer.finish();
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  } finally {
    lock.release();
  }
}

function refuseData(dataDir: string): void {
  const found = readdirSync(dataDir).find((name) => !HARMLESS.test(name));
  if (found === undefined || existsSync(`${dataDir}/${RESTORING}`)) return;
  throw new UsageError(`${dataDir} is not empty (it has ${found}): restore into a new folder.`);
}
