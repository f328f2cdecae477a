// The server's part of document reading: starts a child process for each file, limits its resources, and turns its exit
// into a result. The child's part, which turns a file into text, is in src/documents.

import { childCommand } from "../../children/command.ts";
import { lowerPriority } from "../../children/priority.ts";
import { type ProcessUsage, processorMs, residentBytes, StarvationCheck } from "../../children/process-usage.ts";
import { inheritedEnvironment } from "../../children/supervisor.ts";
import {
  type DocumentOutcome,
  decodePages,
  encodeRequest,
  FileUnavailable,
  ResponseDecoder,
  responseBytesMax,
} from "../../documents/document-protocol.ts";
import { Fault } from "../../domain/fault.ts";
import type { PageProgress } from "../../domain/memory.ts";
import type { Log } from "../../kit/log.ts";
import { type DocumentFile, type DocumentReader, type DocumentText, ReadFailure } from "../../ports/document-reader.ts";

/** Options of the document reader. */
export interface DocumentReaderOptions {
  readonly log: Log;
  /** Maximum resident memory of a child, in bytes. */
  readonly memoryBytesMax?: number;
  /** Maximum processor time of a child, in milliseconds. */
  readonly processorMsMax?: number;
  /** Returns the maximum time for a file of this size, in milliseconds. */
  readonly timeoutMs?: (fileBytes: number) => number;
  /** Measures how long a child ran and waited for a processor. Tests replace it to simulate a starved child. */
  readonly usage?: ProcessUsage;
  /** Program and arguments of the child. Tests use a child that fails. */
  readonly command?: readonly string[];
}

/** Reads files, each in a child process of its own. */
export interface ClosableDocumentReader extends DocumentReader {
  /**
   * @throws Fault `overloaded` if too many files wait or the child gets too little processor time, `model_unavailable`
   * if no child can be started or the reader is closed; FileUnavailable for disk errors; `signal.reason`
   */
  read(
    file: DocumentFile,
    onPages?: (pages: PageProgress) => void,
    signal?: AbortSignal,
  ): Promise<DocumentText | ReadFailure>;
  /** Stops all calls; they reject. */
  close(): Promise<void>;
}

const MEMORY_BYTES_MAX = 1024 * 1024 * 1024;
/**
 * Readers of formats stop by themselves after 30 s of processor time, with a message. This limit is for code that does
 * not check the time.
 */
const PROCESSOR_MS_MAX = 45_000;
/** Time between two checks of the child. A child that decompresses at full speed grows by 50 MB in this time. */
const CHECK_EVERY_MS = 100;
/**
 * Number of times that a child gets its time limit again because other processes used the processors. After that, the
 * file is tried again later.
 */
const EXTENSIONS_MAX = 9;
/** Lower priority than searches. */
const NICENESS = 10;
/** A file is given up after this many children died of unknown reasons while they read it. One death can be chance. */
const DEATHS_MAX = 2;
/** Maximum number of waiting files. Ingestion makes one call at a time. */
const WAITING_MAX = 64;
/** Maximum length of a line with page progress, in UTF-16 code units. Longer ones are no page progress. */
const PAGES_LINE_UNITS_MAX = 64;
const MIB = 1024 * 1024;

/** Default time limit in milliseconds. It is for children that hang: `PROCESSOR_MS_MAX` limits those that compute. */
function timeoutOf(fileBytes: number): number {
  return 120_000 + 2_000 * Math.ceil(fileBytes / MIB);
}

/** Creates a reader that reads one file at a time, because a file may need a whole core and a gigabyte of memory. */
export function createDocumentReader(options: DocumentReaderOptions): ClosableDocumentReader {
  return new ChildPerDocument(options);
}

type OnPages = (pages: PageProgress) => void;

/** How a child ended. */
type Ended =
  | { readonly kind: "responded"; readonly outcome: DocumentOutcome }
  /** The child exceeded this limit. */
  | { readonly kind: "stopped"; readonly exceeded: string }
  /** The child got too little processor time. */
  | { readonly kind: "starved" }
  | { readonly kind: "died"; readonly why: string };

class ChildPerDocument implements ClosableDocumentReader {
  readonly #options: DocumentReaderOptions;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #child: Bun.Subprocess | null = null;
  #isClosed = false;

  constructor(options: DocumentReaderOptions) {
    this.#options = options;
  }

  read(
    file: DocumentFile,
    onPages: OnPages = () => undefined,
    signal?: AbortSignal,
  ): Promise<DocumentText | ReadFailure> {
    if (this.#waiting >= WAITING_MAX)
      throw new Fault("overloaded", "Too many files are waiting to be read; try again later.");
    this.#waiting += 1;
    const call = this.#turn.then(() => this.#readNow(file, onPages, signal));
    const settled = () => {
      this.#waiting -= 1;
    };
    this.#turn = call.then(settled, settled);
    return call;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#child?.kill("SIGKILL");
    await this.#turn;
  }

  async #readNow(file: DocumentFile, onPages: OnPages, signal?: AbortSignal): Promise<DocumentText | ReadFailure> {
    for (let deaths = 1; ; deaths++) {
      if (this.#isClosed) throw closed();
      signal?.throwIfAborted();
      const ended = await this.#runChild(file, onPages, signal);
      signal?.throwIfAborted();
      if (this.#isClosed) throw closed();
      if (ended.kind === "responded") return this.#resultOf(file, ended.outcome);
      if (ended.kind === "starved") {
        this.#warn(file, "it got too little processor time; it is tried again later");
        throw new Fault("overloaded", "The file cannot be read at the moment: the machine is too busy.");
      }
      this.#warn(file, ended.kind === "died" ? ended.why : ended.exceeded);
      if (ended.kind === "stopped") return unreadable(`it takes ${ended.exceeded}`);
      if (deaths === DEATHS_MAX) return unreadable("the process that reads it ends unexpectedly");
    }
  }

  #resultOf(file: DocumentFile, outcome: DocumentOutcome): DocumentText | ReadFailure {
    switch (outcome.kind) {
      case "text":
        return outcome.text;
      case "failure":
        return outcome.failure;
      case "broken":
        this.#warn(file, outcome.message);
        return unreadable("it is damaged");
      case "unavailable":
        throw new FileUnavailable(outcome.message);
    }
  }

  async #runChild(file: DocumentFile, onPages: OnPages, signal?: AbortSignal): Promise<Ended> {
    const child = this.#spawn();
    this.#child = child;
    let exceeded: string | null = null;
    let isStarved = false;
    const stop = (why: string) => {
      exceeded ??= why;
      child.kill("SIGKILL");
    };
    const checks = setInterval(() => {
      const excess = this.#excessOf(child.pid);
      if (excess !== null) stop(excess);
    }, CHECK_EVERY_MS);
    const onAbort = () => stop("no longer wanted");
    signal?.addEventListener("abort", onAbort, { once: true });
    const timeoutMs = (this.#options.timeoutMs ?? timeoutOf)(file.bytes);
    const { processorMsMax = PROCESSOR_MS_MAX, usage } = this.#options;
    const starvation = new StarvationCheck(child.pid, processorMsMax, usage);
    let extensions = 0;
    const onTimeout = () => {
      isStarved = starvation.wasStarved();
      extensions += 1;
      if (isStarved && extensions <= EXTENSIONS_MAX) timer = setTimeout(onTimeout, timeoutMs);
      else stop("too much time");
    };
    let timer = setTimeout(onTimeout, timeoutMs);
    try {
      const progress = reportPages(child.stderr, onPages);
      await sendRequest(child.stdin, file);
      const response = new ResponseDecoder();
      await receive(child.stdout, response, responseBytesMax(file.bytes), () => stop("more text than it can hold"));
      const exitCode = await child.exited;
      await progress;
      if (exceeded === "too much time" && isStarved) return { kind: "starved" };
      if (exceeded !== null) return { kind: "stopped", exceeded };
      const outcome = exitCode === 0 ? response.end() : null;
      return outcome === null
        ? { kind: "died", why: `exit code ${exitCode}, signal ${child.signalCode}` }
        : { kind: "responded", outcome };
    } finally {
      clearInterval(checks);
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      child.kill("SIGKILL");
      this.#child = null;
    }
  }

  #spawn() {
    try {
      const child = Bun.spawn([...(this.#options.command ?? childCommand("document"))], {
        env: inheritedEnvironment(),
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      });
      lowerPriority(child.pid, NICENESS, this.#options.log);
      return child;
    } catch (cause) {
      throw new Fault("model_unavailable", "Files cannot be read at the moment.", { cause });
    }
  }

  /** Describes the limit that a child exceeds; null if it exceeds none. */
  #excessOf(pid: number): string | null {
    const { memoryBytesMax = MEMORY_BYTES_MAX, processorMsMax = PROCESSOR_MS_MAX } = this.#options;
    if (residentBytes(pid) > memoryBytesMax) return `more than ${Math.round(memoryBytesMax / MIB)} MiB of memory`;
    if (processorMs(pid) > processorMsMax) return `more than ${Math.round(processorMsMax / 1000)} s`;
    return null;
  }

  #warn({ bytes, mediaType }: DocumentFile, why: string): void {
    this.#options.log.warn({ reason: why, bytes, mediaType }, "A file could not be read.");
  }
}

/** Sends the request. Ignores errors: if the child has died, its exit code is reported. */
async function sendRequest(input: Bun.FileSink, file: DocumentFile): Promise<void> {
  try {
    await input.write(encodeRequest(file));
    await input.end();
  } catch {
    return;
  }
}

/** Reports page progress from standard error. Reads to the end, so that a child that writes a lot does not block. */
async function reportPages(stream: ReadableStream<Uint8Array>, onPages: OnPages): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = (lines.pop() ?? "").slice(-PAGES_LINE_UNITS_MAX);
    for (const line of lines) {
      const pages = decodePages(line);
      if (pages !== null) onPages(pages);
    }
  }
}

/** Decodes a stream. If it has more than `bytesMax` bytes, calls `onTooMany` and stops. */
async function receive(
  stream: ReadableStream<Uint8Array>,
  response: ResponseDecoder,
  bytesMax: number,
  onTooMany: () => void,
): Promise<void> {
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.byteLength;
    if (bytes > bytesMax) return onTooMany();
    response.push(part);
  }
}

function unreadable(why: string): ReadFailure {
  return new ReadFailure("unreadable_document", `The file could not be read: ${why}.`);
}

function closed(): Fault {
  return new Fault("model_unavailable", "Files cannot be read at the moment: the server is shutting down.");
}
