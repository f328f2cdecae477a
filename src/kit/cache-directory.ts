// The folder of files that can be made or downloaded again. Several checkouts of this repository share it.

import { homedir } from "node:os";
import { join } from "node:path";

/** `$MNEME_CACHE_DIR` if that variable is set, otherwise `mneme` in the user's cache folder. */
export function cacheDirectory(): string {
  return process.env.MNEME_CACHE_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "mneme");
}
