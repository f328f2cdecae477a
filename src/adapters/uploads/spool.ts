// The folder of uploads: `incoming/` holds what arrives, the folder itself what memories refer to. What the files mean is
// the business of those who ask for them.

import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Log } from "../../kit/log.ts";
import type { IncomingFile, UploadFiles } from "../../ports/upload-files.ts";

/** A full disk is mended by a person. */
const FULL_DISK_RETRY_SECONDS = 60;

/**
 * Opens the folder, makes it when it is missing, and removes what arrived before and was never kept: whoever calls holds
 * the data directory.
 * @throws Error of the operating system when the folder cannot be made or read
 */
export function openSpool(directory: string, log: Log): UploadFiles {
  const incoming = join(directory, INCOMING);
  rmSync(incoming, { recursive: true, force: true });
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  return new Spool(directory, incoming, log);
}

const INCOMING = "incoming";

class Spool implements UploadFiles {
  constructor(
    private readonly directory: string,
    private readonly incoming: string,
    private readonly log: Log,
  ) {}

  async begin(): Promise<IncomingFile> {
    const path = join(this.incoming, crypto.randomUUID());
    // wx: a name is never used twice, and no link is followed
    const handle = await orFull(open(path, "wx", 0o600));
    return new SpooledFile(path, handle, this.log);
  }

  keep(path: string, name: string): void {
    try {
      renameSync(path, this.pathOf(name));
      // both folders: after a power cut the file is in its place, and not in the other as well
      for (const folder of [this.directory, this.incoming]) syncFolder(folder);
    } catch (error) {
      throw fullOr(error);
    }
  }

  pathOf(name: string): string {
    invariant(name === basename(name) && name !== "" && name !== INCOMING, `an upload was to lie at "${name}"`);
    return join(this.directory, name);
  }

  remove(name: string): void {
    const path = this.pathOf(name);
    rm(path, { force: true }).catch((err: unknown) => {
      this.log.warn({ err, name }, "the file of an upload could not be removed; the next start tries again");
    });
  }

  names(): readonly string[] {
    return readdirSync(this.directory).filter((name) => name !== INCOMING);
  }
}

class SpooledFile implements IncomingFile {
  #isOpen = true;

  constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly log: Log,
  ) {}

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength; ) {
      at += (await orFull(this.handle.write(bytes, at))).bytesWritten;
    }
  }

  async end(): Promise<void> {
    await orFull(this.handle.sync());
    await this.#close();
  }

  async discard(): Promise<void> {
    try {
      await this.#close();
      await rm(this.path, { force: true });
    } catch (err) {
      this.log.warn({ err }, "an upload that was not kept could not be removed; the next start tries again");
    }
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.handle.close();
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

async function orFull<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw fullOr(error);
  }
}

// A full disk is nobody's mistake and passes; everything else is the server's own trouble.
function fullOr(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new Fault("overloaded", "The server's disk is full. Nothing of this request was stored; try again later.", {
    retryAfterSeconds: FULL_DISK_RETRY_SECONDS,
    cause: error,
  });
}
