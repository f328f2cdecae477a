// Keeps one child process running: starts it, talks to it over a private Unix socket, restarts it after a crash,
// recycles it when it uses too much memory, and ends it. Only the caller and the child know what the requests mean.

import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../domain/json.ts";
import { isRunning } from "../kit/is-running.ts";
import type { Log } from "../kit/log.ts";
import { type Connection, type ConnectionEvents, type Listener, listenOn } from "./connection.ts";
import { encodeFrame, type Frame, FrameError } from "./frames.ts";
import { lowerPriority } from "./priority.ts";
import { residentBytes } from "./process-usage.ts";
import { type ChildRequest, REFUSED_EXIT_CODE } from "./serve.ts";

/** What to run, and how to supervise it. */
export interface ChildOptions {
  /** Name for log lines and errors. */
  readonly name: string;
  /** Program and arguments; the socket path is appended. */
  readonly command: readonly string[];
  /** Environment variables in addition to the inherited ones. Called before each start. */
  env?(): Readonly<Record<string, string>>;
  /** Scheduling niceness: 0 (default) to 19 (lowest priority). */
  readonly niceness?: number;
  /** Resident memory in bytes above which the child is replaced, between two requests. Unlimited if it is absent. */
  readonly memoryBytesMax?: number | (() => number);
  /** Maximum time in milliseconds from the start to the child's hello. */
  readonly startTimeoutMs: number;
  readonly log: Log;
  /** Called when the child has sent hello and accepts requests. */
  onUp?(hello: JsonObject): void;
  /** Called when the child stops accepting requests; `state()` returns the reason. */
  onDown?(): void;
}

/** State of a child. `refused` and `closed` are final. */
export type ChildState =
  /** `failures` is the number of consecutive runs that ended early. */
  | { readonly status: "starting"; readonly failures: number }
  | { readonly status: "up"; readonly pid: number; readonly hello: JsonObject }
  /** The child finishes its pending requests and is then replaced, such as when it is over its memory limit. */
  | { readonly status: "draining"; readonly pid: number }
  | { readonly status: "waiting"; readonly retryInMs: number; readonly failures: number }
  | { readonly status: "refused"; readonly reason: string }
  | { readonly status: "closed" };

/** A supervised child process. */
export interface SupervisedChild {
  readonly name: string;
  state(): ChildState;
  /** Number of times that the child was restarted. */
  restarts(): number;
  /** Resident memory at the last check; 0 if unknown. */
  rssBytes(): number;
  /**
   * Sends one request. The child answers in order of arrival.
   * @param timeoutMs if the child does not answer in this time, it is killed
   * @param getsMoreTime called when this time is over; if it returns true, the child gets the same time again
   * @throws ChildGone if the child is not up, or dies before it answers
   * @throws ChildFailure if the child's handler threw
   * @throws FrameError if the request is too large
   */
  request(
    header: JsonObject,
    payload: Uint8Array | undefined,
    timeoutMs: number,
    getsMoreTime?: () => boolean,
  ): Promise<ChildRequest>;
  /** Replaces a child that is up by a new one, when it has answered its pending requests. `reason` is for the log. */
  replace(reason: string): void;
  /**
   * Ends the child and removes its socket: closes the connection, and sends SIGKILL after `deadlineMs`. Pending
   * requests throw ChildGone.
   */
  close(deadlineMs?: number): Promise<void>;
}

/** The child died before it answered, or was not running. The caller decides whether to retry. */
export class ChildGone extends Error {
  override readonly name = "ChildGone";
}

/** The child's handler threw an error; the child itself keeps running. */
export class ChildFailure extends Error {
  override readonly name = "ChildFailure";
  constructor(
    /** Name of the error that was thrown in the child. */
    readonly thrown: string,
    message: string,
  ) {
    super(message);
  }
}

/** First and last pause before a restart, in milliseconds. The pause doubles with each consecutive failure. */
const BACKOFF_FIRST_MS = 100;
const BACKOFF_LAST_MS = 10_000;
/** After this uptime in milliseconds, earlier failures no longer count. */
const HEALTHY_AFTER_MS = 30_000;
const MEMORY_CHECK_MS = 2_000;
/** Number of characters at the end of the child's standard error that are kept, to explain why it died. */
const STDERR_CHARS_MAX = 2_000;
/** Socket paths are limited by `sun_path` of unix(7): 108 bytes with the final zero. */
const SOCKET_PATH_BYTES_MAX = 107;
/** Environment variables that a child inherits: search paths and locale, no secrets. */
const INHERITED_VARIABLES = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "MNEME_NATIVE_PATH"];

/** One run of the program, from spawn to exit. */
interface Run {
  readonly process: Bun.Subprocess;
  readonly startTimer: ReturnType<typeof setTimeout>;
  connection: Connection | null;
  upSinceMs: number | null;
  memoryTimer: ReturnType<typeof setInterval> | null;
  stderr: string;
  /** Why this run is being replaced; null if it is not. */
  replacedFor: string | null;
  /** Why the supervisor killed this run; null if it did not. */
  endedFor: string | null;
}

interface Pending {
  readonly resolve: (reply: ChildRequest) => void;
  readonly reject: (error: Error) => void;
  /** Replaced when the child gets more time. */
  timer: ReturnType<typeof setTimeout>;
}

/** Starts a child and keeps it running until `close`. Resolves when its socket listens, before the child is up. */
export async function superviseChild(options: ChildOptions): Promise<SupervisedChild> {
  const folder = await privateFolder();
  const child = new Supervisor(options, folder, join(folder, "s"));
  child.open();
  return child;
}

class Supervisor implements SupervisedChild {
  readonly name: string;
  private readonly log: Log;
  private listener: Listener | null = null;
  private readonly pending = new Map<number, Pending>();
  private current: ChildState = { status: "starting", failures: 0 };
  private run: Run | null = null;
  private starts = 0;
  private failures = 0;
  private nextId = 1;
  private rss = 0;
  private restartTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly options: ChildOptions,
    private readonly folder: string,
    private readonly socketPath: string,
  ) {
    this.name = options.name;
    this.log = options.log.child({ child: options.name });
  }

  /** Listens, then starts the first run. */
  open(): void {
    this.listener = listenOn(this.socketPath, (connection) => this.connected(connection));
    this.start();
  }

  state(): ChildState {
    return this.current;
  }

  restarts(): number {
    return Math.max(0, this.starts - 1);
  }

  rssBytes(): number {
    return this.rss;
  }

  request(
    header: JsonObject,
    payload: Uint8Array | undefined,
    timeoutMs: number,
    getsMoreTime: () => boolean = () => false,
  ): Promise<ChildRequest> {
    const run = this.run;
    if (this.current.status !== "up" || run === null || run.connection === null) {
      return Promise.reject(new ChildGone(`${this.name} is not up (${this.current.status})`));
    }
    const { connection } = run;
    const id = this.nextId;
    this.nextId = (this.nextId % 0xffff_ffff) + 1;
    const bytes = encodeFrame({ id, kind: "request", header, ...(payload && { payload }) });
    return new Promise((resolve, reject) => {
      const onTimeout = () => {
        if (getsMoreTime()) pending.timer = setTimeout(onTimeout, timeoutMs);
        else this.end(run, `no answer within ${timeoutMs} ms`);
      };
      const pending: Pending = { resolve, reject, timer: setTimeout(onTimeout, timeoutMs) };
      this.pending.set(id, pending);
      connection.send(bytes);
    });
  }

  async close(deadlineMs = 2_000): Promise<void> {
    const wasClosed = this.current.status === "closed";
    this.current = { status: "closed" };
    if (this.restartTimer !== null) clearTimeout(this.restartTimer);
    const run = this.run;
    if (run !== null) {
      run.endedFor = "closing";
      // A connected child exits by itself when its connection closes, after the current request. A child that is not
      // connected has no work and can be killed at once.
      if (run.connection === null) run.process.kill("SIGKILL");
      else run.connection.end();
      const killTimer = setTimeout(() => run.process.kill("SIGKILL"), deadlineMs);
      await run.process.exited;
      clearTimeout(killTimer);
    }
    this.failPending("is closed");
    if (wasClosed) return;
    this.listener?.stop(true);
    await rm(this.folder, { recursive: true, force: true });
  }

  private start(): void {
    this.restartTimer = null;
    this.current = { status: "starting", failures: this.failures };
    this.starts += 1;
    this.rss = 0;
    let child: Bun.Subprocess<"ignore", "ignore", "pipe">;
    try {
      child = Bun.spawn([...this.options.command, this.socketPath], {
        env: { ...inheritedEnvironment(), ...this.options.env?.() },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      });
    } catch (error) {
      this.current = { status: "refused", reason: `${this.name} cannot be started: ${String(error)}` };
      this.log.error({ err: error }, "child cannot be started");
      this.options.onDown?.();
      return;
    }
    const { startTimeoutMs } = this.options;
    const run: Run = {
      process: child,
      startTimer: setTimeout(() => this.end(run, `not ready within ${startTimeoutMs} ms`), startTimeoutMs),
      connection: null,
      upSinceMs: null,
      memoryTimer: null,
      stderr: "",
      replacedFor: null,
      endedFor: null,
    };
    this.run = run;
    lowerPriority(child.pid, this.options.niceness ?? 0, this.log);
    const stderrRead = keepTail(child.stderr, run);
    void child.exited.then(async (exitCode) => {
      await stderrRead;
      this.exited(run, exitCode);
    });
  }

  private connected(connection: Connection): ConnectionEvents | null {
    const run = this.run;
    if (run === null || run.connection !== null) return null;
    run.connection = connection;
    return {
      onFrame: (frame) => this.received(run, frame),
      onError: (error) => {
        const what = error instanceof FrameError ? "sent an unreadable frame" : "connection failed";
        this.end(run, `${what}: ${error.message}`);
      },
      onClose: () => this.end(run, "closed its connection"),
    };
  }

  private received(run: Run, frame: Frame): void {
    if (frame.kind === "hello") {
      this.up(run, frame.header);
      return;
    }
    const waiting = this.pending.get(frame.id);
    if (waiting === undefined || run !== this.run) return;
    this.pending.delete(frame.id);
    clearTimeout(waiting.timer);
    if (frame.kind === "failure") {
      waiting.reject(new ChildFailure(String(frame.header.name), String(frame.header.message)));
    } else {
      waiting.resolve({ header: frame.header, payload: frame.payload });
    }
    this.recycleIfDrained(run);
  }

  private up(run: Run, hello: JsonObject): void {
    if (run !== this.run || this.current.status !== "starting") return;
    clearTimeout(run.startTimer);
    run.upSinceMs = performance.now();
    this.current = { status: "up", pid: run.process.pid, hello };
    this.log.debug({ pid: run.process.pid, hello }, "child is up");
    this.rss = residentBytes(run.process.pid);
    // The first check is made after one interval, so that every child can do some work even if the limit is far too
    // low.
    run.memoryTimer = setInterval(() => this.checkMemory(run), MEMORY_CHECK_MS);
    this.options.onUp?.(hello);
  }

  /** Kills a run. Its exit then triggers the next one. */
  private end(run: Run, reason: string): void {
    run.endedFor ??= reason;
    run.process.kill("SIGKILL");
  }

  private exited(run: Run, exitCode: number): void {
    clearTimeout(run.startTimer);
    if (run.memoryTimer !== null) clearInterval(run.memoryTimer);
    run.connection?.terminate();
    if (run !== this.run) return;
    this.run = null;
    if (this.current.status === "closed") return;

    const lastLine = run.stderr.trim().split("\n").at(-1) ?? "";
    if (exitCode === REFUSED_EXIT_CODE) {
      this.current = { status: "refused", reason: lastLine };
      this.log.error({ reason: lastLine }, "child refuses to run; it will not be restarted");
    } else {
      const retryInMs = this.current.status === "draining" ? 0 : this.backOff(run);
      this.current = { status: "waiting", retryInMs, failures: this.failures };
      const why = { exitCode, signal: run.process.signalCode, reason: run.endedFor, stderr: lastLine };
      this.log.warn({ ...why, retryInMs }, "child exited; restarting");
      this.restartTimer = setTimeout(() => this.start(), retryInMs);
    }
    this.failPending(`died (${run.endedFor ?? `exit code ${exitCode}`})`);
    this.options.onDown?.();
  }

  /** Counts a failed run; returns the pause before the next one. */
  private backOff(run: Run): number {
    const upMs = run.upSinceMs === null ? 0 : performance.now() - run.upSinceMs;
    this.failures = upMs >= HEALTHY_AFTER_MS ? 1 : this.failures + 1;
    return Math.min(BACKOFF_LAST_MS, BACKOFF_FIRST_MS * 2 ** (this.failures - 1));
  }

  private failPending(how: string): void {
    const waiting = [...this.pending.values()];
    this.pending.clear();
    for (const { reject, timer } of waiting) {
      clearTimeout(timer);
      reject(new ChildGone(`${this.name} ${how}`));
    }
  }

  private checkMemory(run: Run): void {
    const rss = residentBytes(run.process.pid);
    this.rss = rss;
    const limit = this.options.memoryBytesMax;
    const memoryBytesMax = typeof limit === "function" ? limit() : limit;
    if (memoryBytesMax === undefined || rss <= memoryBytesMax || this.current.status !== "up") return;
    this.log.warn({ rssBytes: rss, memoryBytesMax }, "child exceeds its memory limit; replacing it");
    this.replace("exceeded its memory limit");
  }

  replace(reason: string): void {
    const run = this.run;
    if (run === null || this.current.status !== "up") return;
    run.replacedFor = reason;
    this.current = { status: "draining", pid: run.process.pid };
    this.options.onDown?.();
    this.recycleIfDrained(run);
  }

  private recycleIfDrained(run: Run): void {
    if (this.current.status === "draining" && this.pending.size === 0) this.end(run, run.replacedFor ?? "replaced");
  }
}

/**
 * Creates a folder that only this user can enter. Its name contains this process's id; its path is short enough for a
 * socket in it.
 */
async function privateFolder(): Promise<string> {
  const longestSuffix = "/mneme-4194304-XXXXXX/s".length;
  const base = Buffer.byteLength(tmpdir()) + longestSuffix <= SOCKET_PATH_BYTES_MAX ? tmpdir() : "/tmp";
  await removeLeftFolders(base);
  return mkdtemp(join(base, `mneme-${process.pid}-`)); // mkdtemp(3) sets mode 0700
}

/** Removes the folders of killed servers: this user's folders whose process id no longer exists. */
async function removeLeftFolders(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const pid = /^mneme-(\d+)-[A-Za-z0-9]{6}$/.exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const folder = join(base, name);
    // A server that starts at the same time may have removed the folder already.
    const owner = await lstat(folder).then(
      ({ uid }) => uid,
      () => null,
    );
    if (owner === process.getuid?.()) await rm(folder, { recursive: true, force: true });
  }
}

/** The environment variables that a child inherits. */
export function inheritedEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Reads the stream to its end and keeps its last characters in `run.stderr`. */
async function keepTail(stream: ReadableStream<Uint8Array>, run: Run): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    run.stderr = (run.stderr + decoder.decode(bytes, { stream: true })).slice(-STDERR_CHARS_MAX);
  }
}
