// Keeps one child process alive: starts it, speaks with it over a private Unix socket, restarts it when it dies, recycles
// it when it grows too large, ends it. What the requests mean is known to the caller and the child alone.

import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../kit/log.ts";
import { createFrameDecoder, encodeFrame, FRAME_BYTES_MAX, type Frame, type JsonObject } from "./frames.ts";
import { yieldProcessor } from "./priority.ts";
import { residentBytes } from "./process-usage.ts";
import { type ChildRequest, REFUSED_EXIT_CODE } from "./serve.ts";

/** What to run and how to keep it. */
export interface ChildOptions {
  /** For log lines and errors. */
  readonly name: string;
  /** Program and arguments; the socket path is appended. */
  readonly command: readonly string[];
  /** Added to the few variables that a child inherits. */
  readonly env?: Readonly<Record<string, string>>;
  /** 0 (default) to 19: larger yields the processor to others. */
  readonly niceness?: number;
  /** Resident bytes above which the child is replaced, between requests. Absent: not watched. */
  readonly memoryBytesMax?: number;
  /** From the start to the child's hello. */
  readonly startTimeoutMs: number;
  readonly log: Log;
  /** The child said hello and takes requests. */
  onUp?(hello: JsonObject): void;
  /** The child takes no requests any more; `state()` says what comes next. */
  onDown?(): void;
}

/** Where a child stands. `refused` and `closed` are final. */
export type ChildState =
  /** `failures`: runs that ended too early, in a row. */
  | { readonly status: "starting"; readonly failures: number }
  | { readonly status: "up"; readonly pid: number; readonly hello: JsonObject }
  /** Over its memory limit: it finishes what it has and is then replaced. */
  | { readonly status: "draining"; readonly pid: number }
  | { readonly status: "waiting"; readonly retryInMs: number; readonly failures: number }
  | { readonly status: "refused"; readonly reason: string }
  | { readonly status: "closed" };

/** A child that is kept alive. */
export interface SupervisedChild {
  readonly name: string;
  state(): ChildState;
  /** Starts after the first one. */
  restarts(): number;
  /** Resident memory when last looked at; 0 while unknown. */
  rssBytes(): number;
  /**
   * Sends one request; the child answers in the order of arrival.
   * @param timeoutMs a child that has not answered by then is killed
   * @throws ChildGone when the child is not up, or dies before it answers
   * @throws ChildFailure when the child's handler threw
   */
  request(header: JsonObject, payload: Uint8Array | undefined, timeoutMs: number): Promise<ChildRequest>;
  /**
   * Ends the child (by closing its connection, after `deadlineMs` by SIGKILL) and removes its socket. Requests under way
   * throw ChildGone.
   */
  close(deadlineMs?: number): Promise<void>;
}

/** The child died, or was not there, before it answered. Whether trying again is right is for the caller to know. */
export class ChildGone extends Error {
  override readonly name = "ChildGone";
}

/** The child's handler threw; the child itself is well. */
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

/** Pause before a restart: doubles from the first to the last with each failure in a row. */
const BACKOFF_FIRST_MS = 100;
const BACKOFF_LAST_MS = 10_000;
/** A child that was up this long has nothing to do with earlier failures. */
const HEALTHY_AFTER_MS = 30_000;
const MEMORY_CHECK_MS = 2_000;
/** What is kept of a child's standard error, to say why it died. */
const STDERR_CHARS_MAX = 2_000;
/** `sun_path` of unix(7) holds 108 bytes with its final zero. */
const SOCKET_PATH_BYTES_MAX = 107;
/** Variables that a child inherits: where programs and libraries are, no secrets. */
const INHERITED_VARIABLES = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "MNEME_NATIVE_PATH"];

/** One run of the program, from spawn to exit. */
interface Run {
  readonly process: Bun.Subprocess;
  readonly startTimer: ReturnType<typeof setTimeout>;
  socket: Socket | null;
  upSinceMs: number | null;
  memoryTimer: ReturnType<typeof setInterval> | null;
  stderr: string;
  /** Why the supervisor itself ended this run. */
  endedFor: string | null;
}

interface Pending {
  readonly resolve: (reply: ChildRequest) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Starts a child and keeps it alive until `close`. Resolves when its socket listens, before the child is up. */
export async function superviseChild(options: ChildOptions): Promise<SupervisedChild> {
  const folder = await privateFolder();
  const child = new Supervisor(options, folder, join(folder, "s"));
  await child.open();
  return child;
}

class Supervisor implements SupervisedChild {
  readonly name: string;
  private readonly log: Log;
  private readonly server: Server;
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
    this.server = createServer((socket) => this.connected(socket));
  }

  /** Listens, then starts the first run. */
  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(this.socketPath, resolve);
    });
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

  request(header: JsonObject, payload: Uint8Array | undefined, timeoutMs: number): Promise<ChildRequest> {
    const run = this.run;
    if (this.current.status !== "up" || run === null || run.socket === null) {
      return Promise.reject(new ChildGone(`${this.name} is not up (${this.current.status})`));
    }
    const { socket } = run;
    const id = this.nextId;
    this.nextId = (this.nextId % 0xffff_ffff) + 1;
    const bytes = encodeFrame({ id, kind: "request", header, ...(payload && { payload }) });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.end(run, `no answer within ${timeoutMs} ms`), timeoutMs);
      this.pending.set(id, { resolve, reject, timer });
      socket.write(bytes);
    });
  }

  async close(deadlineMs = 2_000): Promise<void> {
    const wasClosed = this.current.status === "closed";
    this.current = { status: "closed" };
    if (this.restartTimer !== null) clearTimeout(this.restartTimer);
    const run = this.run;
    if (run !== null) {
      run.endedFor = "closing";
      // A connected child ends when its connection does, after the request under way; another has nothing to finish.
      if (run.socket === null) run.process.kill("SIGKILL");
      else run.socket.end();
      const killTimer = setTimeout(() => run.process.kill("SIGKILL"), deadlineMs);
      await run.process.exited;
      clearTimeout(killTimer);
    }
    this.failPending("is closed");
    if (wasClosed) return;
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
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
        env: { ...inheritedEnvironment(), ...this.options.env },
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
      socket: null,
      upSinceMs: null,
      memoryTimer: null,
      stderr: "",
      endedFor: null,
    };
    this.run = run;
    yieldProcessor(child.pid, this.options.niceness ?? 0, this.log);
    const stderrRead = keepTail(child.stderr, run);
    void child.exited.then(async (exitCode) => {
      await stderrRead;
      this.exited(run, exitCode);
    });
  }

  private connected(socket: Socket): void {
    const run = this.run;
    if (run === null || run.socket !== null) {
      socket.destroy();
      return;
    }
    run.socket = socket;
    const decoder = createFrameDecoder(FRAME_BYTES_MAX);
    socket.on("data", (bytes: Buffer) => {
      try {
        for (const frame of decoder.push(bytes)) this.received(run, frame);
      } catch (error) {
        this.end(run, `sent what cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    socket.on("error", (error) => this.end(run, `connection failed: ${error.message}`));
    socket.on("close", () => this.end(run, "closed its connection"));
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
    // The first check comes after an interval: even with a limit below what a fresh child needs, each gets work done.
    run.memoryTimer = setInterval(() => this.checkMemory(run), MEMORY_CHECK_MS);
    this.options.onUp?.(hello);
  }

  /** Kills a run; its exit then leads on to the next one. */
  private end(run: Run, reason: string): void {
    run.endedFor ??= reason;
    run.process.kill("SIGKILL");
  }

  private exited(run: Run, exitCode: number): void {
    clearTimeout(run.startTimer);
    if (run.memoryTimer !== null) clearInterval(run.memoryTimer);
    run.socket?.destroy();
    if (run !== this.run) return;
    this.run = null;
    if (this.current.status === "closed") return;

    const lastLine = run.stderr.trim().split("\n").at(-1) ?? "";
    if (exitCode === REFUSED_EXIT_CODE) {
      this.current = { status: "refused", reason: lastLine };
      this.log.error({ reason: lastLine }, "child refuses to run and is not started again");
    } else {
      const retryInMs = this.current.status === "draining" ? 0 : this.backOff(run);
      this.current = { status: "waiting", retryInMs, failures: this.failures };
      const why = { exitCode, signal: run.process.signalCode, reason: run.endedFor, stderr: lastLine };
      this.log.warn({ ...why, retryInMs }, "child is gone and will be restarted");
      this.restartTimer = setTimeout(() => this.start(), retryInMs);
    }
    this.failPending(`died (${run.endedFor ?? `exit code ${exitCode}`})`);
    this.options.onDown?.();
  }

  /** Counts a run's unwanted end; returns the pause before the next one. */
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
    const { memoryBytesMax } = this.options;
    if (memoryBytesMax === undefined || rss <= memoryBytesMax || this.current.status !== "up") return;
    this.log.warn({ rssBytes: rss, memoryBytesMax }, "child is over its memory limit and will be replaced");
    this.current = { status: "draining", pid: run.process.pid };
    this.options.onDown?.();
    this.recycleIfDrained(run);
  }

  private recycleIfDrained(run: Run): void {
    if (this.current.status === "draining" && this.pending.size === 0) this.end(run, "over its memory limit");
  }
}

/** A folder that only this user can enter, with a path short enough for a socket in it, named for this process. */
async function privateFolder(): Promise<string> {
  const longestSuffix = "/mneme-4194304-XXXXXX/s".length;
  const base = Buffer.byteLength(tmpdir()) + longestSuffix <= SOCKET_PATH_BYTES_MAX ? tmpdir() : "/tmp";
  await removeLeftFolders(base);
  return mkdtemp(join(base, `mneme-${process.pid}-`)); // mkdtemp(3) makes it 0700
}

/** Removes the folders of servers that were killed: those of our own that name a process which is no more. */
async function removeLeftFolders(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const pid = /^mneme-(\d+)-[A-Za-z0-9]{6}$/.exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const folder = join(base, name);
    // Another start may have removed it just now.
    const owner = await lstat(folder).then(
      ({ uid }) => uid,
      () => null,
    );
    if (owner === process.getuid?.()) await rm(folder, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // it runs, as somebody else
  }
}

/** What a child inherits of the environment. */
export function inheritedEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED_VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** Reads to the stream's end and keeps its last characters in `run.stderr`. */
async function keepTail(stream: ReadableStream<Uint8Array>, run: Run): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    run.stderr = (run.stderr + decoder.decode(bytes, { stream: true })).slice(-STDERR_CHARS_MAX);
  }
}
