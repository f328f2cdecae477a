// The server's view of one lane's GPU: whether the lane computes there, why not, and when it tries again. After an
// error of CUDA, a process often cannot use the GPU any more, so each attempt is a new process.

import type { GpuPlan } from "./gpu-plan.ts";

/** First and longest pause before the next attempt, in milliseconds. It doubles with each failure in a row. */
const RETRY_FIRST_MS = 60_000;
const RETRY_LAST_MS = 60 * 60_000;
/** Pause, in milliseconds, before an attempt that could not be made yet is tried again. */
const POSTPONED_MS = 5_000;
/** Time in milliseconds for which the GPU must have worked, so that earlier failures no longer count. */
const HEALTHY_AFTER_MS = 10 * 60_000;

/** Settings and callbacks of a `LaneGpu`. */
export interface LaneGpuOptions {
  readonly plan: Pick<GpuPlan, "isRequested" | "environment">;
  readonly device: number;
  /** Pause before the first new attempt, in milliseconds. Default `RETRY_FIRST_MS`. */
  readonly retryFirstMs: number | undefined;
  /** Milliseconds since any fixed point. Default `performance.now`. */
  readonly now?: () => number;
  /** Called when the lane should be replaced by a process that tries the GPU; returns false if that must wait. */
  readonly onRetry: () => boolean;
  /** Called once per failure. `retryInMs` is null if there is no further attempt. */
  readonly onFailure: (reason: string, retryInMs: number | null) => void;
}

/** The GPU of one lane. */
export class LaneGpu {
  /**
   * `none`: the process computes on the CPU. `trying`: it is loading models onto the GPU. `works`: it has loaded them.
   */
  #state: "none" | "trying" | "works" = "none";
  #reason: string | null = null;
  #failuresInRow = 0;
  #failures = 0;
  #worksSinceMs = 0;
  #hasWorked = false;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: LaneGpuOptions) {}

  /** Whether the lane computes on its GPU now. */
  get isWorking(): boolean {
    return this.#state === "works";
  }

  /** Whether the lane's process uses its GPU, or is about to. */
  get isInUse(): boolean {
    return this.#state !== "none";
  }

  /** Why the lane computes on the CPU; null if it does not, or if nobody asked for a GPU. */
  get fallback(): string | null {
    return this.options.plan.isRequested ? this.#reason : null;
  }

  /** Number of failures since the start of the server. */
  get failures(): number {
    return this.#failures;
  }

  /** Environment variables of the lane's next process, which is about to start. */
  begin(): Readonly<Record<string, string>> {
    this.#state = this.#now() >= this.#retryAtMs ? "trying" : "none";
    return this.#state === "trying" ? this.options.plan.environment(this.options.device) : {};
  }

  /** The process has loaded its models. `failure` says why they are not on the GPU; null if they are. */
  ready(failure: string | null): void {
    if (this.#state !== "trying") return;
    if (failure !== null) {
      this.failed(failure);
      return;
    }
    this.#state = "works";
    this.#reason = null;
    this.#hasWorked = true;
    this.#worksSinceMs = this.#now();
  }

  /** The GPU failed. The process goes on, on the CPU, or has ended. */
  failed(reason: string): void {
    if (this.#state === "none") return;
    if (this.#state === "works" && this.#now() - this.#worksSinceMs >= HEALTHY_AFTER_MS) this.#failuresInRow = 0;
    this.#state = "none";
    this.#reason = reason;
    this.#failures += 1;
    this.#failuresInRow += 1;
    const isRetried = this.options.plan.isRequested || this.#hasWorked;
    const firstMs = this.options.retryFirstMs ?? RETRY_FIRST_MS;
    const pauseMs = isRetried ? Math.min(RETRY_LAST_MS, firstMs * 2 ** (this.#failuresInRow - 1)) : null;
    this.#retryAtMs = pauseMs === null ? Number.POSITIVE_INFINITY : this.#now() + pauseMs;
    this.options.onFailure(reason, pauseMs);
    clearTimeout(this.#timer);
    if (pauseMs !== null) this.#timer = setTimeout(() => this.#retry(), pauseMs);
  }

  /** Asks to replace the lane, unless its process has ended since: the next process tries the GPU anyway. */
  #retry(): void {
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
    if (this.#state !== "none" || this.options.onRetry()) return;
    this.#timer = setTimeout(() => this.#retry(), this.options.retryFirstMs ?? POSTPONED_MS);
  }

  /** The process has ended, for whatever reason. If it was about to be replaced, `leave` was called before. */
  ended(): void {
    this.failed("the process that used it ended; the log says how");
  }

  /** The process no longer uses the GPU, because it is being replaced. */
  leave(): void {
    this.#state = "none";
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #now(): number {
    return (this.options.now ?? (() => performance.now()))();
  }
}
