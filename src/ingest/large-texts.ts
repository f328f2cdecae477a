// Lets one large text be processed at a time, because each uses several times its size of memory for minutes, until it
// is published. This file decides whose turn it is; job-runner.ts asks it, and worker.ts stores that a job is
// postponed.

import type { Clock } from "../kit/clock.ts";
import type { Job } from "../ports/job-store.ts";

/** Texts with more UTF-8 bytes are large. At most four texts of this size are embedded at once: 8 MiB. */
const LARGE_TEXT_BYTES = 2 * 1024 * 1024;
/**
 * Delay before a file is tried again whose text turned out to be large during the turn of another text. It grows with
 * the number of such files.
 */
const POSTPONE_MS = 10_000;
const POSTPONE_MS_MAX = 10 * 60_000;
/** Maximum rate at which postponed files are tried again, as far as `POSTPONE_MS_MAX` allows. */
const RETRIES_PER_MINUTE = 60;
/** Number of postponed files that are remembered. A forgotten one is read once more. */
const POSTPONED_MAX = 10_000;

/** Gives turns to jobs with large texts. Jobs with other texts need none. */
export class LargeTexts {
  readonly #clock: Clock;
  readonly #largeBytes: number;
  /** The job that has the turn. */
  #current: Job | null = null;
  /** Files whose text is known to be large, by memory and version. */
  readonly #postponed = new Set<string>();
  /** Whether a file was postponed during the current turn. */
  #hasPostponed = false;
  /** Until then the next turn is reserved for a postponed file. Unix milliseconds. */
  #reservedUntil = 0;

  /** @param largeBytes texts with more bytes are large; tests use a small number. */
  constructor(clock: Clock, largeBytes = LARGE_TEXT_BYTES) {
    this.#clock = clock;
    this.#largeBytes = largeBytes;
  }

  /**
   * Maximum length of a text that may be claimed; any length if the turn is free. After a turn during which a file was
   * postponed, the next turn is reserved for that file for the time that it should need to come back. Large texts whose
   * length is known from their rows wait so long.
   */
  get claimableBytesMax(): number {
    const isFree = this.#current === null && this.#clock.now() >= this.#reservedUntil;
    return isFree ? Number.MAX_SAFE_INTEGER : this.#largeBytes;
  }

  /**
   * Returns whether a claimed job may be processed. A job whose text is known to be large takes the turn if it is free.
   */
  tryStart(job: Job): boolean {
    return this.#tryStart(job, this.#postponed.has(versionKeyOf(job)) || knownBytesOf(job) > this.#largeBytes);
  }

  /** Like `tryStart`, once the text of the job was read. */
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

  /** Ends the turn of a job. Returns whether the job had it, so that another large text may start. */
  end(job: Job): boolean {
    if (this.#current !== job) return false;
    this.#current = null;
    // one reservation per turn: if the file does not come back, other texts get theirs
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

// A plain-text file has the length of its text. The text length of other files is not known yet: 0.
function knownBytesOf({ upload, memory }: Job): number {
  const isText = upload === null || upload.mediaType.startsWith("text/") || upload.mediaType === "application/json";
  return isText ? memory.contentBytes : 0;
}
