// `mneme mcp`: serves MCP over stdin and stdout, for clients that start their servers themselves. Without --url it
// opens the data directory, or uses the process that has it.

import type { IndexingDirectory } from "../compose/indexing-directory.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { createLog } from "../kit/log.ts";
import type { RemoteMcp } from "../mcp/bridge.ts";
import { type CommandStart, DIRECTORY_HELP, directoryConfig } from "./command-start.ts";
import { serverAddress } from "./server-address.ts";

/** Help for the flags of mcp, as `[flag, description]`. */
export const MCP_HELP: readonly (readonly [string, string])[] = [
  ["--url URL", "Use the server at this address with the key in MNEME_API_KEY (default: the data directory)"],
  ...DIRECTORY_HELP,
];

/** Longest wait for a process that has the data directory, but does not answer yet, in milliseconds. */
const BUSY_MS_MAX = 30_000;
const BUSY_POLL_MS = 250;

/**
 * Runs `mneme mcp` until the client closes stdin, or until SIGTERM or SIGINT. The client is answered at once; the first
 * calls wait until the data directory is open.
 * @throws UsageError for a wrong command line
 */
export async function mcpCommand(argv: readonly string[], start: CommandStart): Promise<void> {
  const { flags, positionals } = parseCommandLine(argv, {
    ...{ "--url": "value", "--data-dir": "value", "--config": "value" },
  });
  if (positionals[0] !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(positionals[0])}.`);
  const url = flags.get("--url");
  const key = start.environment.MNEME_API_KEY ?? null;
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  const { serveOverStdio } = await import("../mcp/stdio.ts");
  if (url !== undefined) return serveOverStdio(serverAt(url, key, flags), stop.signal);

  const directory = new AgentDirectory(directoryConfig(flags, start));
  directory.open();
  try {
    await serveOverStdio({ url: "http://mneme", key, send: (request) => directory.send(request) }, stop.signal);
  } finally {
    await directory.close();
  }
}

/** The server that `--url` names. @throws UsageError if the address or the key is missing or malformed */
function serverAt(url: string, key: string | null, flags: ReadonlyMap<string, string>): RemoteMcp {
  if (flags.size > 1) throw new UsageError("Give either --url or --data-dir and --config, not both.");
  const address = serverAddress(url);
  if (key === null) throw new UsageError("Set MNEME_API_KEY to an API key of the server.");
  return { url: address, key, send: (request) => fetch(request) };
}

/**
 * A data directory: opened by this process, or, if another process has it, used through that one. If that process ends,
 * the directory is opened again.
 */
class AgentDirectory {
  readonly #config: Config;
  #opened: Promise<IndexingDirectory & { readonly stopListening: () => Promise<void> }> | null = null;

  constructor(config: Config) {
    this.#config = config;
  }

  /** Begins to open the directory. A failure is reported by `send`. */
  open(): void {
    this.#opened ??= this.#openNow();
    this.#opened.catch((error: unknown) => process.stderr.write(`mneme mcp: ${String(error)}\n`));
  }

  /** @throws Error with a sentence if the directory cannot be opened, or if the process that had it has just ended */
  async send(request: Request): Promise<Response> {
    this.open();
    const opening = this.#opened;
    try {
      const { control } = (await opening) ?? {};
      if (control === undefined) throw new Error("the data directory is closed");
      return await control(request);
    } catch (error) {
      // the next call tries again; this one may have been carried out, so it is not repeated
      if (this.#opened === opening) this.#opened = null;
      throw error;
    }
  }

  /** Closes the directory if this process has it. */
  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => null /* was reported when it failed */);
    await opened?.stopListening();
    await opened?.close();
  }

  async #openNow() {
    const config = this.#config;
    // loaded when they are needed, because they load the whole server and its libraries
    const [{ openIndexingDirectory }, { listenForCommands }] = await Promise.all([
      import("../compose/indexing-directory.ts"),
      import("../compose/control-socket.ts"),
    ]);
    const log = createLog("warn");
    const startedAt = performance.now();
    for (;;) {
      const directory = await openIndexingDirectory(config, systemClock, log, { creates: true });
      if (!directory.isServed) {
        if (directory.firstKey !== null) process.stderr.write("mneme mcp: a new data directory was created.\n");
        return { ...directory, stopListening: listening(() => listenForCommands(config.dataDir, directory.control)) };
      }
      if (await answers(directory)) return { ...directory, stopListening: async () => undefined };
      if (performance.now() - startedAt > BUSY_MS_MAX) {
        throw new Error(`another process uses ${config.dataDir}, but does not answer`);
      }
      await systemClock.sleep(BUSY_POLL_MS);
    }
  }
}

/**
 * Listens on the socket of the directory, so that further clients and commands can use it, too. If that fails, this
 * client still works.
 */
function listening(listen: () => () => Promise<void>): () => Promise<void> {
  try {
    return listen();
  } catch (error) {
    process.stderr.write(`mneme mcp: no other client can use this folder meanwhile: ${String(error)}\n`);
    return async () => undefined;
  }
}

/** Whether the process that has the directory answers already. */
async function answers({ control }: IndexingDirectory): Promise<boolean> {
  try {
    const response = await control(new Request("http://mneme/mcp", { method: "POST", body: "{}" }));
    await response.body?.cancel();
    return true;
  } catch {
    return false; // it is still opening the directory, or is about to end
  }
}
