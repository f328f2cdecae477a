// Checks a data directory for `mneme verify`, whether or not a server runs on it.

import type { Config } from "../config.ts";
import type { Verification } from "../domain/verification.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { StoreError } from "../stores/store-error.ts";
import { type DataDirectory, openDataDirectory } from "./data-directory.ts";

/**
 * Opens a data directory, and returns the report of a check. A directory whose stores of record are damaged or lost
 * gets a report with the defect `unusable`.
 * @param ask gets the report from the open data directory
 * @throws UsageError if the directory has no data of Mneme; StoreError or NativeError if it cannot be checked
 */
export async function verifyDirectory(
  config: Config,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  ask: (directory: DataDirectory) => Promise<Verification>,
): Promise<Verification> {
  let directory: DataDirectory;
  try {
    directory = await openDataDirectory({ ...config, acceptLoss: false }, clock, log); // a check changes nothing
  } catch (error) {
    if (!(error instanceof StoreError) || !(error.code === "damaged" || error.code === "lost")) throw error;
    const unusable = { kind: "unusable" as const, count: 1, examples: [error.message] };
    return { is_sound: false, pages: 0, memories: 0, texts: 0, uploads: 0, defects: [unusable] };
  }
  await using opened = directory;
  return await ask(opened);
}
