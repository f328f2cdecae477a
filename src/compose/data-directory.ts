// Opens a data directory for a command: the stores themselves, or the socket of the server that has the directory.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { NativeError } from "../adapters/native/addon.ts";
import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import { UsageError } from "../kit/flags.ts";
import type { Log } from "../kit/log.ts";
import { Closers } from "./closers.ts";
import { type Control, type ControlOptions, createControl } from "./control.ts";
import { commandsTo } from "./control-socket.ts";
import { openStorage } from "./postgres-storage.ts";
import type { Storage } from "./storage.ts";

/** A data directory that a command may use until it calls `close`. */
export interface DataDirectory extends AsyncDisposable {
  /**
   * Sends a request (control.ts), and returns the answer.
   * @throws UsageError with the message of a refusal; Error if there is no answer
   */
  readonly ask: (method: "GET" | "POST", path: string, body?: string | ReadableStream<Uint8Array>) => Promise<Response>;
  /** Answers a request without the checks of `ask`. */
  readonly control: Control;
  /** Whether a server has the directory and answers the requests. */
  readonly isServed: boolean;
  readonly close: () => Promise<void>;
}

/**
 * Opens a data directory, whether or not a server runs on it.
 * @param furtherOf opens what is needed to move data or read vectors; called only if no server runs on the directory
 * @throws UsageError if the directory has no data of Mneme; StoreError or NativeError if it cannot be opened
 */
export async function openDataDirectory(
  config: Config,
  clock: Clock,
  log: Log,
  furtherOf: (
    storage: Storage,
    closers: Closers,
  ) => Promise<Pick<ControlOptions, "moving" | "vectors">> = async () => ({}),
): Promise<DataDirectory> {
  checkHasData(config);
  const closers = new Closers();
  try {
    const storage = await openStorage({ config, clock, log }, closers);
    const { copies, verifyIndexes } = storage;
    const further = await furtherOf(storage, closers);
    const control = createControl({ copies, verifyIndexes, server: null, log, ...further });
    return directoryOf(control, false, () => closers.close());
  } catch (error) {
    await closers.close();
    if (!(error instanceof NativeError) || error.code !== "locked") throw error;
    return servedDirectory(config);
  }
}

/** Refuses a data directory without data, unless the data is in PostgreSQL. @throws UsageError */
export function checkHasData({ dataDir, store }: Config): void {
  if (store !== null) return; // the folder of a node may be empty: it is filled from the database
  if (existsSync(join(dataDir, "mneme.sqlite"))) return;
  throw new UsageError(`${dataDir} holds no data of Mneme: give the server's data folder with --data-dir.`);
}

/** The data directory of a running server. */
export function servedDirectory({ dataDir }: Pick<Config, "dataDir">): DataDirectory {
  return directoryOf(commandsTo(dataDir), true, async () => undefined);
}

/** A data directory. @param control answers its requests */
export function directoryOf(control: Control, isServed: boolean, close: () => Promise<void>): DataDirectory {
  const ask: DataDirectory["ask"] = (method, path, body) =>
    accepted(control(new Request(`http://mneme${path}`, { method, ...(body !== undefined && { body }) })));
  return { ask, control, isServed, close, [Symbol.asyncDispose]: close };
}

async function accepted(answer: ReturnType<Control>): Promise<Response> {
  let response: Response;
  try {
    response = await answer;
  } catch (cause) {
    throw new Error(
      `Another process uses the data directory, but does not answer: ${errorMessage(cause)}. If it is not a server, wait until it has ended.`,
      { cause },
    );
  }
  if (response.ok) return response;
  const body: unknown = await response.json();
  throw new UsageError(messageIn(body) ?? `The server answered ${response.status}.`);
}

function messageIn(body: unknown): string | null {
  return typeof body === "object" && body !== null && "error" in body ? String(body.error) : null;
}
