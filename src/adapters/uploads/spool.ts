// UploadFiles in a folder. The folder has the kept files, and its subfolder `incoming/` the files that are still
// arriving.

import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { faultOfFullDisk, invariant } from "../../domain/fault.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";
import { completeBytes, PiecedText, utf8Piece } from "../../kit/pieced-text.ts";
import { syncFolder } from "../../kit/sync-folder.ts";
import type { IncomingFile, TextFile, UploadFiles } from "../../ports/upload-files.ts";

/** Size of the pieces in which a text is read. */
const READ_BYTES = 1024 * 1024;

/**
 * Opens or creates the folder, and removes incoming files of earlier runs. The caller must hold the lock of the data
 * directory.
 * @throws Error of the operating system if the folder cannot be created or read
 */
export function openSpool(
  directory: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): HoldableFiles {
  const incoming = join(directory, INCOMING);
  rmSync(incoming, { recursive: true, force: true });
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  return new Spool(directory, incoming, clock, log);
}

const INCOMING = "incoming";

/** Maximum number of files that are remembered because they could not be removed; the next start removes the others. */
const NOT_REMOVED_MAX = 10_000;

/** Uploaded files whose removal can be postponed, so that they can be copied. */
export interface HoldableFiles extends UploadFiles {
  /** Postpones all removals until the returned function is called. */
  hold(): () => Promise<void>;
}

class Spool implements HoldableFiles {
  #holders = 0;
  /** Names of files to remove when nobody holds them any more. */
  readonly #postponed = new Set<string>();
  /** Paths of files that could not be removed. */
  readonly #notRemoved = new Set<string>();

  constructor(
    private readonly directory: string,
    private readonly incoming: string,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async begin(): Promise<IncomingFile> {
    const path = join(this.incoming, crypto.randomUUID());
    // wx: the call fails if the name exists, even as a symbolic link
    const handle = await withDiskFault(open(path, "wx", 0o600));
    return new SpooledFile(path, handle, () => this.#removeAt(path));
  }

  async keep(path: string): Promise<string> {
    const name = basename(path);
    try {
      await rename(path, this.pathOf(name));
      // syncs both folders, so that even after a power cut the file is only in its new place
      for (const folder of [this.directory, this.incoming]) await syncFolder(folder);
    } catch (error) {
      throw diskFaultOf(error);
    }
    return name;
  }

  pathOf(name: string): string {
    invariant(name === basename(name) && name !== "" && name !== INCOMING, `"${name}" is not the name of a kept file`);
    return join(this.directory, name);
  }

  async fetch(name: string): Promise<string> {
    return this.pathOf(name);
  }

  async readText({ name, sha256 }: TextFile): Promise<PiecedText | "missing" | "damaged"> {
    const file = await open(this.pathOf(name), "r").catch(nullIfMissing);
    if (file === null) return "missing";
    try {
      const hash = createHash("sha256");
      const pieces: ReturnType<typeof utf8Piece>[] = [];
      let cut: Uint8Array = new Uint8Array(); // first bytes of a character whose end is in the next piece
      for (let bytes = 0; ; ) {
        const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
        buffer.set(cut);
        const { bytesRead } = await file.read(buffer, cut.length, READ_BYTES - cut.length, null);
        if (bytesRead === 0) {
          if (cut.length > 0) pieces.push(utf8Piece(cut));
          return hash.digest("hex") === sha256 ? new PiecedText(pieces, bytes) : "damaged";
        }
        const filled = buffer.subarray(0, cut.length + bytesRead);
        hash.update(filled.subarray(cut.length));
        bytes += bytesRead;
        const complete = completeBytes(filled);
        cut = Uint8Array.from(filled.subarray(complete));
        const piece = filled.subarray(0, complete);
        pieces.push(utf8Piece(complete < READ_BYTES / 2 ? Uint8Array.from(piece) : piece));
      }
    } finally {
      await file.close();
    }
  }

  hold(): () => Promise<void> {
    this.#holders += 1;
    let isHeld = true;
    return async () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders -= 1;
      if (this.#holders > 0) return;
      const postponed = [...this.#postponed];
      this.#postponed.clear();
      for (const name of postponed) await this.remove(name);
    };
  }

  async remove(name: string): Promise<void> {
    if (this.#holders > 0) {
      this.#postponed.add(name); // if the process ends before, the next start removes what no row refers to
      return;
    }
    await this.#removeAt(this.pathOf(name));
  }

  async removeAgain(): Promise<void> {
    if (this.#holders > 0) return;
    const paths = [...this.#notRemoved];
    this.#notRemoved.clear();
    for (const path of paths) await this.#removeAt(path);
  }

  async #removeAt(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (err) {
      if (this.#notRemoved.size < NOT_REMOVED_MAX) this.#notRemoved.add(path);
      this.log.warn({ err, name: basename(path) }, "an uploaded file could not be removed; the next sweep tries again");
    }
  }

  async names(ageMs: number): Promise<readonly string[]> {
    const names = (await readdir(this.directory)).filter((name) => name !== INCOMING);
    if (ageMs <= 0) return names;
    const writtenBefore = this.clock.now() - ageMs;
    const old: string[] = [];
    for (const name of names) {
      const file = await stat(this.pathOf(name)).catch(nullIfMissing);
      if (file !== null && file.mtimeMs <= writtenBefore) old.push(name);
    }
    return old;
  }
}

class SpooledFile implements IncomingFile {
  #isOpen = true;

  constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly remove: () => Promise<void>,
  ) {}

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength; ) {
      at += (await withDiskFault(this.handle.write(bytes, at))).bytesWritten;
    }
  }

  async end(): Promise<void> {
    await withDiskFault(this.handle.sync());
    await this.#close();
  }

  async discard(): Promise<void> {
    // closing may report a write that failed earlier; the file is closed nevertheless, and nobody needs its content
    await Promise.allSettled([this.#close()]);
    await this.remove();
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.handle.close();
  }
}

async function withDiskFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw diskFaultOf(error);
  }
}

// A full disk is temporary, so the caller gets a Fault. Other errors are internal.
function diskFaultOf(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT" ? faultOfFullDisk(error) : error;
}
