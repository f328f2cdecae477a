// Whether the disk of the stores is full, and how deletions still get the space that they need.

import type { Fault } from "../domain/fault.ts";

/** The disk of the stores. On a full disk only what reads or deletes is done. */
export interface DiskSpace {
  readonly isFull: boolean;
  /** The Fault of requests that are refused while the disk is full. */
  readonly fault: Fault;
  /** Frees space for deletions if `error` is a store's error about a full disk. Returns whether that made room. */
  makeRoom(error: unknown): boolean;
}
