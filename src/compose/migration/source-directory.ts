// Opens a data directory whose data is moved, or exported with vectors. If no server runs on it, the command opens its
// stores and indexes.

import type { Config } from "../../config.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { type DataDirectory, openDataDirectory } from "../data-directory.ts";
import { startPreparation } from "../models.ts";
import { copyingOf } from "../moving.ts";

/**
 * Opens a data directory, whether or not a server runs on it. Without one, indexes are opened for the embedded store
 * only.
 * @throws UsageError if the directory has no data of Mneme; StoreError, NativeError or ModelFilesError if it cannot be
 *   opened
 */
export function openSourceDirectory(config: Config, clock: Clock, log: Log): Promise<DataDirectory> {
  return openDataDirectory(config, clock, log, async (storage, closers) => {
    if (config.store !== null) return {};
    const { preparer, embedders } = startPreparation({ config, log }, closers);
    return copyingOf(storage, await storage.openIndex(embedders), { preparer });
  });
}
