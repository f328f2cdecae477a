// A server of its own for a benchmark: a child process over a data directory, so that what is measured goes over real
// HTTP.

import { systemClock } from "../../src/kit/clock.ts";

/** A running server. */
export interface BenchServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly pid: number;
  /** Time from the start of the process until `/ready` answered 200, in milliseconds. */
  readonly startMs: number;
  /** Stops the server and waits for its end. */
  readonly stop: () => Promise<void>;
}

/** How to start a server. */
export interface ServerStart {
  /** Program and arguments that start a server. */
  readonly command: readonly string[];
  readonly dataDir: string;
  /** Admin key of the server. */
  readonly key: string;
  /** Settings of the server, as environment variables. */
  readonly environment: Readonly<Record<string, string>>;
}

const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 20;
const STOP_TIMEOUT_MS = 60_000;
/** Length of the server's output that is kept for the message of a failed start, in UTF-16 code units. */
const OUTPUT_CHARACTERS_MAX = 4_000;

/**
 * Starts a server and waits until it is ready. It ends with this process.
 * @throws Error with the server's last output if it does not become ready
 */
export async function startBenchServer({ command, dataDir, key, environment }: ServerStart): Promise<BenchServer> {
  const startedAt = performance.now();
  const child = Bun.spawn([...command], {
    // a folder without mneme.toml, so that no settings of another server apply
    cwd: dataDir,
    env: { ...environment, MNEME_DATA_DIR: dataDir, MNEME_ADMIN_KEY: key },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const killAtExit = () => child.kill("SIGKILL");
  process.prependOnceListener("exit", killAtExit);
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const part of stream)
      output = (output + decoder.decode(part, { stream: true })).slice(-OUTPUT_CHARACTERS_MAX);
  };
  void read(child.stdout);
  void read(child.stderr);
  const stop = async () => {
    child.kill("SIGTERM");
    const killer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await child.exited;
    clearTimeout(killer);
    process.off("exit", killAtExit);
  };
  for (;;) {
    const url = /^listening on (http:\/\/\S+)$/m.exec(output)?.[1];
    if (url !== undefined && (await isReady(url))) {
      return { url, pid: child.pid, startMs: performance.now() - startedAt, stop };
    }
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded || performance.now() - startedAt > READY_TIMEOUT_MS) {
      await stop();
      throw new Error(`The server of the benchmark ${hasEnded ? "ended" : "was not ready in time"}: ${output.trim()}`);
    }
    await systemClock.sleep(POLL_MS);
  }
}

/** Whether the server at this address is ready; false if nothing listens there. */
export async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/ready`);
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false; // not listening yet; the caller notices if the process has ended
  }
}
