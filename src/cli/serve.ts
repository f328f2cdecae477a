// How the server starts, what it tells the person who started it, and how it stops. What it serves is composed
// elsewhere (compose.ts); requests are none of this file's business.

import type { Server } from "bun";
import type { compose as Compose, Service } from "../compose.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import { createLog, type Log } from "../kit/log.ts";
import { VERSION } from "../kit/version.ts";
import { readableDuration } from "./terminal.ts";

/** Requests under way get this long to finish after a signal, then their connections are closed. */
const DRAIN_MS = 10_000;
/** Stores and models get this long to close; what is acknowledged is durable without it. */
const CLOSE_MS = 20_000;
/** Without a byte in either direction for this long a connection is dropped. Searches take well under a second. */
const IDLE_SECONDS = 60;
/** Far above what the interface takes, so that it answers 413 itself, with a body: Bun would without one. */
const BODY_BYTES_MAX = 2 ** 40;

/**
 * Serves until SIGTERM or SIGINT, then stops in order: no new connections, requests under way finish, stores close.
 * A second signal ends it at once.
 * @param afterOpening called once this process holds the data directory.
 * @returns the exit code.
 * @throws UsageError when the address cannot be listened on, and whatever `compose` throws.
 */
export async function serve(config: Config, compose: typeof Compose, afterOpening: () => void): Promise<number> {
  const stopped = stopSignal();
  const log = createLog(config.logLevel);
  const startedAt = performance.now();
  say(`Mneme ${VERSION}`);
  say(`opening the store ${config.dataDir} …`);
  const service = await compose({ config, log, clock: systemClock });
  // attached at once: closing before the models are up makes it fail too
  const modelsFailure: Promise<unknown> = service.ready.then(
    () => null,
    (error: unknown) => error ?? new Error("The models did not start."),
  );

  say(`store open after ${readableDuration(performance.now() - startedAt)}`);
  // before anything else can fail: the key is stored by now, and nobody can read it from the store
  if (service.firstKey !== null) say(`\nadmin key, shown this once:\n\n  KEY=${service.firstKey}\n`);

  let server: Server<undefined>;
  try {
    afterOpening();
    server = listen(config, service);
  } catch (error) {
    await service.close();
    throw error;
  }
  const url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${server.port}`;
  say(`listening on ${url}`);
  if (service.firstKey !== null || config.adminKey !== null) say(examples(url, service.firstKey === null));

  say("loading the models …");
  const outcome = await Promise.race([modelsFailure, stopped]);
  if (outcome === null) {
    say(`models ready after ${readableDuration(performance.now() - startedAt)}`);
    say("stop with Ctrl-C");
    await stopped;
  }
  say("stopping …");
  await shutDown(server, service, log);
  if (outcome !== null && outcome !== STOP) throw outcome;
  say("stopped");
  return 0;
}

const STOP = Symbol("stop");
/** Signals within this time of the first one are the same wish to stop. */
const SAME_SIGNAL_MS = 1_000;

// Resolves at the first SIGTERM or SIGINT; one that comes clearly later does not wait for anything. Ctrl-C arrives several
// times at once where the program was started through npx: from the terminal, and passed on by each parent.
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

function listen(config: Config, service: Service): Server<undefined> {
  try {
    return Bun.serve({
      hostname: config.host,
      port: config.port,
      development: false, // Bun's error page shows stack, paths and source
      reusePort: false, // Bun's default lets two servers share one port silently
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: BODY_BYTES_MAX,
      fetch: (request, server) => service.handle(request, () => server.requestIP(request)?.address ?? ""),
    });
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const why = isTaken ? "another program listens there" : cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(
      `Cannot listen on ${config.host}:${config.port}: ${why}. Choose another with --port or --host.`,
      {
        cause,
      },
    );
  }
}

// Lines to copy; the key stands in a shell variable, as it was printed or as the operator gave it.
function examples(url: string, isKeyGiven: boolean): string {
  return `${isKeyGiven ? "\n  KEY=$MNEME_ADMIN_KEY" : ""}
  curl ${url}/v1/memories -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
    -d '{"content": "Ada keeps the spare key under the blue pot."}'

  curl ${url}/v1/memories/search -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
    -d '{"query": "where is the spare key?"}'
`;
}

async function shutDown(server: Server<undefined>, service: Service, log: Log): Promise<void> {
  if (!(await within(DRAIN_MS, server.stop(false)))) {
    log.warn({ waitedMs: DRAIN_MS }, "requests under way did not finish; their connections are closed");
    await within(DRAIN_MS, server.stop(true));
  }
  if (!(await within(CLOSE_MS, service.close()))) {
    log.error(
      { waitedMs: CLOSE_MS },
      "the stores did not close in time; what was acknowledged is replayed at the next start",
    );
  }
}

// Whether `work` ended in time; a failure of it is a failure here.
async function within(timeoutMs: number, work: Promise<void>): Promise<boolean> {
  const giveUp = new AbortController();
  const isInTime = await Promise.race([
    work.then(() => true),
    systemClock.sleep(timeoutMs, giveUp.signal).then(() => false),
  ]);
  giveUp.abort();
  return isInTime;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
