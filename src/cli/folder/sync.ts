// Brings a folder and Mneme in step: one `pass` sends what is new or changed, moves the memories of files that were
// moved, and deletes those of files that are gone if that is wanted. A pass that is repeated changes nothing.

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { LIMITS } from "../../domain/limits.ts";
import type { Clock } from "../../kit/clock.ts";
import { nullIfMissing } from "../../kit/if-missing.ts";
import { isRecord } from "../../kit/record.ts";
import { systemErrorText } from "../../kit/system-error.ts";
import { type Client, RequestRefused } from "../client.ts";
import { type FolderState, type StoredFile, writeState } from "./state.ts";
import { type FoundFile, type FoundFiles, filesIn } from "./walk.ts";

/** A file that was written to less than this many milliseconds ago is waited for, and so is one that is gone. */
export const SETTLE_MS = 2_000;
/** Number of files that are sent at once. Each is in memory. */
const SENT_MAX = 2;
/** Changes after which the state is written. */
const CHANGES_PER_WRITE = 20;
/** Waits before a file that failed is tried again. They double each time. */
const RETRY_FIRST_MS = 2_000;
const RETRY_LAST_MS = 300_000;
/** Memories that are being processed and are looked at in one pass. */
const LOOKED_AT_MAX = 50;

/** Options of a folder. */
export interface FolderOptions {
  /** Absolute path. */
  readonly root: string;
  readonly userId: string | null;
  /** Whether the memories of files that are gone are deleted. */
  readonly deletes: boolean;
  readonly statePath: string;
}

/** What a pass did, and what is left to do. */
export interface Pass {
  readonly files: number;
  readonly sent: number;
  readonly moved: number;
  readonly deleted: number;
  /** Files that are still being written, and files that failed and will be tried again. */
  readonly waiting: number;
  readonly failing: number;
  /** Memories of files that are gone and that stay. */
  readonly left: number;
}

/** Receives what people should know. */
export interface Report {
  /** Something about one file, or about the whole folder. */
  say(line: string): void;
  progress(done: number, total: number): void;
}

interface Failure {
  readonly attempts: number;
  readonly retryAt: number;
}

/** A folder and the memories of its files. */
export class FolderSync {
  /** When a file was first seen as it is. */
  readonly #seen = new Map<string, { readonly bytes: number; readonly mtimeMs: number; readonly at: number }>();
  /** When a file was first missed. */
  readonly #missed = new Map<string, number>();
  readonly #failures = new Map<string, Failure>();
  /** Memories that are being processed, with the paths of their files. */
  readonly #processing = new Map<string, string>();
  /** What was said of the folder last, so that it is said once. */
  #said = "";
  #unwritten = 0;

  constructor(
    private readonly options: FolderOptions,
    private readonly state: FolderState,
    private readonly uses: { readonly client: Client; readonly clock: Clock; readonly report: Report },
  ) {}

  /**
   * Looks at the folder once, and does what can be done. Errors of single files are reported, and never stop the rest.
   * @throws RequestRefused if the server refuses the key; Error if the server cannot be reached
   */
  async pass(signal?: AbortSignal): Promise<Pass> {
    const counts = { sent: 0, moved: 0, deleted: 0, waiting: 0, left: 0 };
    const found = await this.#look();
    if (found === null) return { files: 0, ...counts, failing: 0 };
    const gone = await this.#goneIn(found);
    const due = this.#dueIn(found, counts);
    let done = 0;
    const queue = due.values();
    const failures: unknown[] = [];
    const send = async () => {
      for (const file of queue) {
        if (signal?.aborted || failures.length > 0) return;
        try {
          const outcome = await this.#bring(file, gone);
          if (outcome !== null) counts[outcome]++;
          this.#failures.delete(file.path);
        } catch (error) {
          if (isFatal(error)) failures.push(error);
          else this.#fail(file.path, error);
        }
        this.uses.report.progress(++done, due.length);
        this.#noteChange();
      }
    };
    await Promise.all(Array.from({ length: SENT_MAX }, send));
    if (failures.length === 0 && !signal?.aborted) await this.#remove(gone, found, counts);
    this.#write();
    if (failures.length > 0) throw failures[0];
    await this.#lookAtProcessing();
    return { files: found.files.size, ...counts, failing: this.#failures.size };
  }

  /** The files; null if the folder cannot be read, or is not the one that is meant: nothing is done then. */
  async #look(): Promise<FoundFiles | null> {
    const { root } = this.options;
    const { stored, mounts } = this.state;
    try {
      const [own, parent] = [await lstat(join(root, ".")), await lstat(dirname(root))];
      const isMount = own.dev !== parent.dev;
      if (mounts.has("") && !isMount) return this.#sayOfFolder("is not mounted: waiting until it is");
      const found = await filesIn(root);
      if (found.files.size === 0 && stored.size > 0) {
        return this.#sayOfFolder("is empty, although files of it are stored: nothing is deleted");
      }
      this.#said = "";
      if (isMount) mounts.add("");
      for (const path of found.mounts) mounts.add(path);
      for (const [path, why] of found.unreadable) this.#sayOnce(path, `could not be read: ${why}`);
      return found;
    } catch (error) {
      return this.#sayOfFolder(`cannot be read, so nothing is changed: ${reasonOf(error)}`);
    }
  }

  #sayOfFolder(what: string): null {
    if (this.#said !== what) this.uses.report.say(`${this.options.root} ${what}`);
    this.#said = what;
    return null;
  }

  readonly #saidOf = new Map<string, string>();
  #sayOnce(path: string, what: string): void {
    if (this.#saidOf.get(path) === what) return;
    this.#saidOf.set(path, what);
    this.uses.report.say(`${path} ${what}`);
  }

  /** The stored files that are not there any more. A file that is only left out now is there. */
  async #goneIn({ files }: FoundFiles): Promise<Map<string, StoredFile>> {
    const gone = new Map<string, StoredFile>();
    for (const [path, file] of this.state.stored) {
      if (files.has(path)) this.#missed.delete(path);
      else if ((await lstat(join(this.options.root, path)).catch(nullIfAbsent)) === null) gone.set(path, file);
    }
    return gone;
  }

  /** The files to send now. Counts those that are still being written. */
  #dueIn({ files }: FoundFiles, counts: { waiting: number }): readonly FoundFile[] {
    const now = this.uses.clock.now();
    const due: FoundFile[] = [];
    for (const file of files.values()) {
      const { path, mtimeMs } = file;
      if (isSame(this.state.stored.get(path), file) || isSame(this.state.refused.get(path), file)) {
        this.#seen.delete(path);
        continue;
      }
      const failure = this.#failures.get(path);
      if (failure !== undefined && failure.retryAt > now) continue;
      const seen = this.#seen.get(path);
      if (!isSame(seen, file)) this.#seen.set(path, { ...file, at: now });
      const since = isSame(seen, file) && seen !== undefined ? seen.at : now;
      // a clock that is ahead on another machine must not make a file wait for ever
      if (now - mtimeMs >= SETTLE_MS || now - since >= SETTLE_MS) due.push(file);
      else counts.waiting++;
    }
    return due;
  }

  /** Stores a file. Returns null if the server has it already, or refuses it. */
  async #bring(file: FoundFile, gone: Map<string, StoredFile>): Promise<"sent" | "moved" | "waiting" | null> {
    const { path, bytes, mtimeMs } = file;
    const { stored, refused } = this.state;
    const refuse = (why: string) => {
      refused.set(path, { bytes, mtimeMs, why });
      this.uses.report.say(`${path} ${why}`);
      return null;
    };
    if (bytes === 0) return refuse("is empty");
    if (bytes > LIMITS.uploadBytes) return refuse(`has ${bytes} bytes; at most ${LIMITS.uploadBytes} can be sent`);
    const content = await contentOf(join(this.options.root, path), file);
    if (content === null) return "waiting"; // it changed while it was read
    refused.delete(path);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const known = stored.get(path);
    if (known?.sha256 === sha256) {
      stored.set(path, { ...known, bytes, mtimeMs });
      return null;
    }
    const moved = known === undefined ? await this.#move(file, sha256, gone) : false;
    if (moved) return "moved";
    try {
      const memory = await this.uses.client.sendForm("/v1/memories/upload", () => this.#formOf(path, content));
      if (typeof memory.id !== "string") throw new Error("was answered without a memory");
      stored.set(path, { id: memory.id, bytes, mtimeMs, sha256 });
      if (memory.status === "processing") this.#processing.set(memory.id, path);
      return "sent";
    } catch (error) {
      if (!(error instanceof RequestRefused) || !isFinal(error)) throw error;
      return refuse(`was refused: ${error.message}`);
    }
  }

  #formOf(path: string, content: Uint8Array<ArrayBuffer>): FormData {
    const { root, userId } = this.options;
    const form = new FormData();
    form.set("externalId", externalIdOf(root, path));
    form.set("metadata", JSON.stringify({ folder: basename(root), path }));
    if (userId !== null) form.set("userId", userId);
    form.set("file", new File([content], basename(path)));
    return form;
  }

  /** Gives the memory of a file that is gone to a new one with the same content. Returns false if there is none. */
  async #move({ path, bytes, mtimeMs }: FoundFile, sha256: string, gone: Map<string, StoredFile>): Promise<boolean> {
    const { root } = this.options;
    // another ending can be another format, so that the text differs
    const isMoved = ([old, file]: [string, StoredFile]) => file.sha256 === sha256 && extname(old) === extname(path);
    const before = [...gone].find(isMoved);
    if (before === undefined) return false;
    const [old, { id }] = before;
    gone.delete(old); // at once, because another file is sent at the same time
    const change = { externalId: externalIdOf(root, path), metadata: { folder: basename(root), path } };
    try {
      await this.uses.client.send("PUT", `/v1/memories/${id}`, change);
    } catch (error) {
      // the memory is gone, or another one has the new path: the file is sent
      if (error instanceof RequestRefused && (error.status === 404 || error.status === 409)) return false;
      gone.set(old, before[1]);
      throw error;
    }
    this.state.stored.delete(old);
    this.#missed.delete(old);
    this.state.stored.set(path, { id, bytes, mtimeMs, sha256 });
    return true;
  }

  /** Deletes the memories of files that are gone for long enough, if that is wanted and sure. */
  async #remove(
    gone: ReadonlyMap<string, StoredFile>,
    { unreadable, mounts }: FoundFiles,
    counts: { deleted: number; waiting: number; left: number },
  ): Promise<void> {
    const now = this.uses.clock.now();
    const lost = [...this.state.mounts].filter((path) => path !== "" && !mounts.includes(path));
    const isUnsure = (path: string) => [...lost, ...unreadable.keys()].some((each) => isWithin(path, each));
    for (const [path, { id }] of gone) {
      if (!this.options.deletes || isUnsure(path)) {
        counts.left++;
        continue;
      }
      const since = this.#missed.get(path) ?? now;
      this.#missed.set(path, since);
      if (now - since < SETTLE_MS) {
        counts.waiting++;
        continue;
      }
      try {
        await this.uses.client.send("DELETE", `/v1/memories/${id}`);
      } catch (error) {
        if (isFatal(error)) throw error;
        if (!(error instanceof RequestRefused && error.status === 404)) {
          this.#fail(path, error);
          continue;
        }
      }
      this.state.stored.delete(path);
      this.#missed.delete(path);
      this.#failures.delete(path);
      counts.deleted++;
      this.#noteChange();
    }
    for (const path of lost) this.#sayOnce(path, "is not mounted: nothing of it is deleted");
  }

  /** Names the files that were sent and could not be read. */
  async #lookAtProcessing(): Promise<void> {
    for (const [id, path] of [...this.#processing].slice(0, LOOKED_AT_MAX)) {
      this.#processing.delete(id);
      try {
        const memory = await this.uses.client.send("GET", `/v1/memories/${id}`);
        const error = isRecord(memory.error) ? String(memory.error.message) : "";
        if (memory.status === "failed") this.uses.report.say(`${path} was sent, but has no text: ${error}`);
        else if (memory.status === "processing") this.#processing.set(id, path);
      } catch (error) {
        if (isFatal(error)) throw error; // else it was deleted meanwhile
      }
    }
  }

  #fail(path: string, error: unknown): void {
    const attempts = (this.#failures.get(path)?.attempts ?? 0) + 1;
    const waitMs = Math.min(RETRY_LAST_MS, RETRY_FIRST_MS * 2 ** (attempts - 1));
    this.#failures.set(path, { attempts, retryAt: this.uses.clock.now() + waitMs });
    this.#sayOnce(path, `failed and will be tried again: ${reasonOf(error)}`);
  }

  #noteChange(): void {
    if (++this.#unwritten >= CHANGES_PER_WRITE) this.#write();
  }

  #write(): void {
    writeState(this.options.statePath, this.state);
    this.#unwritten = 0;
  }
}

/** `externalId` of the memory of a file: the same on every run, and another one in another folder. */
export function externalIdOf(root: string, path: string): string {
  const folder = createHash("sha256").update(root).digest("hex").slice(0, 12);
  const id = `folder:${folder}:${path}`;
  if ([...id].length <= LIMITS.callerIdCharacters) return id;
  return `folder:${folder}:${createHash("sha256").update(path).digest("hex")}`;
}

/** The content of a file; null if it is not as it was found, or became a link. */
async function contentOf(path: string, found: FoundFile): Promise<Uint8Array<ArrayBuffer> | null> {
  // a link that took the place of the file is not followed
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ELOOP") return null;
    return nullIfMissing(error);
  });
  if (file === null) return null;
  try {
    const before = await file.stat();
    if (!before.isFile() || !isSame({ bytes: before.size, mtimeMs: before.mtimeMs }, found)) return null;
    const content = new Uint8Array(before.size);
    let at = 0;
    while (at < content.length) {
      const { bytesRead } = await file.read(content, at, content.length - at, at);
      if (bytesRead === 0) return null;
      at += bytesRead;
    }
    const after = await file.stat();
    return isSame({ bytes: after.size, mtimeMs: after.mtimeMs }, found) ? content : null;
  } finally {
    await file.close();
  }
}

/** The message of an error, for people. */
function reasonOf(error: unknown): string {
  return systemErrorText(error) ?? (error instanceof Error ? error.message : String(error));
}

type Size = Pick<FoundFile, "bytes" | "mtimeMs">;

function isSame(known: Size | undefined, { bytes, mtimeMs }: Size): boolean {
  return known?.bytes === bytes && known.mtimeMs === mtimeMs;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** A path whose parent became a file does not exist either. */
function nullIfAbsent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return null;
  return nullIfMissing(error);
}

/** Whether nothing else can be done either: the key is refused, or the server does not answer. */
function isFatal(error: unknown): boolean {
  if (error instanceof RequestRefused) return error.status === 401 || error.status === 403 || error.status === 503;
  return error instanceof Error && error.message.startsWith("No answer from ");
}

/** Whether the same file will be refused again. Quotas can get room. */
function isFinal({ status }: RequestRefused): boolean {
  return status >= 400 && status < 500 && status !== 409 && status !== 429;
}
