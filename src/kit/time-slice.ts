// Divides long work on the JavaScript thread into slices, so that requests are answered between them.

/**
 * Maximum time, in milliseconds, that a slice should take. A search has about ten steps on the thread, and each of them
 * may have to wait for the end of a slice.
 */
const SLICE_MS = 1;

/** The current slice of some long work. The work calls `next` often; that lets other work run when a slice is over. */
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
