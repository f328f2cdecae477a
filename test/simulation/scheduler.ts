// A deterministic scheduler. Every call of a port, and every sleep, waits here until the scheduler lets it continue. A
// seeded random generator decides which call continues, how the time goes on, and which calls fail. So one seed always
// gives the same run.

import type { Clock } from "../../src/kit/clock.ts";
import type { Delay } from "../in-memory/delays.ts";
import { seeded } from "../support/seeded.ts";

/** An error that the simulation injected. */
export class InjectedError extends Error {
  override readonly name = "InjectedError";
}

/** A call of a port that waits, or a sleep. */
interface Waiting {
  readonly process: SimulatedProcess;
  readonly call: string;
  readonly phase: "begin" | "end" | "sleep";
  /** It continues at this time or later. */
  readonly at: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Probabilities of faults, 0..1, per call that waits. */
export interface FaultRates {
  /** A call fails before, or after, it took effect. */
  readonly failure: number;
  /** A transaction fails when it commits. */
  readonly commit: number;
  /** A model or a child process is not available. */
  readonly outage: number;
  /** A call takes up to two minutes. */
  readonly slow: number;
  /** The disk has no space for new data, per look at it. */
  readonly full: number;
  /** Share of the kinds of calls that wait until no other call can continue, as a rule. */
  readonly lazy: number;
}

/** No faults. */
export const NO_FAULTS: FaultRates = { failure: 0, commit: 0, outage: 0, slow: 0, full: 0, lazy: 0 };

/** Time of the simulated clock at the start, in Unix milliseconds. */
const START_MS = 1_800_000_000_000;
const SLOW_MS_MAX = 120_000;
/** Probability that a decision is made without regard to lazy calls. */
const FAIR = 0.05;
/** Probability that time passes although lazy calls could continue. */
const IDLE = 0.3;

/**
 * Calls that cannot fail in any implementation: they only change bits in RAM. `index.close` belongs to the end of a
 * process.
 */
const SAFE_CALLS: readonly string[] = ["index.show", "index.hide", "index.project", "index.close", "files.remove"];
/** Calls that fail as an outage does: nothing is lost, and the same call succeeds later. */
const OUTAGE_CALLS = /^(embedder-|preparer|documents)/;

/** One process of the server: its calls wait here until it crashes. From then on they wait forever. */
export class SimulatedProcess implements Clock, Delay {
  isAlive = true;

  constructor(private readonly scheduler: Scheduler) {}

  now(): number {
    return this.scheduler.now;
  }

  next(call = "call", phase: "begin" | "end" = "begin"): Promise<void> {
    return this.scheduler.wait(this, call, phase);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.scheduler.sleep(this, ms, signal);
  }
}

/** Decides what happens next. */
export class Scheduler {
  readonly #random: () => number;
  #waiting: Waiting[] = [];
  /** Whether each kind of call is lazy in this run. */
  readonly #lazy = new Map<string, boolean>();
  /** Unix milliseconds of the simulated clock. */
  now = START_MS;
  /** Number of decisions so far. */
  step = 0;
  rates: FaultRates = NO_FAULTS;

  /** @param trace gets what happens, one line per event */
  constructor(
    seed: number,
    readonly trace: string[] = [],
  ) {
    this.#random = seeded(seed);
  }

  /** A number in 0..1. */
  random(): number {
    return this.#random();
  }

  /** Whether an event of this probability happens. */
  chance(probability: number): boolean {
    return probability > 0 && this.#random() < probability;
  }

  note(event: string): void {
    this.trace.push(`${this.step} +${(this.now - START_MS) / 1000}s ${event}`);
  }

  /** Whether calls wait that may continue now. */
  get hasReady(): boolean {
    return this.#waiting.some(({ at }) => at <= this.now);
  }

  wait(process: SimulatedProcess, call: string, phase: "begin" | "end"): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      const isSlow = this.chance(this.rates.slow);
      const at = isSlow ? this.now + Math.ceil(this.#random() * SLOW_MS_MAX) : this.now;
      if (isSlow) this.note(`slow: ${call} ${phase}, until +${(at - START_MS) / 1000}s`);
      this.#waiting.push({ process, call, phase, at, resolve, reject });
    });
  }

  sleep(process: SimulatedProcess, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      if (!process.isAlive) return;
      const finish = () => {
        this.#waiting = this.#waiting.filter((one) => one !== sleeper);
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      const at = this.now + Math.max(0, ms);
      const sleeper: Waiting = { process, call: "sleep", phase: "sleep", at, resolve: finish, reject: finish };
      signal?.addEventListener("abort", finish, { once: true });
      this.#waiting.push(sleeper);
    });
  }

  /** Lets one waiting call continue, or fail. Returns false if none may continue now. */
  continueOne(): boolean {
    const ready = this.#eager(this.#waiting.filter(({ at }) => at <= this.now));
    const one = ready[Math.floor(this.#random() * ready.length)];
    if (one === undefined) return false;
    this.step += 1;
    this.#waiting = this.#waiting.filter((each) => each !== one);
    const error = this.#errorFor(one);
    if (error === null) {
      this.trace.push(`${this.step} ${one.call} ${one.phase}`);
      one.resolve();
    } else {
      this.note(`FAILS ${one.call} ${one.phase}: ${error.message}`);
      one.reject(error);
    }
    return true;
  }

  /** Moves the time to the next sleep or slow call that ends. Returns false if there is none. */
  advance(): boolean {
    const next = Math.min(...this.#waiting.map(({ at }) => at).filter((at) => at > this.now));
    if (!Number.isFinite(next)) return false;
    this.step += 1;
    this.now = next;
    return true;
  }

  /** Moves the time at once, as if the event loop had been blocked. */
  jump(ms: number): void {
    this.step += 1;
    this.now += ms;
    this.note(`the time jumps by ${ms / 1000} s`);
  }

  /** Ends a process: nothing of it continues. */
  kill(process: SimulatedProcess): void {
    process.isAlive = false;
    this.#waiting = this.#waiting.filter((one) => one.process !== process);
  }

  /** Leaves out lazy calls, as a rule. */
  #eager(ready: readonly Waiting[]): readonly Waiting[] {
    if (this.rates.lazy === 0 || this.chance(FAIR)) return ready;
    const eager = ready.filter((one) => !this.#isLazy(one));
    return eager.length > 0 || this.chance(IDLE) ? eager : ready;
  }

  #isLazy({ call, phase }: Waiting): boolean {
    const kind = `${call} ${phase}`;
    const isLazy = this.#lazy.get(kind) ?? this.chance(this.rates.lazy);
    this.#lazy.set(kind, isLazy);
    return isLazy;
  }

  #errorFor({ call, phase }: Waiting): Error | null {
    if (phase === "sleep" || SAFE_CALLS.includes(call)) return null;
    const { failure, commit, outage } = this.rates;
    if (OUTAGE_CALLS.test(call)) return this.chance(outage) ? new InjectedError(`${call} is not available`) : null;
    if (call === "commit") return this.chance(commit) ? new InjectedError("the commit failed") : null;
    // A call inside a transaction that fails has no effect, so it fails at its beginning only.
    if (phase === "end" && call.startsWith("transaction.")) return null;
    return this.chance(failure) ? new InjectedError(`${call} failed at its ${phase}`) : null;
  }
}

/** Lets all code run until it waits for the scheduler. */
export async function settled(): Promise<void> {
  // Two turns, because a callback of the first may have started further work (src/ingest/batcher.ts).
  for (let turn = 0; turn < 2; turn++) {
    await new Promise<void>((resolve) => {
      setImmediate(() => resolve());
    });
  }
}
