// The threads that answer requests: starts them, lets them listen on one port, and replaces those that have ended.
// Searches run on them; served-ports.ts has what they leave to the main thread. A thread is never terminated from
// outside, because native code may be running for it: it ends itself (thread.ts).

import { Worker } from "node:worker_threads";
import { addon } from "../../adapters/native/addon.ts";
import type { NativePort } from "../../adapters/native/addon-types.ts";
import { invariant } from "../../domain/fault.ts";
import type { ThreadState } from "../../domain/system.ts";
import { systemClock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { type MachineShare, machineShare } from "../../kit/machine-share.ts";
import type { TakenCounts } from "../../metrics.ts";
import type { HttpServer } from "../http-server.ts";
import { ServedPorts, type SharedParts } from "./served-ports.ts";
import { type MessageEnd, ThreadCalls } from "./thread-calls.ts";
import type { ThreadStart } from "./thread-protocol.ts";

/** Cores per thread, if their number is not set. Lanes need most of the machine (docs/decisions/099). */
const CORES_PER_THREAD = 4;
const THREADS_DEFAULT_MAX = 16;
/** First and longest wait, in milliseconds, before an ended thread is replaced. It doubles while threads end early. */
const RESTART_MS = 50;
const RESTART_MS_MAX = 5_000;
/** A thread that has run for this time, in milliseconds, has not ended early. */
const SETTLED_MS = 10_000;

/** Number of threads that answer requests, if it is not set; 1: the main thread answers them. */
export function threadCountFor({ cores }: MachineShare = machineShare(), platform: string = process.platform): number {
  if (platform !== "linux") return 1; // only Linux divides the connections to one port between its listeners
  return Math.min(THREADS_DEFAULT_MAX, Math.max(1, Math.floor(cores / CORES_PER_THREAD)));
}

/** What the threads need. */
export interface RequestThreadOptions {
  readonly count: number;
  /** Script that calls `answerRequests`; default: this program. */
  readonly script?: string;
  readonly start: ThreadStart;
  readonly parts: SharedParts;
  readonly log: Log;
}

/** The threads of a server that answer requests. */
export class RequestThreads {
  readonly #options: RequestThreadOptions;
  readonly #threads: Thread[];
  #port: NativePort | null = null;
  #isStopping = false;

  private constructor(options: RequestThreadOptions) {
    this.#options = options;
    this.#threads = Array.from({ length: options.count }, (_, at) => new Thread(String(at + 1), options));
  }

  /** Starts the threads, and resolves when all are up. @throws Error if one of them ends before that */
  static async start(options: RequestThreadOptions): Promise<RequestThreads> {
    const threads = new RequestThreads(options);
    try {
      await Promise.all(threads.#threads.map((thread) => thread.start()));
    } catch (error) {
      await threads.close();
      throw error;
    }
    for (const thread of threads.#threads) void threads.#keepRunning(thread);
    return threads;
  }

  /** The states of the threads, in the order of their ids. */
  get states(): readonly ThreadState[] {
    return this.#threads.map(({ id, state }) => ({ id, state }));
  }

  /** Lets all threads listen on a port. @throws Error with the code EADDRINUSE if another program has the port */
  async listen(hostname: string, port: number): Promise<HttpServer> {
    const claimed = addon().claimPort(hostname, port);
    if (claimed === null) throw Object.assign(new Error("the port is taken"), { code: "EADDRINUSE" });
    this.#port = claimed;
    await Promise.all(this.#threads.map((thread) => thread.listen(claimed)));
    return {
      port: claimed.port,
      drain: async () => {
        this.#isStopping = true;
        await Promise.all(this.#threads.map((thread) => thread.end()));
      },
      abort: () => this.close(),
    };
  }

  /** Adds what the threads have counted since the last call to the metrics of the main thread. */
  async gather(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.gather()));
  }

  /** Ends the threads when they have answered their requests. */
  async close(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  async #keepRunning(thread: Thread): Promise<void> {
    const { log } = this.#options;
    for (let waitMs = RESTART_MS; ; ) {
      const startedAt = performance.now();
      await thread.ended;
      if (this.#isStopping) return;
      if (performance.now() - startedAt > SETTLED_MS) waitMs = RESTART_MS;
      log.error({ thread: thread.id, waitMs }, "a thread that answers requests has ended; it is replaced");
      await systemClock.sleep(waitMs);
      waitMs = Math.min(RESTART_MS_MAX, waitMs * 2);
      if (this.#isStopping) return;
      try {
        await thread.start();
        if (this.#port !== null) await thread.listen(this.#port);
      } catch (err) {
        log.error({ thread: thread.id, err }, "a thread that answers requests could not be started");
      }
    }
  }
}

/** One of the threads. When its Worker has ended, `start` starts another one with the same id. */
class Thread {
  state: ThreadState["state"] = "starting";
  /** Resolves when the thread has ended. */
  ended: Promise<void> = Promise.resolve();
  #calls: ThreadCalls | null = null;

  constructor(
    readonly id: string,
    private readonly options: RequestThreadOptions,
  ) {}

  /** Starts the thread. Resolves when it is up. @throws Error if it ends before that */
  async start(): Promise<void> {
    const { script = Bun.main, start, parts, log } = this.options;
    this.state = "starting";
    const { promise: up, resolve: markUp, reject } = Promise.withResolvers<void>();
    const { promise: ended, resolve: markEnded } = Promise.withResolvers<void>();
    this.ended = ended;
    const worker = new Worker(script, { argv: ["thread"], workerData: start });
    const served = new ServedPorts(parts, markUp);
    const onFailure = (err: unknown) => log.error({ err }, "a note of a thread could not be taken");
    const calls = new ThreadCalls(worker as MessageEnd, served.answers, onFailure);
    let failure: unknown = null;
    worker.on("error", (error) => {
      failure = error;
    });
    worker.on("exit", () => {
      calls.close();
      reject(new Error("A thread that answers requests ended while it started.", { cause: failure }));
      void served.close().finally(markEnded);
    });
    await up;
    this.#calls = calls;
    this.state = "up";
    void ended.then(() => {
      this.#calls = null;
      this.state = "starting";
    });
  }

  async listen({ address, port }: NativePort): Promise<void> {
    invariant(this.#calls, "a thread listens when it is up");
    await this.#calls.call("listen", { address, port });
  }

  /** Adds what the thread has counted since the last call. Does nothing if it has ended. */
  async gather(): Promise<void> {
    const calls = this.#calls;
    if (calls === null) return;
    try {
      this.options.parts.metrics.add(await calls.call<readonly TakenCounts[]>("takeCounts", null));
    } catch (err) {
      this.options.log.debug({ thread: this.id, err }, "a thread ended while its counts were read");
    }
  }

  /** Lets the thread finish its requests and end. */
  async end(): Promise<void> {
    this.state = "stopping";
    this.#calls?.note("end", null);
    await this.ended;
  }
}
