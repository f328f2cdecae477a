// `mneme serve`: starts the server, reports its state on standard output, and stops it on a signal.
// src/compose/service.ts builds the service.

import type { Server } from "bun";
import { listenForCommands } from "../compose/control-socket.ts";
import type { compose as Compose, Service } from "../compose/service.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { andThen, type Eventually } from "../kit/eventually.ts";
import { UsageError } from "../kit/flags.ts";
import { createLog, type Log } from "../kit/log.ts";
import { VERSION } from "../kit/version.ts";
import { readableDuration } from "./terminal.ts";

/** Maximum time, in milliseconds, that running requests get after a stop signal. Then their connections are closed. */
const DRAIN_MS = 10_000;
/**
 * Time without a request, in milliseconds, after which open connections count as idle and are closed at a stop. Clients
 * that send one request after the other send the next one within this time.
 */
const QUIET_MS = 250;
/** Interval, in milliseconds, at which a stop checks whether requests still arrive. */
const QUIET_POLL_MS = 25;
/**
 * Maximum time, in milliseconds, that stores and models get to close. Acknowledged data is durable even if they do not
 * close.
 */
const CLOSE_MS = 20_000;
/**
 * A connection is closed if no byte is sent in either direction for this number of seconds, in addition to the time for
 * which a search may wait for its turn. Searches take well under a second.
 */
const IDLE_SECONDS = 60;
/**
 * Maximum body size that Bun accepts. It is far above the API's own limit, so that the API answers 413 with a body;
 * Bun's own 413 has none.
 */
const BODY_BYTES_MAX = 2 ** 40;

/**
 * Serves until SIGTERM or SIGINT, then stops in order: no new connections, running requests finish, stores close. A
 * second signal ends the process at once.
 * @param afterOpening called when this process has the data directory's lock
 * @returns the exit code
 * @throws UsageError if the address cannot be listened on; any error of `compose`
 */
export async function serve(config: Config, compose: typeof Compose, afterOpening: () => void): Promise<number> {
  const stopped = stopSignal();
  const log = createLog(config.logLevel);
  const startedAt = performance.now();
  print(`Mneme ${VERSION}`);
  print(`opening data directory ${config.dataDir} …`);
  const service = await compose({ config, log, clock: systemClock });
  // Errors of `ready` are handled from the start, because `ready` rejects if the service closes before the models are
  // ready.
  const modelsFailure: Promise<unknown> = service.ready.then(
    () => null,
    (error: unknown) => error ?? new Error("The models failed to start."),
  );

  print(`data directory open after ${readableDuration(performance.now() - startedAt)}`);
  // The key is printed before anything else can fail: it is already stored, and its secret cannot be read again.
  if (service.firstKey !== null) print(`\nadmin key (shown only once):\n\n  KEY=${service.firstKey}\n`);

  let server: Server<undefined>;
  let stopCommands: () => Promise<void>;
  const traffic = new Traffic();
  try {
    afterOpening();
    stopCommands = listenToCommands(config.dataDir, service, log);
    server = listen(config, service, traffic);
  } catch (error) {
    await service.close();
    throw error;
  }
  const url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${server.port}`;
  print(`listening on ${url}`);
  if (service.firstKey !== null || config.adminKey !== null) print(examples(url, service.firstKey === null));

  print("loading the models …");
  const outcome = await Promise.race([modelsFailure, stopped]);
  if (outcome === null) {
    print(`models ready after ${readableDuration(performance.now() - startedAt)}`);
    print("press Ctrl-C to stop");
    await stopped;
  }
  print("stopping …");
  service.announceStop();
  // load balancers notice that this node is not ready, and send requests elsewhere
  if (outcome === null || outcome === STOP) await systemClock.sleep(config.drainMs);
  await stopCommands();
  await shutDown(server, service, traffic, log);
  if (outcome !== null && outcome !== STOP) throw outcome;
  print("stopped");
  return 0;
}

const STOP = Symbol("stop");
/** Signals within this time (in milliseconds) after the first one count as the same request to stop. */
const SAME_SIGNAL_MS = 1_000;

// Resolves at the first SIGTERM or SIGINT. A clearly later signal exits the process at once. If the program was started
// through npx, one Ctrl-C arrives several times: once from the terminal and once from each parent process.
function stopSignal(): Promise<typeof STOP> {
  return new Promise((resolve) => {
    let firstAtMs: number | null = null;
    const onSignal = () => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(130);
      resolve(STOP);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

function listen(config: Config, service: Service, traffic: Traffic): Server<undefined> {
  try {
    return Bun.serve({
      hostname: config.host,
      port: config.port,
      development: false, // Bun's error page would show stack, paths and source
      reusePort: false, // with Bun's default, two servers could share a port unnoticed
      idleTimeout: IDLE_SECONDS + config.searchPatienceMs / 1_000,
      maxRequestBodySize: BODY_BYTES_MAX,
      fetch: (request, server) =>
        traffic.pass(() => service.handle(request, () => server.requestIP(request)?.address ?? "")),
    });
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const why = isTaken ? "another program is using this port" : cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      `Cannot listen on ${config.host}:${config.port}: ${why}. Choose another address with --port or --host.`,
      {
        cause,
      },
    );
  }
}

// Without the socket, commands such as `mneme export` need the server to be stopped, but the server works.
function listenToCommands(dataDir: string, service: Service, log: Log): () => Promise<void> {
  try {
    return listenForCommands(dataDir, service.control);
  } catch (err) {
    log.warn({ err }, "the socket for commands could not be opened; export and import need a stopped server");
    return async () => undefined;
  }
}

// Example commands to copy. They use a shell variable with the API key: the new key as printed, or the operator's own.
function examples(url: string, isKeyGiven: boolean): string {
  return `${isKeyGiven ? "\n  KEY=$MNEME_ADMIN_KEY" : ""}
  curl ${url}/v1/memories -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
    -d '{"content": "Ada keeps the spare key under the blue pot."}'

  curl ${url}/v1/memories/search -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
    -d '{"query": "where is the spare key?"}'
`;
}

/** The requests of a server. After `end`, every response closes its connection. */
class Traffic {
  #isEnding = false;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** Answers a request. */
  pass(answer: () => Eventually<Response>): Eventually<Response> {
    if (!this.#isEnding) return answer();
    this.#lastAt = performance.now();
    return andThen(answer(), (response) => {
      response.headers.set("connection", "close");
      return response;
    });
  }

  /** From now on, responses have `Connection: close`, so that clients send no further request on their connections. */
  end(): void {
    this.#isEnding = true;
    this.#lastAt = performance.now();
  }

  /** Time since the last request, or since `end`, in milliseconds. */
  get quietMs(): number {
    return performance.now() - this.#lastAt;
  }
}

// The order avoids connection resets: Bun's `stop` closes idle connections, even if the next request has just arrived.
// So connections are first made to end with a response, and only those that stay idle are closed.
async function shutDown(server: Server<undefined>, service: Service, traffic: Traffic, log: Log): Promise<void> {
  traffic.end();
  try {
    service.stopListening(server.port ?? 0);
  } catch (err) {
    log.warn({ err }, "new connections are accepted until the running requests have ended");
  }
  const startedAt = performance.now();
  while (traffic.quietMs < QUIET_MS && performance.now() - startedAt < DRAIN_MS) await systemClock.sleep(QUIET_POLL_MS);
  if (!(await finishesWithin(DRAIN_MS, server.stop(false)))) {
    log.warn({ waitedMs: DRAIN_MS }, "requests did not finish in time; closing their connections");
    await finishesWithin(DRAIN_MS, server.stop(true));
  }
  if (!(await finishesWithin(CLOSE_MS, service.close()))) {
    log.error(
      { waitedMs: CLOSE_MS },
      "the stores did not close in time; acknowledged changes will be recovered at the next start",
    );
  }
}

// Resolves to whether `work` finished in time. Rejects if `work` rejects.
async function finishesWithin(timeoutMs: number, work: Promise<void>): Promise<boolean> {
  const giveUp = new AbortController();
  const isInTime = await Promise.race([
    work.then(() => true),
    systemClock.sleep(timeoutMs, giveUp.signal).then(() => false),
  ]);
  giveUp.abort();
  return isInTime;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
