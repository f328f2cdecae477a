// Limits the bytes per second of a long task, such as a backup beside a busy server.

import type { Clock } from "./clock.ts";

/** Makes its caller wait, so that on average no more bytes per second are counted than allowed. */
export class ByteRateLimit {
  #startedAt: number | null = null;
  #bytes = 0;

  /** @param bytesPerSecond null: unlimited */
  constructor(
    private readonly bytesPerSecond: number | null,
    private readonly clock: Clock,
  ) {}

  /** Counts bytes, and resolves when the next ones may follow. */
  async take(bytes: number): Promise<void> {
    if (this.bytesPerSecond === null) return;
    this.#startedAt ??= this.clock.now();
    this.#bytes += bytes;
    const dueAt = this.#startedAt + (this.#bytes / this.bytesPerSecond) * 1000;
    const waitMs = dueAt - this.clock.now();
    if (waitMs > 0) await this.clock.sleep(waitMs);
  }
}
