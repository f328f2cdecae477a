// Long work on the JavaScript thread in slices, so that requests are answered meanwhile.

/** Maximum time, in milliseconds, that a slice should take. */
const SLICE_MS = 4;

/** Lets other work of the thread run from time to time. */
export class TimeSlice {
  #startedAt = performance.now();

  /** Whether the slice has ended, so that the work should call `next`. */
  get isOver(): boolean {
    return performance.now() - this.#startedAt >= SLICE_MS;
  }

  /** If the slice is over, lets other work run and begins a new one. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#startedAt = performance.now();
  }
}
