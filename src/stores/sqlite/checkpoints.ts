// Checkpoints of mneme.sqlite: when the log is merged into the main file, and the page sums that are written before.
// SQLite's own checkpoints are switched off for every connection, so that no page of the main file changes without its
// sum. Only the process that holds the lock of the data directory makes checkpoints.

import { closeSync, fsyncSync, openSync, statSync } from "node:fs";
import type { Log } from "../../kit/log.ts";
import { clearLeftovers } from "./page-gaps.ts";
import { PageSums } from "./page-sums.ts";
import { readWal } from "./wal.ts";

/**
 * Size in bytes above which the log is merged. SQLite's default is 4 MB. A larger one saves syncs of the disk, but each
 * checkpoint blocks this thread for longer, and the log must fit into the space that is kept for deletions.
 */
export const WAL_BYTES_MAX = 6 * 1024 * 1024;
/** The size of the log is checked after this number of commits, because the check is a system call. */
const CHECK_COMMITS = 8;

/** Size in bytes below which a log counts as empty: one commit writes a few pages. */
const EMPTY_BYTES_MAX = 64 * 1024;

/** What checkpoints of one database need. */
export interface CheckpointOptions {
  /** Path of the database file. */
  readonly path: string;
  readonly sums: PageSums;
  /** Merges the log as far as readers allow, on a connection of its own. */
  readonly mergeLog: () => void;
  readonly log: Log;
}

/** Makes checkpoints of one database. */
export class Checkpoints {
  #commits = 0;
  /** The log is not merged again before it is larger than this: readers may have kept a checkpoint from ending. */
  #dueBytes = WAL_BYTES_MAX;
  /**
   * The main file. It stays open until SQLite has closed its own handles, because closing any handle of the file
   * releases SQLite's locks.
   */
  readonly #file: number;

  constructor(private readonly parts: CheckpointOptions) {
    this.#file = openSync(parts.path, "r+");
  }

  /** Closes the file. SQLite must not have it open in this process any more. */
  close(): void {
    closeSync(this.#file);
  }

  /** Counts a commit. Returns whether a checkpoint is due. */
  countCommit(): boolean {
    this.#commits += 1;
    if (this.#commits % CHECK_COMMITS !== 0) return false;
    const walBytes = this.#walBytes();
    if (walBytes <= WAL_BYTES_MAX) this.#dueBytes = WAL_BYTES_MAX;
    return walBytes > this.#dueBytes;
  }

  /**
   * Writes the sums of the pages in the log, merges the log, then clears the unused bytes of its pages. The caller
   * holds SQLite's write lock, so that no process adds pages between the steps. A failure, for example because the disk
   * is full, is no error: the log is durable, and a later checkpoint merges it.
   */
  run(): void {
    const { path, sums, mergeLog, log } = this.parts;
    try {
      const wal = readWal(`${path}-wal`, { isTrusted: true });
      sums.apply(wal);
      sums.write(sumsPath(path));
      mergeLog();
      clearLeftovers(this.#file, sums.pageSize, wal.withLeftovers);
    } catch (err) {
      log.warn({ err, path }, "the log of the SQLite file could not be merged; trying again later");
    }
    this.#dueBytes = this.#walBytes() + WAL_BYTES_MAX;
  }

  /** Number of pages of the main file. */
  get pages(): number {
    return this.parts.sums.pages;
  }

  /**
   * Numbers of the damaged pages in a range, end exclusive. Pages that are in the log are not compared, because SQLite
   * reads them from there.
   */
  damagedIn(first: number, end: number): readonly number[] {
    const { path, sums } = this.parts;
    const damaged = sums.damagedIn(this.#file, first, end);
    if (damaged.length === 0) return damaged;
    const wal = readWal(`${path}-wal`, { isTrusted: true });
    return damaged.filter((page) => !wal.sums.has(page));
  }

  /** Makes durable that unused bytes were cleared. Without it, a crash of the machine may undo that. */
  sync(): void {
    fsyncSync(this.#file);
  }

  /**
   * Computes all sums again, because another process wrote something between a checkpoint and the end of this process.
   * SQLite must not have the file open in this process.
   */
  rewriteSums(): void {
    const { path, sums } = this.parts;
    sums.replace(PageSums.of(path));
    sums.write(sumsPath(path));
  }

  /** Whether the log has no more than the few pages of a small commit. */
  get isLogEmpty(): boolean {
    return this.#walBytes() < EMPTY_BYTES_MAX;
  }

  #walBytes(): number {
    return statSync(`${this.parts.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}

/** Path of the file with the page sums of a database. */
export function sumsPath(path: string): string {
  return `${path}-sums`;
}
