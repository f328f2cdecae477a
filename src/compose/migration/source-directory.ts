// Opens a data directory whose data is moved: the server that has it, or stores, indexes and preparation of the
// command's own.

import { NativeError } from "../../adapters/native/addon.ts";
import type { Config } from "../../config.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { Closers } from "../closers.ts";
import { createControl } from "../control.ts";
import { commandsTo } from "../control-socket.ts";
import { checkHasData, type DataDirectory } from "../data-directory.ts";
import { startPreparation } from "../models.ts";
import { movingOf } from "../moving.ts";
import { openEmbeddedStorage } from "../storage.ts";

/**
 * Opens a data directory, whether or not a server runs on it.
 * @throws UsageError if the directory has no data of Mneme; StoreError, NativeError or ModelFilesError if it cannot be
 *   opened
 */
export async function openSourceDirectory(config: Config, clock: Clock, log: Log): Promise<DataDirectory> {
  checkHasData(config);
  const closers = new Closers();
  try {
    const storage = await openEmbeddedStorage({ config, onDeliveries: () => undefined, clock, log }, closers);
    const { preparer, embedders } = startPreparation({ config, log }, closers);
    const index = await storage.openIndex(embedders);
    const { keeper, verifyIndexes } = storage;
    const moving = movingOf(storage, index, { preparer });
    const control = createControl({ keeper, verifyIndexes, server: null, moving, log });
    return { control, isServed: false, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    if (!(error instanceof NativeError) || error.code !== "locked") throw error;
    return { control: commandsTo(config.dataDir), isServed: true, close: async () => undefined };
  }
}
