// Errors of store files, with messages that tell the operator what to do. Callers never see these messages, because
// they contain paths. Mistakes of callers are Faults (domain/fault.ts).

import { type Fault, faultOfClosedStore, faultOfFullDisk } from "../domain/fault.ts";

/**
 * damaged: the content of the file is invalid. lost: the file lacks something that was stored, or it is not the one
 * that belongs here. read_only: the file cannot be written. no_space: disk or quota is full.
 * newer_version: a newer version of Mneme wrote it. other_model: it belongs to a model that is not installed. locked:
 * another process uses it. closed: its data is being moved and cannot be changed. io: any other error of the operating
 * system.
 */
export type StoreErrorCode =
  | "damaged"
  | "lost"
  | "read_only"
  | "no_space"
  | "newer_version"
  | "other_model"
  | "locked"
  | "closed"
  | "io";

/** A store's file cannot be used. `message` is one sentence that names the file and what to do about it. */
export class StoreError extends Error {
  override readonly name = "StoreError";

  constructor(
    readonly code: StoreErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/**
 * Returns the Fault for a full disk, and for a store that is closed to changes: a repeated request may succeed later.
 * Returns null for other errors, whose details callers must not see.
 */
export function faultOfStore(error: unknown): Fault | null {
  if (!(error instanceof StoreError)) return null;
  if (error.code === "closed") return faultOfClosedStore(error);
  return error.code === "no_space" ? faultOfFullDisk(error) : null;
}

/** The codes whose message depends on nothing but the path. */
export type StoreFileCode = Exclude<StoreErrorCode, "lost" | "newer_version" | "other_model">;

const WHAT_TO_DO: Readonly<Record<StoreFileCode, string>> = {
  damaged: "is damaged or not a database: restore a backup with `mneme restore`; `mneme verify` shows more.",
  read_only: "cannot be written: give this user the right to write to the file and its folder.",
  no_space: "could not grow because the disk is full: free some space, then try again.",
  closed: "is closed, because its data is being moved or was moved: `mneme migrate --reopen` opens it again.",
  locked: "is in use by another process: end that process, or give this one a data folder of its own.",
  io: "could not be opened, read or written: check that its folder exists and that the disk is sound.",
};

/** Creates the error with this code for the file at `path`. */
export function storeError(code: StoreFileCode, path: string, cause?: unknown): StoreError {
  return new StoreError(code, `${path} ${WHAT_TO_DO[code]}`, cause);
}

/**
 * The error for a store that has lost something.
 * @param what what is missing, as the rest of a sentence about the file
 */
export function lossError(path: string, what: string): StoreError {
  return new StoreError(
    "lost",
    `${path} ${what}. Nothing was changed. Put the missing files back, or restore a backup with \`mneme restore\`; ` +
      "`mneme verify` shows more, and `--accept-loss` starts with what is left.",
  );
}

/**
 * Refuses a file that a newer version of Mneme wrote.
 * @throws StoreError `newer_version` if `found` is above `known`
 */
export function refuseNewerVersion(path: string, found: number, known: number): void {
  if (found <= known) return;
  throw new StoreError(
    "newer_version",
    `${path} has schema version ${found}, but this version of Mneme supports at most ${known}: start a newer version of Mneme.`,
  );
}
