// Large texts are worked on one after the other: each takes several times its size of memory until it is published, and is in work for
// minutes. Which jobs have a large text, and whose turn it is; what is done with the others is worker.ts's business.

import type { Clock } from "../kit/clock.ts";
import type { Job } from "../ports/job-store.ts";

/** A longer text, in UTF-8 bytes, is large: four of this size, the most that are embedded at once, are 8 MiB. */
const LARGE_TEXT_BYTES = 2 * 1024 * 1024;
/** How soon a file is looked at again whose text turned out to be large when it was another's turn; later, the more of them wait. */
const PUT_OFF_MS = 10_000;
const PUT_OFF_MS_MAX = 10 * 60_000;
/** So many a minute come back at most, as far as `PUT_OFF_MS_MAX` allows. */
const BACK_PER_MINUTE = 60;
/** Such files that are remembered; one that is forgotten is read once more. */
const KNOWN_MAX = 10_000;

/** Whose turn it is. */
export class LargeTexts {
  readonly #clock: Clock;
  readonly #largeBytes: number;
  #inWork: Job | null = null;
  /** Files whose text is known to be large, by memory and version. */
  readonly #known = new Set<string>();
  #reservedUntil: number | null = null;

  /** @param largeBytes a longer text is large; to be changed for tests only. */
  constructor(clock: Clock, largeBytes = LARGE_TEXT_BYTES) {
    this.#clock = clock;
    this.#largeBytes = largeBytes;
  }

  /**
   * The longest text that may be claimed: all while none of the large ones is in work. Where one was read and put off, those that
   * can be told by their rows wait for it, until it should have come back.
   */
  get claimableBytes(): number {
    const isFree = this.#inWork === null && this.#clock.now() >= (this.#reservedUntil ?? 0);
    return isFree ? Number.MAX_SAFE_INTEGER : this.#largeBytes;
  }

  /** Whether a job that was claimed may go on; from then on it is its turn where it is known to have a large text. */
  admits(job: Job): boolean {
    return this.#admits(job, this.#known.has(nameOf(job)) || knownBytesOf(job) > this.#largeBytes);
  }

  /** The same once the text is there. */
  admitsText(job: Job, textBytes: number): boolean {
    return this.#admits(job, textBytes > this.#largeBytes);
  }

  /** A job that was not admitted goes back to the queue. @returns for how many milliseconds */
  putOff(job: Job): number {
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.add(nameOf(job));
    // once for each that is in work: those that are passed over meanwhile have their turns too
    this.#reservedUntil ??= this.#clock.now() + 2 * PUT_OFF_MS;
    return Math.min(PUT_OFF_MS_MAX, Math.max(PUT_OFF_MS, (this.#known.size * 60_000) / BACK_PER_MINUTE));
  }

  /** A job has ended, in whatever way. @returns whether it was its turn, and now is another's */
  end(job: Job): boolean {
    if (this.#inWork !== job) return false;
    this.#inWork = null;
    return true;
  }

  #admits(job: Job, isLarge: boolean): boolean {
    if (!isLarge) return true;
    if (this.#inWork === null) {
      this.#inWork = job;
      this.#known.delete(nameOf(job));
      this.#reservedUntil = null;
    }
    return this.#inWork === job;
  }
}

function nameOf({ memory }: Job): string {
  return `${memory.key} ${memory.version}`;
}

// A file that is packed says nothing of how long its text is: 0.
function knownBytesOf({ upload, memory }: Job): number {
  const isText = upload === null || upload.mediaType.startsWith("text/") || upload.mediaType === "application/json";
  return isText ? memory.contentBytes : 0;
}
