// Opens a data directory for a command that needs models and indexes: through the server that has the directory, or by
// starting one in this process, without a port.

import { NativeError } from "../adapters/native/addon.ts";
import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { checkHasData, type DataDirectory, directoryOf, servedDirectory } from "./data-directory.ts";
import { compose } from "./service.ts";

/** A data directory whose process has its indexes open. */
export interface IndexingDirectory extends DataDirectory {
  /** Secret of the first admin key, if opening created it; it is not stored anywhere. */
  readonly firstKey: string | null;
}

/**
 * Opens a data directory and its indexes, whether or not a server runs on it.
 * @param options `creates`: whether a directory without data is created. Default: no
 * @throws UsageError if the directory has no data of Mneme; StoreError, NativeError or ModelFilesError if it cannot be
 *   opened
 */
export async function openIndexingDirectory(
  config: Config,
  clock: Clock,
  log: Log,
  { creates = false }: { readonly creates?: boolean } = {},
): Promise<IndexingDirectory> {
  if (!creates) checkHasData(config);
  try {
    const { control, ready, firstKey, close } = await compose({ config, clock, log });
    try {
      await ready;
    } catch (error) {
      await close();
      throw error;
    }
    return { ...directoryOf(control, false, close), firstKey };
  } catch (error) {
    if (!(error instanceof NativeError) || error.code !== "locked") throw error;
    return { ...servedDirectory(config), firstKey: null };
  }
}
