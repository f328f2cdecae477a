// How long a call may be silent, and how long it may take in all. What is called, and what comes back, is client.ts.

import { LlmError } from "../../ports/language-model.ts";

/** How long an endpoint is waited for, in milliseconds. */
export interface LlmTimeouts {
  /** Until a connection stands, name resolution and encryption included. */
  readonly connectMs: number;
  /** From then until the answer's body begins. */
  readonly firstByteMs: number;
  /** Between two parts of it. */
  readonly idleMs: number;
  /** For the whole call, with all repetitions and the pauses before them. */
  readonly wholeMs: number;
}

/** What may still come of an answer whose model has ended: its usage, right behind, and the mark of its end. */
const REST_MS = 2_000;

/** Watches over one call: `signal` ends it, with an LlmError as its reason. To be closed when the call has ended. */
export class Watch {
  readonly #ending = new AbortController();
  readonly #startedAt = performance.now();
  readonly #whole: Timer;
  #silence: Timer | null = null;

  constructor(
    private readonly timeouts: LlmTimeouts,
    private readonly caller: AbortSignal,
  ) {
    this.#whole = this.#timer(timeouts.wholeMs, "the answer was not whole");
    // not AbortSignal.any: the listener goes when the call ends, however long the caller's signal lives
    caller.addEventListener("abort", this.#stop, { once: true });
    if (caller.aborted) this.#stop();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Milliseconds that the whole call has left. */
  get leftMs(): number {
    return this.timeouts.wholeMs - (performance.now() - this.#startedAt);
  }

  /** A request goes out. */
  asked(): void {
    this.#expect(this.timeouts.connectMs, "no connection was made");
  }

  /** The connection stands: the answer's body is to begin. */
  connected(): void {
    this.#expect(this.timeouts.firstByteMs, "no answer began");
  }

  /** The next part of the body is waited for. @param isRest only what follows the answer's end is */
  awaits(isRest: boolean): void {
    this.#expect(
      isRest ? Math.min(REST_MS, this.timeouts.idleMs) : this.timeouts.idleMs,
      "nothing more came of the answer",
    );
  }

  /** Nothing is waited for: from here on we are the slow ones. */
  rests(): void {
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#silence = null;
  }

  close(): void {
    clearTimeout(this.#whole);
    this.rests();
    this.caller.removeEventListener("abort", this.#stop);
  }

  readonly #stop = (): void => this.#ending.abort(new LlmError("stopped", "the call was stopped"));

  #expect(ms: number, otherwise: string): void {
    this.rests();
    this.#silence = this.#timer(ms, otherwise);
  }

  #timer(ms: number, otherwise: string): Timer {
    return setTimeout(() => this.#ending.abort(new LlmError("timed_out", `${otherwise} within ${ms / 1000} s`)), ms);
  }
}
