// A loop in the background that sleeps between its rounds, can be woken, and can be stopped.

/** Signals that a loop passes to each of its rounds. */
export interface Round {
  /** Aborts when the loop is stopped. */
  readonly stopped: AbortSignal;
  /** Aborts when the loop is woken after the round began, so that a wake during its work ends the sleep after it. */
  readonly woken: AbortSignal;
}

/** Repeats `round` until the loop is stopped. A round must catch its own errors, and sleeps at its end. */
export class WakingLoop {
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> | null = null;

  constructor(private readonly round: (signals: Round) => Promise<void>) {}

  /** Aborts when the loop is stopped. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Starts the loop, unless it runs. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the sleep. */
  wake(): void {
    this.#wake.abort();
  }

  /** Stops the loop. Resolves when the running round has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#wake = new AbortController();
      await this.round({ stopped: this.#stop.signal, woken: this.#wake.signal });
    }
  }
}
