// The server's part of text recognition: files take turns, a child process reads the pictures of the one that has the
// turn, and each text is written to a file as soon as it is known. So other files do not wait for a scan of 500 pages,
// and a server that was killed continues at the page at which it stopped.

import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { appendFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { childCommand } from "../../children/command.ts";
import { lowerPriority } from "../../children/priority.ts";
import { processorMs, residentBytes } from "../../children/process-usage.ts";
import { inheritedEnvironment } from "../../children/supervisor.ts";
import {
  decodeRecognised,
  encodeDescription,
  encodeRecognised,
  recognisedAt,
  wasRead,
} from "../../documents/recognition.ts";
import { Fault } from "../../domain/fault.ts";
import type { PageProgress } from "../../domain/memory.ts";
import type { Log } from "../../kit/log.ts";
import { Turns } from "../../kit/turns.ts";
import { type RecognisedPicture, unread } from "../../ocr/recognised.ts";
import type { PictureRecogniser, PicturesOfFile } from "../../ports/picture-recogniser.ts";
import { NO_TELEMETRY_VARIABLE } from "../inference/lane-protocol.ts";
import { linesOf } from "./child-lines.ts";
import type { OcrRequest } from "./ocr-protocol.ts";

/** Options of the recogniser. */
export interface RecogniserOptions {
  /** Folder of the texts of files that are not finished. */
  readonly directory: string;
  /** Folder of the models; null if they are not installed. Asked before each file, because they may be added. */
  readonly modelFolder: () => string | null;
  /** Whether a file is still kept. Texts of others are removed at the start, and when no file waits any more. */
  readonly isKept: (name: string) => boolean;
  readonly log: Log;
  /** Limits for one picture: resident memory of the child in bytes, processor time and total time in milliseconds. */
  readonly memoryBytesMax?: number;
  readonly processorMsMax?: number;
  readonly timeoutMs?: number;
  /** Program and arguments of the child. Tests use a child that fails. */
  readonly command?: readonly string[] | undefined;
}

/** A recogniser that can be closed. */
export interface ClosableRecogniser extends PictureRecogniser {
  /** Stops all calls; they reject. */
  close(): Promise<void>;
}

const MIB = 1024 * 1024;
/** A page of A4 takes 450 to 600 MB, a picture with the maximum number of pixels 1.1 GB. */
const MEMORY_BYTES_MAX = 1536 * MIB;
/** A page of dense print takes 8 s of one core. */
const PROCESSOR_MS_MAX = 60_000;
/** For a child that hangs. The time includes that in which the child waits for a processor. */
const TIMEOUT_MS = 15 * 60_000;
/** Time between two checks of the child. */
const CHECK_EVERY_MS = 100;
/** Lower priority than searches and ingestion. */
const NICENESS = 15;
/** Number of pictures that a file may have read before another one that waits has its turn: a few seconds. */
const TURN_PICTURES = 2;
/** Number of pictures after which a child is replaced, also if no other file waits. */
const CHILD_PICTURES_MAX = 100;
/** Maximum number of files that wait. Only their names are in memory. */
const WAITING_MAX = 1_000;
/** A picture is given up after this many children ended by themselves reading it. One death can be chance. */
const DEATHS_MAX = 2;
/** After this many pictures of a file were given up, the rest of the file is left out. */
const STOPS_MAX = 10;
/** Characters at the end of the child's standard error that are logged. */
const STDERR_CHARS_MAX = 500;

/** Creates a recogniser. Removes the texts of files that are not kept any more. */
export function createPictureRecogniser(options: RecogniserOptions): ClosableRecogniser {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  removeUnkept(options);
  return new ChildPerTurn(options);
}

function removeUnkept({ directory, isKept }: RecogniserOptions): void {
  for (const name of readdirSync(directory)) if (!isKept(name)) rmSync(join(directory, name), { force: true });
}

/** A file whose pictures are read. */
interface FileWork extends PicturesOfFile {
  readonly onPages: (pages: PageProgress) => void;
  readonly signal: AbortSignal;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Ids of the pictures that are not read yet. */
  left: readonly string[];
  /** Children that have ended by themselves since the last picture. */
  deaths: number;
  /** Pictures that were given up. */
  stops: number;
}

class ChildPerTurn implements ClosableRecogniser {
  readonly #options: RecogniserOptions;
  readonly #turns = new Turns<FileWork>();
  #running: Promise<void> | null = null;
  #current: { readonly work: FileWork; stop(reason: unknown): void } | null = null;
  #isClosed = false;

  constructor(options: RecogniserOptions) {
    this.#options = options;
  }

  get isInstalled(): boolean {
    return this.#options.modelFolder() !== null;
  }

  async recognise(
    pictures: PicturesOfFile,
    onPages: (pages: PageProgress) => void,
    signal: AbortSignal,
  ): Promise<string> {
    if (this.#isClosed) throw closed();
    if (this.#turns.size >= WAITING_MAX) {
      throw new Fault("overloaded", "Too many files wait for text recognition; try again later.");
    }
    signal.throwIfAborted();
    const path = this.#pathOf(pictures.name);
    const known = recognisedAt(path);
    const left = pictures.ids.filter((id) => !wasRead(known.get(id)));
    if (left.length === 0) return path;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const work: FileWork = { ...pictures, onPages, signal, resolve, reject, left, deaths: 0, stops: 0 };
    const onAbort = () => this.#abort(work);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#report(work);
    this.#turns.add(work);
    this.#running ??= this.#run();
    try {
      await promise;
      return path;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async describedOf(name: string): Promise<ReadonlySet<string>> {
    const known = recognisedAt(this.#pathOf(name)).values();
    return new Set(known.flatMap(({ id, description }) => (description === undefined ? [] : [id])));
  }

  async keepDescription(name: string, id: string, description: string): Promise<void> {
    await appendFile(this.#pathOf(name), encodeDescription(id, description), { mode: 0o600 });
  }

  async forget(name: string): Promise<void> {
    try {
      await rm(this.#pathOf(name), { force: true });
    } catch (err) {
      this.#options.log.warn({ err, name }, "recognised texts could not be removed; the next start tries again");
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let work = this.#turns.next(); work !== undefined; work = this.#turns.next()) work.reject(closed());
    this.#current?.stop(closed());
    await this.#running;
  }

  #pathOf(name: string): string {
    return join(this.#options.directory, basename(name));
  }

  #report({ ids, left, onPages }: FileWork): void {
    onPages({ done: ids.length - left.length, total: ids.length });
  }

  #abort(work: FileWork): void {
    if (this.#turns.remove(work)) work.reject(work.signal.reason);
    else if (this.#current?.work === work) this.#current.stop(work.signal.reason);
  }

  async #run(): Promise<void> {
    for (let work = this.#turns.next(); work !== undefined; work = this.#turns.next()) {
      try {
        await this.#turn(work);
        if (work.left.length === 0) work.resolve();
        else this.#turns.add(work);
      } catch (error) {
        work.reject(error);
      }
    }
    this.#running = null;
    try {
      removeUnkept(this.#options);
    } catch (err) {
      this.#options.log.warn({ err }, "recognised texts that nobody needs could not be removed");
    }
  }

  /** Reads pictures of a file until another one has its turn, or until all are read. */
  async #turn(work: FileWork): Promise<void> {
    const folder = this.#options.modelFolder();
    if (folder === null) throw new Fault("overloaded", "Text recognition has been removed.");
    const [detection, recognition] = [join(folder, "detection.onnx"), join(folder, "recognition.onnx")];
    const { mediaType } = work;
    const path = await work.locate();
    if (this.#isClosed) throw closed();
    work.signal.throwIfAborted();
    const end = await this.#runChild(work, { path, mediaType, ids: work.left, detection, recognition });
    if (end.kind === "ended" || work.left.length === 0) return;
    const [id] = work.left;
    if (id === undefined) return;
    this.#options.log.warn({ reason: end.why, mediaType, picture: id }, "A picture could not be read.");
    if (end.kind === "died") {
      work.deaths += 1;
      if (work.deaths < DEATHS_MAX) return;
    }
    work.stops += 1;
    await this.#keep(work, unread(id, end.kind === "died" ? "cannot be read" : `takes ${end.why}`));
    if (work.stops < STOPS_MAX) return;
    for (const rest of work.left)
      await this.#keep(work, unread(rest, "was left out, because earlier ones took too much"));
  }

  async #runChild(work: FileWork, request: OcrRequest): Promise<TurnEnd> {
    const child = this.#spawn();
    let end: TurnEnd | null = null;
    let failure: { readonly reason: unknown } | null = null;
    const kill = (why: TurnEnd) => {
      end ??= why;
      child.kill("SIGKILL");
    };
    this.#current = {
      work,
      stop: (reason) => {
        failure ??= { reason };
        kill({ kind: "ended" });
      },
    };
    const { memoryBytesMax = MEMORY_BYTES_MAX, processorMsMax = PROCESSOR_MS_MAX } = this.#options;
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    let since = { processor: 0, at: performance.now() };
    const checks = setInterval(() => {
      if (residentBytes(child.pid) > memoryBytesMax) {
        kill({ kind: "stopped", why: `more than ${Math.round(memoryBytesMax / MIB)} MiB of memory` });
      } else if (processorMs(child.pid) - since.processor > processorMsMax) {
        kill({ kind: "stopped", why: `more than ${Math.round(processorMsMax / 1000)} s` });
      } else if (performance.now() - since.at > timeoutMs) kill({ kind: "stopped", why: "too much time" });
    }, CHECK_EVERY_MS);
    try {
      const errors = tailOf(child.stderr);
      await send(child.stdin, request);
      let pictures = 0;
      for await (const line of linesOf(child.stdout)) {
        const picture = decodeRecognised(line);
        if (picture === null || picture.id !== work.left[0]) continue;
        work.deaths = 0;
        since = { processor: processorMs(child.pid), at: performance.now() };
        await this.#keep(work, picture);
        pictures += 1;
        const isOver = (pictures >= TURN_PICTURES && this.#turns.size > 0) || pictures >= CHILD_PICTURES_MAX;
        if (!isOver || work.left.length === 0) continue;
        kill({ kind: "ended" });
        break;
      }
      const exitCode = await child.exited;
      const tail = await errors;
      if (failure !== null) throw (failure as { readonly reason: unknown }).reason;
      if (end !== null) return end;
      return { kind: "died", why: `exit code ${exitCode}, signal ${child.signalCode}: ${tail}` };
    } finally {
      clearInterval(checks);
      child.kill("SIGKILL");
      this.#current = null;
    }
  }

  /** Writes the text of the first picture that is left. */
  async #keep(work: FileWork, picture: RecognisedPicture): Promise<void> {
    await appendFile(this.#pathOf(work.name), encodeRecognised(picture), { mode: 0o600 });
    work.left = work.left.slice(1);
    this.#report(work);
  }

  #spawn() {
    try {
      const child = Bun.spawn([...(this.#options.command ?? childCommand("ocr"))], {
        env: { ...inheritedEnvironment(), [NO_TELEMETRY_VARIABLE]: "1" },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      });
      lowerPriority(child.pid, NICENESS, this.#options.log);
      return child;
    } catch (cause) {
      throw new Fault("model_unavailable", "Pictures cannot be read at the moment.", { cause });
    }
  }
}

/** How the turn of a child ended. */
type TurnEnd =
  | { readonly kind: "ended" }
  /** The child exceeded this limit. */
  | { readonly kind: "stopped"; readonly why: string }
  | { readonly kind: "died"; readonly why: string };

/** Sends the request. Ignores errors: if the child has died, its exit code is reported. */
async function send(input: Bun.FileSink, request: OcrRequest): Promise<void> {
  try {
    await input.write(JSON.stringify(request));
    await input.end();
  } catch {
    return;
  }
}

async function tailOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let tail = "";
  for await (const part of stream) tail = (tail + decoder.decode(part, { stream: true })).slice(-STDERR_CHARS_MAX);
  return tail.trim();
}

function closed(): Fault {
  return new Fault("model_unavailable", "Pictures cannot be read at the moment: the server is shutting down.");
}
