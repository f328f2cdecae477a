// Decides which file is read next. Files are read one after the other, because one may take as long as thousands of
// texts. A file that a caller sent does not wait for those of an archive or mailbox, and projects take turns.

import { Turns, type Waiting } from "../kit/turns.ts";

/** A file that waits to be read. */
interface WaitingFile extends Waiting {
  /** Called when it is its turn. */
  readonly begin: () => void;
}

/** Maximum number of files of callers that are read one after the other while files of containers wait. */
const DIRECT_IN_ROW_MAX = 8;

/** The queue of files. */
export class FileTurns {
  readonly #direct = new Turns<WaitingFile>();
  readonly #parts = new Turns<WaitingFile>();
  #isTaken = false;
  #directInRow = 0;

  /** Number of files of containers that wait. */
  get waitingParts(): number {
    return this.#parts.size;
  }

  /**
   * Waits for the turn of a file.
   * @param share id of the file's project
   * @param isPart whether it was found in a container
   * @returns ends the turn; further calls do nothing
   */
  async take(share: string, isPart: boolean): Promise<() => void> {
    if (this.#isTaken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      (isPart ? this.#parts : this.#direct).add({ share, begin: resolve });
      await promise;
    } else {
      this.#isTaken = true;
    }
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      this.#begin();
    };
  }

  /** Begins the turn of the next file. */
  #begin(): void {
    const isTurnOfPart = this.#direct.size === 0 || (this.#parts.size > 0 && this.#directInRow >= DIRECT_IN_ROW_MAX);
    const next = (isTurnOfPart ? this.#parts : this.#direct).next();
    this.#directInRow = isTurnOfPart ? 0 : this.#directInRow + 1;
    this.#isTaken = next !== undefined;
    next?.begin();
  }
}
