// Synchronises Mneme with a folder. A `pass` sends new and changed files, gives the memories of moved files their new
// path, and, if that is wanted, deletes the memories of files that are gone. Repeating a pass changes nothing.

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { LIMITS } from "../../domain/limits.ts";
import type { Clock } from "../../kit/clock.ts";
import { errorMessage } from "../../kit/error-message.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";
import { isRecord } from "../../kit/record.ts";
import { systemErrorText } from "../../kit/system-error.ts";
import { type Client, RequestRefused } from "../client.ts";
import { type FolderState, type StoredFile, writeState } from "./state.ts";
import { type FoundFile, type FoundFiles, filesIn } from "./walk.ts";

/**
 * Time in milliseconds for which a file must be unchanged before it is sent, and gone before its memory is deleted: a
 * program may be replacing it.
 */
export const SETTLE_MS = 2_000;
/** Number of files that are sent at the same time. Each is completely in memory. */
const SENT_MAX = 2;
/** Number of changes after which the state file is written. */
const CHANGES_PER_WRITE = 20;
/** First and longest wait, in milliseconds, before a file that failed is tried again. The wait doubles each time. */
const RETRY_FIRST_MS = 2_000;
const RETRY_LAST_MS = 300_000;
/** Maximum number of memories in status `processing` that are looked at in one pass. */
const LOOKED_AT_MAX = 50;

/** Options of a synchronised folder. */
export interface FolderOptions {
  /** Absolute path. */
  readonly root: string;
  readonly userId: string | null;
  /** Whether the memories of files that are gone are deleted. */
  readonly deletes: boolean;
  readonly statePath: string;
}

/** Numbers of files by what a pass did with them, or left to do. */
export interface Pass {
  readonly files: number;
  readonly sent: number;
  readonly moved: number;
  readonly deleted: number;
  /** Files that may still be changing. */
  readonly waiting: number;
  /** Files that failed, and will be tried again. */
  readonly failing: number;
  /** Files that are gone, and whose memories stay. */
  readonly left: number;
}

/** Shows messages and progress. */
export interface Report {
  /** Shows a line about one file, or about the whole folder. */
  say(line: string): void;
  progress(done: number, total: number): void;
}

interface Failure {
  readonly attempts: number;
  readonly retryAt: number;
}

/** What the synchronisation calls. */
export interface FolderDependencies {
  readonly client: Client;
  readonly clock: Clock;
  readonly report: Report;
  /** How the file system looks up a stored path, whose case or Unicode form it may disregard. Default: lstat. */
  readonly lookUp?: (path: string) => Promise<unknown>;
}

/** A folder and the memories of its files. */
export class FolderSync {
  /** Files whose present state is not stored, and when this state was first seen. */
  readonly #seen = new Map<string, { readonly bytes: number; readonly mtimeMs: number; readonly at: number }>();
  /** Times at which files were first found to be gone. */
  readonly #missed = new Map<string, number>();
  readonly #failures = new Map<string, Failure>();
  /** Memories that are being processed, with the paths of their files. */
  readonly #processing = new Map<string, string>();
  /** The last message about the folder, which is not repeated. */
  #said = "";
  #unwritten = 0;

  constructor(
    private readonly options: FolderOptions,
    private readonly state: FolderState,
    private readonly uses: FolderDependencies,
  ) {}

  /**
   * Looks at the folder once, and does what can be done. Errors of single files are reported, and never stop the rest.
   * @throws RequestRefused if the server refuses the key or stays busy; Error if it cannot be reached
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

  /**
   * Lists the files. Returns null, so that nothing is done, if the folder cannot be read, is empty although files of it
   * are stored, or is not mounted although it was a mount point before.
   */
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

  /** The stored files that no longer exist. A file that exists, but is now ignored, is not among them. */
  async #goneIn({ files }: FoundFiles): Promise<GoneFiles> {
    const { root } = this.options;
    const { lookUp = lstat } = this.uses;
    const gone = new GoneFiles();
    const names = new Map<string, Promise<ReadonlySet<string> | null>>();
    for (const [path, file] of this.state.stored) {
      if (files.has(path)) this.#missed.delete(path);
      else if ((await lookUp(join(root, path)).catch(nullIfAbsent)) === null) gone.set(path, file);
      else if (!(await this.#isListed(path, names))) gone.set(path, file);
    }
    return gone;
  }

  /**
   * Whether the folders on the way to a file that was found list the names in its path exactly. If not, the file was
   * renamed: some file systems find `A.md` as `a.md` too, or one Unicode form of a name by the other. A folder that
   * cannot be listed counts as one that lists them.
   * @param names the names in the folders that were listed so far in this pass; null for one that cannot be listed
   */
  async #isListed(path: string, names: Map<string, Promise<ReadonlySet<string> | null>>): Promise<boolean> {
    const steps = path.split("/");
    for (const [at, name] of steps.entries()) {
      const folder = join(this.options.root, ...steps.slice(0, at));
      const listed =
        names.get(folder) ??
        readdir(folder).then(
          (found) => new Set(found),
          () => null,
        );
      names.set(folder, listed);
      if ((await listed)?.has(name) === false) return false;
    }
    return true;
  }

  /** The files to send now. Counts those that may still be changing. */
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

  /** Stores a file. Returns how; `waiting` if it changed while it was read; null if it is stored already or refused. */
  async #bring(file: FoundFile, gone: GoneFiles): Promise<"sent" | "moved" | "waiting" | null> {
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
    // a file that was renamed and changed keeps its memory, and is sent
    const moved = known === undefined ? await this.#move(file, sha256, gone) : null;
    if (moved?.sha256 === sha256) return "moved";
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

  /**
   * Gives the memory of a file that is gone to this one: of a file with the same content, or of one whose name differs
   * only by case or Unicode form. Returns the file that is gone; null if there is none, or its memory is gone, too, or
   * another memory has the new path.
   */
  async #move({ path, bytes, mtimeMs }: FoundFile, sha256: string, gone: GoneFiles): Promise<StoredFile | null> {
    const { root } = this.options;
    const before = gone.movedTo(path, sha256);
    if (before === null) return null;
    const [old, file] = before;
    gone.delete(old); // at once, because another file is sent at the same time
    const change = { externalId: externalIdOf(root, path), metadata: { folder: basename(root), path } };
    try {
      await this.uses.client.send("PUT", `/v1/memories/${file.id}`, change);
    } catch (error) {
      // the memory is gone, or another one has the new path: the file is sent
      if (error instanceof RequestRefused && (error.status === 404 || error.status === 409)) return null;
      gone.set(old, file);
      throw error;
    }
    this.state.stored.delete(old);
    this.#missed.delete(old);
    this.state.stored.set(path, file.sha256 === sha256 ? { ...file, bytes, mtimeMs } : file);
    return file;
  }

  /**
   * Deletes the memories of files that are gone for `SETTLE_MS`, if that is wanted. Files below a folder that is
   * unreadable or no longer mounted are kept, and so are those that have another name by now and are not sent yet.
   */
  async #remove(
    gone: ReadonlyMap<string, StoredFile>,
    { files, unreadable, mounts }: FoundFiles,
    counts: { deleted: number; waiting: number; left: number },
  ): Promise<void> {
    const now = this.uses.clock.now();
    const lost = [...this.state.mounts].filter((path) => path !== "" && !mounts.includes(path));
    const isUnsure = (path: string) => [...lost, ...unreadable.keys()].some((each) => isWithin(path, each));
    const { stored, refused } = this.state;
    const unsent = new Set([...files.keys()].filter((path) => !stored.has(path) && !refused.has(path)).map(folded));
    for (const [path, { id }] of gone) {
      if (!this.options.deletes || isUnsure(path)) {
        counts.left++;
        continue;
      }
      if (unsent.has(folded(path))) continue;
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

  /** Looks at sent files that are still being processed, and shows those whose text could not be read. */
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
  return systemErrorText(error) ?? errorMessage(error);
}

/** Stored files that no longer exist, by path. */
class GoneFiles extends Map<string, StoredFile> {
  /** Paths by their `folded` form. */
  readonly #byName = new Map<string, string>();

  override set(path: string, file: StoredFile): this {
    this.#byName.set(folded(path), path);
    return super.set(path, file);
  }

  /** The file that probably became the one at this path; null if there is none. */
  movedTo(path: string, sha256: string): readonly [path: string, file: StoredFile] | null {
    const name = this.#byName.get(folded(path));
    const renamed = name === undefined ? undefined : this.get(name);
    if (name !== undefined && renamed?.sha256 === sha256) return [name, renamed];
    // with another extension, the same bytes may be another format, with another text
    const extension = folded(extname(path));
    for (const [old, file] of this) {
      if (file.sha256 === sha256 && folded(extname(old)) === extension) return [old, file];
    }
    return name === undefined || renamed === undefined ? null : [name, renamed];
  }
}

/** A path in the form that it shares with those that differ from it only by case or Unicode form. */
function folded(path: string): string {
  return path.normalize("NFC").toLowerCase().normalize("NFC");
}

type Size = Pick<FoundFile, "bytes" | "mtimeMs">;

function isSame(known: Size | undefined, { bytes, mtimeMs }: Size): boolean {
  return known?.bytes === bytes && known.mtimeMs === mtimeMs;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Like `nullIfMissing`; also for a path below a file, which does not exist either. */
function nullIfAbsent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return null;
  return nullIfMissing(error);
}

/** Whether further requests would fail, too: the key is refused, or the server stays busy or does not answer. */
function isFatal(error: unknown): boolean {
  if (error instanceof RequestRefused) return error.status === 401 || error.status === 403 || error.status === 503;
  return error instanceof Error && error.message.startsWith("No answer from ");
}

/** Whether the server would refuse the same file again. Not so for a conflict or a quota, which may pass. */
function isFinal({ status }: RequestRefused): boolean {
  return status >= 400 && status < 500 && status !== 409 && status !== 429;
}
