// Timeouts of one call: for each wait, and for the whole call. The call itself is in client.ts.

import { LlmError } from "../../ports/language-model.ts";

/** Timeouts of a call, in milliseconds. */
export interface LlmTimeouts {
  /** Until the connection is established, including name resolution and TLS. */
  readonly connectMs: number;
  /** From then until the response body begins. */
  readonly firstByteMs: number;
  /** Between two parts of the body. */
  readonly idleMs: number;
  /** For the whole call, including all retries and the pauses before them. */
  readonly totalMs: number;
}

/**
 * Maximum time in milliseconds between two parts of the body after the model has finished. Only the usage and the end
 * marker may still follow.
 */
const TRAILER_MS = 2_000;

/**
 * Timers of one call. `signal` aborts when one expires, with an LlmError as its reason. Close it when the call has
 * ended.
 */
export class CallTimer {
  readonly #ending = new AbortController();
  readonly #startedAt = performance.now();
  readonly #total: Timer;
  #silence: Timer | null = null;

  constructor(
    private readonly timeouts: LlmTimeouts,
    private readonly caller: AbortSignal,
  ) {
    this.#total = this.#timer(timeouts.totalMs, "the answer was not complete");
    // not AbortSignal.any: the listener must be removed when the call ends, since the caller's signal may live much
    // longer
    caller.addEventListener("abort", this.#stop, { once: true });
    if (caller.aborted) this.#stop();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Time left for the whole call, in milliseconds. */
  get leftMs(): number {
    return this.timeouts.totalMs - (performance.now() - this.#startedAt);
  }

  /** Starts the timeout for the connection. Called when a request is sent. */
  awaitConnection(): void {
    this.#expect(this.timeouts.connectMs, "no connection was established");
  }

  /** Starts the timeout for the first byte. Called when the connection is established. */
  awaitFirstByte(): void {
    this.#expect(this.timeouts.firstByteMs, "the answer did not begin");
  }

  /** Starts the timeout for the next part of the body. @param isTrailer whether the model has finished its answer */
  awaitPart(isTrailer: boolean): void {
    this.#expect(
      isTrailer ? Math.min(TRAILER_MS, this.timeouts.idleMs) : this.timeouts.idleMs,
      "no more of the answer arrived",
    );
  }

  /** Stops the timeout for the endpoint while Mneme does not wait for it. */
  pause(): void {
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#silence = null;
  }

  close(): void {
    clearTimeout(this.#total);
    this.pause();
    this.caller.removeEventListener("abort", this.#stop);
  }

  readonly #stop = (): void => this.#ending.abort(new LlmError("stopped", "the call was stopped"));

  #expect(ms: number, otherwise: string): void {
    this.pause();
    this.#silence = this.#timer(ms, otherwise);
  }

  #timer(ms: number, otherwise: string): Timer {
    return setTimeout(() => this.#ending.abort(new LlmError("timed_out", `${otherwise} within ${ms / 1000} s`)), ms);
  }
}
