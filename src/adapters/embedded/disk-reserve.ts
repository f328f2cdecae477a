// Keeps space on the disk for deletions. A deletion writes to logs, so it would fail on a full disk, and no space could
// ever be freed over the API. A file of a few megabytes keeps that space, and is removed when the disk is full.

import { closeSync, existsSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { type Fault, faultOfFullDisk } from "../../domain/fault.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { DiskSpace } from "../../ports/disk-space.ts";
import { StoreError, storeError } from "../../stores/store-error.ts";

const MiB = 1024 * 1024;
/** Size of the reserve in bytes: the logs of more than a hundred deletions, until SQLite merges its log. */
const RESERVE_BYTES = 8 * MiB;
/** The disk counts as full below this number of free bytes, before a write fails in the middle of other work. */
const FREE_BYTES_MIN = 2 * MiB;
/** The disk has space again when this much is free besides the reserve, so that the state does not change at once. */
const FREE_BYTES_AGAIN = 8 * MiB;
/** Milliseconds between two looks at the free space. */
const LOOK_EVERY_MS = 1_000;

/** The reserve of a data directory, and whether its disk is full. */
export class DiskReserve implements DiskSpace {
  readonly #path: string;
  readonly #log: Log;
  #isFull = false;

  /** `path` is the reserve's file, in the data directory. */
  constructor({ path, log }: { readonly path: string; readonly log: Log }) {
    this.#path = path;
    this.#log = log;
    if (this.#freeBytes() < FREE_BYTES_MIN) this.#giveUp();
    else if (!this.#isComplete()) this.#take();
  }

  /** Whether new data is refused. Deletions may use the space that the reserve had. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The Fault for requests that store something while the disk is full. */
  get fault(): Fault {
    return faultOfFullDisk(undefined, "reading, searching and deleting still work");
  }

  /** Gives up the reserve if `error` is a store's error about a full disk. Returns whether that made room. */
  makeRoom(error: unknown): boolean {
    return error instanceof StoreError && error.code === "no_space" && this.#giveUp();
  }

  /** Looks at the free space every second. Returns a function that stops this. */
  watch(clock: Clock): () => Promise<void> {
    const stop = new AbortController();
    const loop = async () => {
      while (!stop.signal.aborted) {
        await clock.sleep(LOOK_EVERY_MS, stop.signal);
        if (!stop.signal.aborted) this.#look();
      }
    };
    const ended = loop();
    return () => {
      stop.abort();
      return ended;
    };
  }

  #look(): void {
    try {
      const free = this.#freeBytes();
      if (!this.#isFull && free < FREE_BYTES_MIN) this.#giveUp();
      else if (this.#isFull && free >= RESERVE_BYTES + FREE_BYTES_AGAIN) this.#take();
    } catch (err) {
      this.#log.warn({ err, path: this.#path }, "the free space of the disk could not be looked up");
    }
  }

  #giveUp(): boolean {
    const wasThere = existsSync(this.#path);
    rmSync(this.#path, { force: true });
    if (!this.#isFull) {
      this.#log.warn({ path: this.#path }, "the disk is full: new data is refused until some megabytes are free");
    }
    this.#isFull = true;
    return wasThere;
  }

  /** Writes the reserve. On a disk without enough space, the disk counts as full. */
  #take(): void {
    // Random bytes, because a file system may store others in less space.
    const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(64 * 1024)));
    let file: number | null = null;
    try {
      file = openSync(this.#path, "w", 0o600);
      for (let written = 0; written < RESERVE_BYTES; written += writeSync(file, bytes));
    } catch (error) {
      if (!isNoSpace(error)) throw storeError("io", this.#path, error);
      this.#giveUp();
      return;
    } finally {
      if (file !== null) closeSync(file);
    }
    if (this.#isFull) this.#log.info({ path: this.#path }, "the disk has space again: new data is accepted");
    this.#isFull = false;
  }

  #isComplete(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return bavail * bsize;
  }
}

function isNoSpace(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
