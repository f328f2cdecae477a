// Long work on the JavaScript thread in slices, so that requests are answered meanwhile.

/**
 * Maximum time, in milliseconds, that a slice should take. A search has about ten steps on the thread, and each of them
 * may have to wait for the end of a slice.
 */
const SLICE_MS = 1;

/** Lets other work of the thread run from time to time. */
export class TimeSlice {
  #startedAt = performance.now();

  /** @param restMs time between two slices, in milliseconds, for work that can wait */
  constructor(private readonly restMs = 0) {}

  /** Whether the slice has ended, so that the work should call `next`. */
  get isOver(): boolean {
    return performance.now() - this.#startedAt >= SLICE_MS;
  }

  /** If the slice is over, lets other work run and begins a new one. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await new Promise<void>((resolve) => {
      if (this.restMs === 0) setImmediate(resolve);
      else setTimeout(resolve, this.restMs);
    });
    this.#startedAt = performance.now();
  }
}
