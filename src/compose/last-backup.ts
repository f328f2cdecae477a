// The time of the last backup of a data directory, in a file that `mneme backup` writes there.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isoTime, parseIsoTime } from "../kit/clock.ts";
import { readIfThere } from "../kit/missing-files.ts";

const FILE = "last-backup";

/** Notes that a backup was completed. @param at Unix milliseconds */
export function noteBackup(dataDir: string, at: number): void {
  writeFileSync(join(dataDir, FILE), `${isoTime(at)}\n`, { mode: 0o600 });
}

/** Time of the last backup, Unix milliseconds; null if none is known. */
export function lastBackup(dataDir: string): number | null {
  return parseIsoTime(readIfThere(join(dataDir, FILE))?.toString().trim() ?? "");
}
