// The server's side of reading files: a child process for each, what it may take of the machine, and what is said of a file that takes
// more. How a file becomes text stands in documents/.

import { childCommand } from "../../children/command.ts";
import { lowerPriority } from "../../children/priority.ts";
import { processorMs, residentBytes } from "../../children/process-usage.ts";
import { inheritedEnvironment } from "../../children/supervisor.ts";
import {
  answerBytesMax,
  type DocumentOutcome,
  decodeAnswer,
  decodePages,
  encodeQuestion,
  FileUnavailable,
} from "../../documents/document-protocol.ts";
import { Fault } from "../../domain/fault.ts";
import type { PageProgress } from "../../domain/memory.ts";
import type { Log } from "../../kit/log.ts";
import { type DocumentFile, type DocumentReader, type DocumentText, ReadFailure } from "../../ports/document-reader.ts";

/** How files are read. */
export interface DocumentReaderOptions {
  readonly log: Log;
  /** Resident bytes of the child of one file, at most. */
  readonly memoryBytesMax?: number;
  /** Processor time of the child of one file, at most. */
  readonly processorMsMax?: number;
  /** Time until a file of so many bytes is given up, whatever its child does. */
  readonly timeoutMs?: (fileBytes: number) => number;
  /** Program and arguments of the child; tests put one in that breaks. */
  readonly command?: readonly string[];
}

/** Reads files, each in a child process of its own. */
export interface ClosableDocumentReader extends DocumentReader {
  /** @throws Fault `model_unavailable` when no child can be had or the reader is closed; FileUnavailable for trouble with the disk */
  read(file: DocumentFile, onPages?: (pages: PageProgress) => void): Promise<DocumentText | ReadFailure>;
  /** Ends what is under way, which rejects. */
  close(): Promise<void>;
}

const MEMORY_BYTES_MAX = 1024 * 1024 * 1024;
/** A reader gives a file up after 30 s by itself and says why; this is for what does not look at the time. */
const PROCESSOR_MS_MAX = 45_000;
/** Between two looks at what the child takes: a child that unpacks as fast as it can grows by 50 MB meanwhile. */
const LOOK_MS = 100;
/** Reading yields to searches. */
const NICENESS = 10;
/** Times that a child may die over one file for no known reason, before that file is given up: once can be chance. */
const DEATHS_MAX = 2;
/** Files that wait at most; ingestion makes one call at a time. */
const WAITING_MAX = 64;
/** Longer than any line that tells of pages. */
const PAGES_LINE_UNITS_MAX = 64;
const MIB = 1024 * 1024;

/** Room for a machine that is busy with something else. */
function timeoutOf(fileBytes: number): number {
  return 120_000 + 2_000 * Math.ceil(fileBytes / MIB);
}

/** Files are read one after the other: each may take a core and a gigabyte. */
export function createDocumentReader(options: DocumentReaderOptions): ClosableDocumentReader {
  return new ChildPerDocument(options);
}

type OnPages = (pages: PageProgress) => void;

/** What a child left behind. */
type Ended =
  | { readonly kind: "answered"; readonly outcome: DocumentOutcome }
  /** It took more than it may. */
  | { readonly kind: "stopped"; readonly tooMuch: string }
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

  read(file: DocumentFile, onPages: OnPages = () => undefined): Promise<DocumentText | ReadFailure> {
    if (this.#waiting >= WAITING_MAX)
      throw new Fault("overloaded", "Too many files are waiting to be read; try again later.");
    this.#waiting += 1;
    const call = this.#turn.then(() => this.#readNow(file, onPages));
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

  async #readNow(file: DocumentFile, onPages: OnPages): Promise<DocumentText | ReadFailure> {
    for (let deaths = 1; ; deaths++) {
      if (this.#isClosed) throw closed();
      const ended = await this.#runChild(file, onPages);
      if (this.#isClosed) throw closed();
      if (ended.kind === "answered") return this.#told(file, ended.outcome);
      this.#warn(file, ended.kind === "died" ? ended.why : ended.tooMuch);
      if (ended.kind === "stopped") return unreadable(`it takes ${ended.tooMuch}`);
      if (deaths === DEATHS_MAX) return unreadable("reading it breaks off");
    }
  }

  #told(file: DocumentFile, outcome: DocumentOutcome): DocumentText | ReadFailure {
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

  async #runChild(file: DocumentFile, onPages: OnPages): Promise<Ended> {
    const child = this.#spawn();
    this.#child = child;
    let tooMuch: string | null = null;
    const stop = (why: string) => {
      tooMuch ??= why;
      child.kill("SIGKILL");
    };
    const looks = setInterval(() => {
      const excess = this.#excessOf(child.pid);
      if (excess !== null) stop(excess);
    }, LOOK_MS);
    const timer = setTimeout(() => stop("too much time"), (this.#options.timeoutMs ?? timeoutOf)(file.bytes));
    try {
      const telling = tellPages(child.stderr, onPages);
      await ask(child.stdin, file);
      const answer = await bytesOf(child.stdout, answerBytesMax(file.bytes), () => stop("more text than it can hold"));
      const exitCode = await child.exited;
      await telling;
      if (tooMuch !== null) return { kind: "stopped", tooMuch };
      const outcome = exitCode === 0 ? decodeAnswer(answer) : null;
      return outcome === null
        ? { kind: "died", why: `exit code ${exitCode}, signal ${child.signalCode}` }
        : { kind: "answered", outcome };
    } finally {
      clearInterval(looks);
      clearTimeout(timer);
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

  /** What a child takes too much of; null while all is well. */
  #excessOf(pid: number): string | null {
    const { memoryBytesMax = MEMORY_BYTES_MAX, processorMsMax = PROCESSOR_MS_MAX } = this.#options;
    if (residentBytes(pid) > memoryBytesMax) return `more than ${Math.round(memoryBytesMax / MIB)} MiB of memory`;
    if (processorMs(pid) > processorMsMax) return `more than ${Math.round(processorMsMax / 1000)} s`;
    return null;
  }

  #warn({ bytes, mediaType }: DocumentFile, why: string): void {
    this.#options.log.warn({ why, bytes, mediaType }, "a file cannot be read");
  }
}

// A child that died before it was asked is told by its exit.
async function ask(input: Bun.FileSink, file: DocumentFile): Promise<void> {
  try {
    await input.write(encodeQuestion(file));
    await input.end();
  } catch {
    return;
  }
}

// To the end, so that a child which writes much there is not held up. What is no whole line yet is kept up to a line's length.
async function tellPages(stream: ReadableStream<Uint8Array>, onPages: OnPages): Promise<void> {
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

/** All bytes of a stream; what was read so far when there are more than `bytesMax`, which `onTooMany` is told. */
async function bytesOf(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  onTooMany: () => void,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of stream) {
    parts.push(part);
    bytes += part.byteLength;
    if (bytes > bytesMax) {
      onTooMany();
      break;
    }
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

function unreadable(why: string): ReadFailure {
  return new ReadFailure("unreadable_document", `The file could not be read: ${why}.`);
}

function closed(): Fault {
  return new Fault("model_unavailable", "Files cannot be read at the moment: the server is shutting down.");
}
