// How long a call may be silent, and how long it may take in all. What is called, and what comes back, is client.ts.

import { LlmError } from "../../ports/language-model.ts";

/** How long an endpoint is waited for, in milliseconds. */
export interface LlmTimeouts {
  /** Until the answer's body begins. */
  readonly firstByteMs: number;
  /** Between two parts of it. */
  readonly idleMs: number;
  /** For the whole call, name resolution and repetitions in a plainer form included. */
  readonly wholeMs: number;
}

/** Watches over one call: `signal` ends it, with an LlmError as its reason. To be closed when the call has ended. */
export class Watch {
  readonly #ending = new AbortController();
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

  /** A request goes out. */
  asked(): void {
    this.#expect(this.timeouts.firstByteMs, "no answer began");
  }

  /** A part of the answer's body came. */
  heard(): void {
    this.#expect(this.timeouts.idleMs, "nothing more came of the answer");
  }

  close(): void {
    clearTimeout(this.#whole);
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.caller.removeEventListener("abort", this.#stop);
  }

  readonly #stop = (): void => this.#ending.abort(new LlmError("stopped", "the call was stopped"));

  #expect(ms: number, otherwise: string): void {
    if (this.#silence !== null) clearTimeout(this.#silence);
    this.#silence = this.#timer(ms, otherwise);
  }

  #timer(ms: number, otherwise: string): Timer {
    return setTimeout(() => this.#ending.abort(new LlmError("timed_out", `${otherwise} within ${ms / 1000} s`)), ms);
  }
}
