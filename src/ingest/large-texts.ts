// Ensures that only one large text is processed at a time. A large text takes several times its size in RAM, for
// minutes, until it is published. This file decides which job has the turn; job-runner.ts asks for it, and worker.ts
// stores that a job is postponed.

import type { Clock } from "../kit/clock.ts";
import type { Job } from "../ports/job-store.ts";
import { LARGE_TEXT_BYTES } from "../ports/preparer.ts";

/**
 * Minimum delay, in milliseconds, before a postponed file is tried again. A file is postponed if its text turns out to
 * be large while another large text has the turn. The delay grows with the number of postponed files.
 */
const POSTPONE_MS = 10_000;
const POSTPONE_MS_MAX = 10 * 60_000;
/**
 * Maximum number of postponed files that are tried again per minute. `POSTPONE_MS_MAX` has precedence over this rate.
 */
const RETRIES_PER_MINUTE = 60;
/** Maximum number of postponed files that are remembered. A file that is forgotten is read one more time. */
const POSTPONED_MAX = 10_000;

/** Gives turns to jobs with large texts. Jobs with other texts need no turn. */
export class LargeTexts {
  readonly #clock: Clock;
  readonly #largeBytes: number;
  /** The job that has the turn. */
  #current: Job | null = null;
  /** Files whose text is known to be large, by memory and version. */
  readonly #postponed = new Set<string>();
  /** Whether a file was postponed during the current turn. */
  #hasPostponed = false;
  /** Unix milliseconds until which the next turn is reserved for a postponed file. */
  #reservedUntil = 0;

  /** @param largeBytes texts with more bytes than this are large; tests use a small number. */
  constructor(clock: Clock, largeBytes = LARGE_TEXT_BYTES) {
    this.#clock = clock;
    this.#largeBytes = largeBytes;
  }

  /**
   * Maximum length of a text that may be claimed, in UTF-8 bytes; unlimited while the turn is free. After a turn during
   * which a file was postponed, the next turn is reserved for that file, for about the time until it is tried again.
   * During this time, no other large text whose length is known is claimed.
   */
  get claimableBytesMax(): number {
    const isFree = this.#current === null && this.#clock.now() >= this.#reservedUntil;
    return isFree ? Number.MAX_SAFE_INTEGER : this.#largeBytes;
  }

  /** Whether a job has the turn, so that its text is large. */
  isCurrent(job: Job): boolean {
    return this.#current === job;
  }

  /** Whether the job's text is known to be large before it is read. */
  isKnownLarge(job: Job): boolean {
    return this.#postponed.has(versionKeyOf(job)) || knownBytesOf(job) > this.#largeBytes;
  }

  /**
   * Returns whether a claimed job may be processed. If its text is known to be large, the job needs the turn, and takes
   * it if no other job has it.
   */
  tryStart(job: Job): boolean {
    return this.#tryStart(job, this.isKnownLarge(job));
  }

  /** Like `tryStart`, for a job whose text has been read, so that its length is known. */
  tryStartText(job: Job, textBytes: number): boolean {
    return this.#tryStart(job, textBytes > this.#largeBytes);
  }

  /** Remembers a job that could not start. Returns the delay in milliseconds before it is tried again. */
  postpone(job: Job): number {
    if (this.#postponed.size >= POSTPONED_MAX) this.#postponed.clear();
    this.#postponed.add(versionKeyOf(job));
    this.#hasPostponed = true;
    return Math.min(POSTPONE_MS_MAX, Math.max(POSTPONE_MS, (this.#postponed.size * 60_000) / RETRIES_PER_MINUTE));
  }

  /** Ends the turn of a job. Returns whether the job had the turn; if so, another large text may start. */
  end(job: Job): boolean {
    if (this.#current !== job) return false;
    this.#current = null;
    // There is one reservation per turn. If the postponed file is not tried again in time, other large texts get the
    // turn.
    if (this.#hasPostponed) this.#reservedUntil = this.#clock.now() + 2 * POSTPONE_MS;
    this.#hasPostponed = false;
    return true;
  }

  #tryStart(job: Job, isLarge: boolean): boolean {
    if (!isLarge) return true;
    if (this.#current === null) {
      this.#current = job;
      this.#postponed.delete(versionKeyOf(job));
      this.#reservedUntil = 0;
    }
    return this.#current === job;
  }
}

function versionKeyOf({ memory }: Job): string {
  return `${memory.key} ${memory.version}`;
}

// Length of the job's text in bytes if it is known before reading, otherwise 0. The text of a plain-text file is as
// long as the file.
function knownBytesOf({ upload, memory }: Job): number {
  const isText = upload === null || upload.mediaType.startsWith("text/") || upload.mediaType === "application/json";
  return isText ? memory.contentBytes : 0;
}
