// Starts the real server as a child process, for tests and benches, with its own data folder and a free port. Callers
// can stop or kill it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isReady } from "../../bench/command/server.ts";
import { recordRequests } from "./counted-requests.ts";
import { PROGRAM } from "./program.ts";
import { until, WAIT_MS } from "./until.ts";

/** Options of a server. */
export interface ServerOptions {
  /** Data folder. Default: a new one, which `stop` and disposal remove. */
  readonly dataDir?: string;
  /** Additional environment variables, such as `MNEME_SEARCH_PATIENCE`; null removes a variable. */
  readonly environment?: Readonly<Record<string, string | null>>;
  /** Additional flags. */
  readonly flags?: readonly string[];
  /** The program; default: `bun src/main.ts`, or the bundle of it that test/run.ts has made. */
  readonly command?: readonly string[];
  /** Working directory; default: the repository's root. */
  readonly workingDirectory?: string;
}

/** A response of the API. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON; null if there is no body. */
  readonly body: unknown;
}

/** A running server. */
export interface RunningServer {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  /** API key with all permissions. */
  readonly key: string;
  readonly pid: number;
  readonly dataDir: string;
  /** Time from spawn until `/ready` answered 200. */
  readonly startMs: number;
  /** Output so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Sends JSON with the key to a path such as `/v1/memories`. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Sends SIGTERM; resolves with the exit code. Removes the data folder unless the caller provided it. */
  readonly stop: () => Promise<number>;
  /** Sends SIGKILL; resolves when the process is gone. Keeps the data folder, so that another start can use it. */
  readonly kill: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** Admin key of every server started here, unless `environment` has another one or null. */
export const TEST_KEY = "ctx_test-key-for-local-servers-only";

const ROOT = join(import.meta.dir, "../..");
/** Maximum length of the output that is kept, in UTF-16 code units. The beginning is cut off. */
const OUTPUT_CHARACTERS_MAX = 200_000;

/**
 * Starts a server and waits until it is ready.
 * @throws Error with the server's output if it exits or is not ready in time; the server has ended by then
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "mneme-test-"));
  const startedAt = performance.now();
  const child = Bun.spawn([...(options.command ?? PROGRAM), "serve", ...(options.flags ?? [])], {
    cwd: options.workingDirectory ?? ROOT,
    env: environmentFor(dataDir, options.environment ?? {}),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const removeOwnFolder = () => {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
  };

  let url = "";
  try {
    url = await until("the server is ready", async () => {
      if (child.exitCode !== null) throw new Error(`the server exited with ${child.exitCode}`);
      if (child.signalCode !== null) throw new Error(`the server was ended by ${child.signalCode}`);
      const address = /^listening on (http:\/\/\S+)$/m.exec(stdout())?.[1];
      return address !== undefined && (await isReady(address)) ? address : false;
    });
  } catch (error) {
    await kill();
    removeOwnFolder();
    throw new Error(`${String(error)}\n--- stdout\n${stdout()}\n--- stderr\n${stderr()}`);
  }

  const key = environmentFor(dataDir, options.environment ?? {}).MNEME_ADMIN_KEY ?? firstKey(stdout());
  const stop = async () => {
    if (child.exitCode === null) await recordRequests(async () => (await fetch(`${url}/metrics`)).text());
    child.kill("SIGTERM");
    const killer = setTimeout(() => child.kill("SIGKILL"), WAIT_MS);
    const exitCode = await child.exited;
    clearTimeout(killer);
    removeOwnFolder();
    return exitCode;
  };
  return {
    url,
    key,
    pid: child.pid,
    dataDir,
    startMs: performance.now() - startedAt,
    stdout,
    stderr,
    call: (method, path, body) => call(url, key, method, path, body),
    stop,
    kill,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop();
      removeOwnFolder();
    },
  };
}

// Only variables that a program needs are kept, so that the settings of the person who runs the tests have no effect.
function environmentFor(
  dataDir: string,
  more: Readonly<Record<string, string | null>>,
): Record<string, string | undefined> {
  const environment: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TMPDIR: process.env.TMPDIR,
    MNEME_CACHE_DIR: process.env.MNEME_CACHE_DIR,
    MNEME_NATIVE_PATH: process.env.MNEME_NATIVE_PATH,
    MNEME_LANES: process.env.MNEME_TEST_LANES,
    MNEME_HTTP_THREADS: process.env.MNEME_TEST_HTTP_THREADS,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    MNEME_PORT: "0",
    MNEME_DATA_DIR: dataDir,
    MNEME_ADMIN_KEY: TEST_KEY,
    // tests and benches send more requests per minute than the rate limits allow
    MNEME_RATE_LIMITS: "off",
    // and more searches at once than a busy machine answers in time
    MNEME_SEARCH_PATIENCE: "120",
    MNEME_RERANK_DEADLINE: "off",
  };
  for (const [name, value] of Object.entries(more)) environment[name] = value ?? undefined;
  for (const name of Object.keys(environment)) if (environment[name] === undefined) delete environment[name];
  return environment;
}

function firstKey(stdout: string): string {
  return /^\s+KEY=(ctx_\S+)$/m.exec(stdout)?.[1] ?? "";
}

async function call(url: string, key: string, method: string, path: string, body: unknown): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

function collect(stream: ReadableStream<Uint8Array>): () => string {
  let text = "";
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream)
      text = (text + decoder.decode(chunk, { stream: true })).slice(-OUTPUT_CHARACTERS_MAX);
  };
  void read();
  return () => text;
}
