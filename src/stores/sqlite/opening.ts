// Looks for lost commits and damaged pages of mneme.sqlite before it is opened for writing, and refuses to open it if
// there are any. SQLite itself drops the rest of a damaged log without a word, and cannot see a damaged page.

import { renameSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { counted } from "../../kit/counted.ts";
import type { Log } from "../../kit/log.ts";
import { isMissingOrEmpty } from "../../kit/missing-files.ts";
import { lossError, StoreError } from "../store-error.ts";
import type { StoreQuarantine } from "../store-quarantine.ts";
import { sumsPath } from "./checkpoints.ts";
import { readWitness, type Witnessed } from "./commit-witness.ts";
import { PageSums } from "./page-sums.ts";
import { EMPTY_WAL, readWal } from "./wal.ts";

/** What the process that holds the lock of the data directory may do with a damaged file. */
export interface Ownership {
  readonly log: Log;
  readonly quarantine: StoreQuarantine;
  /** Whether to open a file that has lost data, instead of refusing to. */
  readonly acceptsLoss: boolean;
}

/** The table `store` of a file. */
export interface FileIdentity {
  readonly storeId: string;
  readonly commits: number;
}

/** Reads the table `store` of a file without changing the file; null if a version without that table wrote it. */
export type Identify = () => FileIdentity | null;

/** Result of the inspection of a file that may be opened. */
export interface Inspected {
  /** The sums of the main file; null for a process that makes no checkpoints. */
  readonly sums: PageSums | null;
  /** Commits have been acknowledged up to this number. It is above the file's own number after an accepted loss. */
  readonly commitsMin: number;
  /** Whether the content has to be checked, because there is no sum of at least one page. */
  readonly isUnproven: boolean;
}

/** Path of the witness of a database. */
export function witnessPath(path: string): string {
  return `${path}-commits`;
}

/**
 * Compares a file with its witness and, for its owner, with its page sums.
 * @throws StoreError `lost` or `damaged` if the file has lost commits or is damaged, unless the owner accepts that
 */
export function inspect(path: string, ownership: Ownership | null, identify: Identify): Inspected {
  // read before the number in the file: another process may commit in between
  const witness = readWitness(witnessPath(path));
  if (isMissingOrEmpty(path)) {
    if (witness.state === "read" && witness.commits > 0) {
      throw lossError(path, `is missing or empty, but ${counted(witness.commits, "commit")} went into it`);
    }
    return { sums: null, commitsMin: 0, isUnproven: false };
  }
  if (ownership === null) {
    const identity = identify();
    const loss = lossOf(identity, witness);
    if (loss !== null) throw lossError(path, loss);
    return { sums: null, commitsMin: identity?.commits ?? 0, isUnproven: false };
  }
  return inspectOwn(path, ownership, witness, identify);
}

function inspectOwn(
  path: string,
  { log, quarantine, acceptsLoss }: Ownership,
  witness: Witnessed,
  identify: Identify,
): Inspected {
  let wal = readWal(`${path}-wal`, { isTrusted: false });
  const known = PageSums.read(sumsPath(path));
  let sums = known ?? PageSums.of(path);
  let identity = identify();
  let loss = lossOf(identity, witness);
  if (loss !== null && known !== null && setLogAside(path, known, witness, quarantine, identify)) {
    log.warn({ path }, "a damaged log was moved to the quarantine; nothing of it was needed");
    wal = readWal(`${path}-wal`, { isTrusted: false });
    identity = identify();
    loss = null;
  }
  const { damaged, unknown, withLeftovers } = (known ?? sums).compare(path, wal);
  const pages = damaged.length === 0 ? null : damagedPages(damaged);
  if (loss !== null || pages !== null) {
    const what = [loss, pages].filter((part) => part !== null).join(", and ");
    if (!acceptsLoss) throw lossError(path, what);
    quarantine.copy(path, `${path}-wal`, witnessPath(path), sumsPath(path));
    log.error({ path, quarantine: quarantine.directory }, `accepted loss: ${basename(path)} ${what}`);
    sums.replace(PageSums.of(path));
  }
  if (pages === null) sums.clear(path, withLeftovers); // a checkpoint did so, but a crash may have undone it
  if (sums.isOutdated) {
    rmSync(sumsPath(path)); // if this process ends now, the next one computes all sums again
    sums = PageSums.of(path);
  }
  const isTracked = identity !== null;
  if (isTracked && witness.state !== "read") {
    log.warn({ path: witnessPath(path) }, `the file was ${witness.state}; it is written again`);
  }
  if (isTracked && (known === null || unknown > 0)) {
    log.warn({ path: sumsPath(path) }, "checksums of pages were missing or damaged; they are computed again");
    if (unknown > 0 && pages === null) sums.replace(PageSums.of(path));
  }
  if (sums.isChanged) sums.write(sumsPath(path));
  const commits = identity?.commits ?? 0;
  return {
    sums,
    commitsMin: Math.max(commits, witness.state === "read" ? witness.commits : 0),
    isUnproven: pages !== null || (isTracked && (known === null || unknown > 0)),
  };
}

/** Describes the commits that the file lacks, as the end of a sentence; null if it lacks none. */
function lossOf(identity: FileIdentity | null, witness: Witnessed): string | null {
  if (witness.state !== "read") return null;
  if (identity === null) {
    return witness.commits === 0 ? null : `is an older copy: ${counted(witness.commits, "later commit")} is missing`;
  }
  if (identity.storeId !== witness.storeId) {
    throw new StoreError(
      "lost",
      "mneme.sqlite and mneme.sqlite-commits belong to different data directories: put the right files back.",
    );
  }
  const missing = witness.commits - identity.commits;
  if (missing <= 0) return null;
  return `lacks its last ${counted(missing, "commit")} of ${witness.commits}: its log was removed, cut or damaged, or it is an older copy`;
}

function damagedPages(pages: readonly number[]): string {
  const first = pages.slice(0, 5).join(", ");
  return `${counted(pages.length, "page")} of its main file changed or got lost (page ${first}${pages.length > 5 ? ", …" : ""})`;
}

/**
 * Moves the log into the quarantine if the main file has everything without it: all pages have their sums, and the last
 * commit is the one that was acknowledged. Otherwise changes nothing and returns false.
 */
function setLogAside(
  path: string,
  sums: PageSums,
  witness: Witnessed,
  quarantine: StoreQuarantine,
  identify: Identify,
): boolean {
  const log = `${path}-wal`;
  if (isMissingOrEmpty(log) || sums.compare(path, EMPTY_WAL).damaged.length > 0) return false;
  const aside = `${log}-aside`;
  renameSync(log, aside);
  rmSync(`${path}-shm`, { force: true });
  const isWhole = isIntact(identify) && lossOf(identify(), witness) === null;
  rmSync(`${path}-shm`, { force: true });
  rmSync(log, { force: true });
  renameSync(aside, log);
  if (isWhole) quarantine.move(log);
  return isWhole;
}

function isIntact(identify: Identify): boolean {
  try {
    identify();
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}
