// Large texts are processed one after the other: until it is published, each takes several times its size of memory,
// for minutes. This file knows which jobs have a large text and whose turn it is; worker.ts stores what is postponed.

import type { Clock } from "../kit/clock.ts";
import type { Job } from "../ports/job-store.ts";

/** Texts of more UTF-8 bytes are large. Four texts of this size, the most that are embedded at once, are 8 MiB. */
const LARGE_TEXT_BYTES = 2 * 1024 * 1024;
/**
 * Delay before a file is tried again whose text turned out to be large during another text's turn. It grows with their
 * number.
 */
const POSTPONE_MS = 10_000;
const POSTPONE_MS_MAX = 10 * 60_000;
/** Postponed files that come back per minute, at most, as far as `POSTPONE_MS_MAX` allows. */
const RETURNS_PER_MINUTE = 60;
/** Postponed files that are remembered. A file that is forgotten is read once more. */
const POSTPONED_MAX = 10_000;

/** Whose turn it is. */
export class LargeTexts {
  readonly #clock: Clock;
  readonly #largeBytes: number;
  #processing: Job | null = null;
  /** Files whose text is known to be large, by memory and version. */
  readonly #postponed = new Set<string>();
  /** Whether a file was postponed during the present turn. */
  #isNextReserved = false;
  #reservedUntil = 0;

  /** @param largeBytes texts of more bytes are large; tests make it small. */
  constructor(clock: Clock, largeBytes = LARGE_TEXT_BYTES) {
    this.#clock = clock;
    this.#largeBytes = largeBytes;
  }

  /**
   * The longest text that may be claimed: any length if no large text is processed. After a turn during which a file
   * was postponed, that file goes before large texts that are known from their rows, as long as it should take to come
   * back.
   */
  get claimableBytes(): number {
    const isFree = this.#processing === null && this.#clock.now() >= this.#reservedUntil;
    return isFree ? Number.MAX_SAFE_INTEGER : this.#largeBytes;
  }

  /** Whether a claimed job may be processed. If its text is known to be large, the turn is its own from now on. */
  mayProcess(job: Job): boolean {
    return this.#mayProcess(job, this.#postponed.has(nameOf(job)) || knownBytesOf(job) > this.#largeBytes);
  }

  /** The same when the text of the job is known. */
  mayProcessText(job: Job, textBytes: number): boolean {
    return this.#mayProcess(job, textBytes > this.#largeBytes);
  }

  /** Remembers a job that may not be processed now. Returns after how many milliseconds to try it again. */
  postpone(job: Job): number {
    if (this.#postponed.size >= POSTPONED_MAX) this.#postponed.clear();
    this.#postponed.add(nameOf(job));
    this.#isNextReserved = true;
    return Math.min(POSTPONE_MS_MAX, Math.max(POSTPONE_MS, (this.#postponed.size * 60_000) / RETURNS_PER_MINUTE));
  }

  /**
   * A job has ended, in whatever way. Returns whether the turn was its own, so that another large text may be
   * processed.
   */
  end(job: Job): boolean {
    if (this.#processing !== job) return false;
    this.#processing = null;
    // one reservation per turn: if the file does not come back, the others have their turns
    if (this.#isNextReserved) this.#reservedUntil = this.#clock.now() + 2 * POSTPONE_MS;
    this.#isNextReserved = false;
    return true;
  }

  #mayProcess(job: Job, isLarge: boolean): boolean {
    if (!isLarge) return true;
    if (this.#processing === null) {
      this.#processing = job;
      this.#postponed.delete(nameOf(job));
      this.#reservedUntil = 0;
    }
    return this.#processing === job;
  }
}

function nameOf({ memory }: Job): string {
  return `${memory.key} ${memory.version}`;
}

// The bytes of a plain-text file are those of its text. Of other files the length of the text is not known yet: 0.
function knownBytesOf({ upload, memory }: Job): number {
  const isText = upload === null || upload.mediaType.startsWith("text/") || upload.mediaType === "application/json";
  return isText ? memory.contentBytes : 0;
}
