// `mneme serve`: starts the server, reports its state on standard output, and stops it on a signal.
// src/compose/service.ts builds the service.

import { listenForCommands } from "../compose/control-socket.ts";
import { finishesWithin, type HttpServer, listen } from "../compose/http-server.ts";
import type { compose as Compose, Service } from "../compose/service.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import { UsageError } from "../kit/flags.ts";
import { createLog, type Log } from "../kit/log.ts";
import { VERSION } from "../kit/version.ts";
import { readableDuration } from "./terminal.ts";

/**
 * Maximum time, in milliseconds, that stores and models get to close. Acknowledged data is durable even if they do not
 * close.
 */
const CLOSE_MS = 20_000;

/**
 * Serves until SIGTERM or SIGINT, then stops in order: no new connections, running requests finish, stores close. A
 * second signal ends the process at once.
 * @param compose opens the service (compose/service.ts)
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
  // Handles the rejection of `ready` at once: it also rejects if the service is closed before it is ready.
  const modelsFailure: Promise<unknown> = service.ready.then(
    () => null,
    (error: unknown) => error ?? new Error("The models failed to start."),
  );

  print(`data directory open after ${readableDuration(performance.now() - startedAt)}`);
  // The key is printed before anything else can fail: it is already stored, and its secret cannot be read again.
  if (service.firstKey !== null) print(`\nadmin key (shown only once):\n\n  KEY=${service.firstKey}\n`);

  let server: HttpServer;
  let stopCommands: () => Promise<void>;
  try {
    afterOpening();
    stopCommands = listenToCommands(config.dataDir, service, log);
    server = await listenOn(config, service);
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
  // waits until load balancers have noticed that this node is not ready, and send requests elsewhere
  if (outcome === null || outcome === STOP) await systemClock.sleep(config.drainMs);
  await stopCommands();
  await shutDown(server, service, log);
  if (outcome !== null && outcome !== STOP) throw outcome;
  print("stopped");
  return 0;
}

const STOP = Symbol("stop");
/** Signals within this time after the first one, in milliseconds, count as the same request to stop. */
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

async function listenOn(config: Config, service: Service): Promise<HttpServer> {
  const { host: hostname, port, searchPatienceMs } = config;
  try {
    if (service.threads !== null) return await service.threads.listen(hostname, port);
    return listen({ hostname, port, isShared: false, searchPatienceMs, answer: service.handle });
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const why = isTaken ? "another program is using this port" : errorMessage(cause);
    throw new UsageError(
      `Cannot listen on ${hostname}:${port}: ${why}. Choose another address with --port or --host.`,
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

async function shutDown(server: Pick<HttpServer, "drain">, service: Service, log: Log): Promise<void> {
  await server.drain(log);
  if (!(await finishesWithin(CLOSE_MS, service.close()))) {
    log.error(
      { waitedMs: CLOSE_MS },
      "the stores did not close in time; acknowledged changes will be recovered at the next start",
    );
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
