// Opens a data directory for a command: the stores themselves, or the socket of the server that has the directory.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { NativeError } from "../adapters/native/addon.ts";
import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";
import { Closers } from "./closers.ts";
import { type Control, type ControlParts, createControl } from "./control.ts";
import { commandsTo } from "./control-socket.ts";
import { openStorage } from "./postgres-storage.ts";
import type { Storage } from "./storage.ts";

/** A data directory that a command may use until it calls `close`. */
export interface DataDirectory {
  readonly control: Control;
  /** Whether a server has the directory and answers the requests. */
  readonly isServed: boolean;
  readonly close: () => Promise<void>;
}

/**
 * Opens a data directory, whether or not a server runs on it.
 * @param furtherOf opens what moving data or reading vectors needs; called if no server runs on the directory
 * @throws UsageError if the directory has no data of Mneme; StoreError or NativeError if it cannot be opened
 */
export async function openDataDirectory(
  config: Config,
  clock: Clock,
  log: Log,
  furtherOf: (
    storage: Storage,
    closers: Closers,
  ) => Promise<Pick<ControlParts, "moving" | "vectors">> = async () => ({}),
): Promise<DataDirectory> {
  checkHasData(config);
  const closers = new Closers();
  try {
    const storage = await openStorage({ config, onDeliveries: () => undefined, clock, log }, closers);
    const { keeper, verifyIndexes } = storage;
    const further = await furtherOf(storage, closers);
    const control = createControl({ keeper, verifyIndexes, server: null, log, ...further });
    return { control, isServed: false, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    if (!(error instanceof NativeError) || error.code !== "locked") throw error;
    return { control: commandsTo(config.dataDir), isServed: true, close: async () => undefined };
  }
}

/** @throws UsageError if the data directory has no data of Mneme, unless PostgreSQL has it */
export function checkHasData({ dataDir, store }: Config): void {
  if (store !== null) return; // the folder of a node can be deleted, and is filled again
  if (existsSync(join(dataDir, "mneme.sqlite"))) return;
  throw new UsageError(`${dataDir} holds no data of Mneme: give the server's data folder with --data-dir.`);
}
