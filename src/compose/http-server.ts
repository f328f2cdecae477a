// Listens for requests on a port, and ends that without a connection reset.

import { addon } from "../adapters/native/addon.ts";
import type { SocketAddress } from "../api/gate.ts";
import { systemClock } from "../kit/clock.ts";
import { andThen, type Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";

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
 * A connection is closed if no byte is sent in either direction for this number of seconds, in addition to the time for
 * which a search may wait for its turn. Searches take well under a second.
 */
const IDLE_SECONDS = 60;
/**
 * Maximum body size that Bun accepts. It is far above the API's own limit, so that the API answers 413 with a body;
 * Bun's own 413 has none.
 */
const BODY_BYTES_MAX = 2 ** 40;

/** Where and how to listen. */
export interface Listening {
  readonly hostname: string;
  /** 0: a free port is chosen. */
  readonly port: number;
  /** Whether other threads of this process listen on the port, too. */
  readonly isShared: boolean;
  /** How long a search may wait for its turn, in milliseconds. */
  readonly searchPatienceMs: number;
  readonly answer: (request: Request, address: SocketAddress) => Eventually<Response>;
}

/** A server that listens. */
export interface HttpServer {
  readonly port: number;
  /**
   * Ends listening: new connections are refused, running requests finish, then all connections are closed. Requests
   * that take longer than `DRAIN_MS` are cut off, which is logged.
   */
  drain(log: Log): Promise<void>;
  /** Closes all connections at once. */
  abort(): Promise<void>;
}

/** Starts to listen. @throws Error of the operating system, such as one with the code EADDRINUSE */
export function listen({ hostname, port, isShared, searchPatienceMs, answer }: Listening): HttpServer {
  const traffic = new Traffic();
  const server = Bun.serve({
    hostname,
    port,
    development: false, // Bun's error page would show stack, paths and source
    reusePort: isShared, // with Bun's default, two servers could share a port unnoticed
    idleTimeout: IDLE_SECONDS + searchPatienceMs / 1_000,
    maxRequestBodySize: BODY_BYTES_MAX,
    fetch: (request, own) => traffic.pass(() => answer(request, () => own.requestIP(request)?.address ?? "")),
  });
  const listened = server.port ?? 0;
  return {
    port: listened,
    drain: async (log) => {
      // The order avoids connection resets: Bun's `stop` closes idle connections, even if the next request has just
      // arrived. So connections are first made to end with a response, and only those that stay idle are closed.
      traffic.end();
      try {
        addon().stopListening(listened);
      } catch (err) {
        log.warn({ err }, "new connections are accepted until the running requests have ended");
      }
      const startedAt = performance.now();
      const isDraining = () => traffic.quietMs < QUIET_MS && performance.now() - startedAt < DRAIN_MS;
      while (isDraining()) await systemClock.sleep(QUIET_POLL_MS);
      if (await finishesWithin(DRAIN_MS, server.stop(false))) return;
      log.warn({ waitedMs: DRAIN_MS }, "requests did not finish in time; closing their connections");
      await finishesWithin(DRAIN_MS, server.stop(true));
    },
    abort: () => server.stop(true),
  };
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

/** Whether `work` finishes within `timeoutMs`; it goes on in any case. Rejects if `work` rejects. */
export async function finishesWithin(timeoutMs: number, work: Promise<void>): Promise<boolean> {
  const giveUp = new AbortController();
  const isInTime = await Promise.race([
    work.then(() => true),
    systemClock.sleep(timeoutMs, giveUp.signal).then(() => false),
  ]);
  giveUp.abort();
  return isInTime;
}
