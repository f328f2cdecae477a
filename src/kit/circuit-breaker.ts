// Circuit breaker for endpoints of models: after several failures in a row, no calls are made for a while.

import type { Clock } from "./clock.ts";

/** Number of failures in a row that open the circuit. */
const FAILURES_MAX = 3;
/** Milliseconds for which a circuit stays open, unless the constructor is given another time. */
const OPEN_MS = 60_000;
/**
 * Maximum wait, in milliseconds, that an endpoint can request. A longer one is cut to this: it is probably a mistake.
 */
const REQUESTED_MS_MAX = 60 * 60_000;
/** Maximum number of keys whose failures are remembered. A further key takes the place of the oldest one. */
const KEYS_MAX = 10_000;

/** Circuit breakers by key. While a circuit is open, its endpoint must not be called. */
export class CircuitBreaker {
  readonly #failures = new Map<string, { readonly count: number; readonly openUntil: number }>();

  /** @param openMs milliseconds for which a circuit stays open */
  constructor(
    private readonly clock: Clock,
    private readonly openMs = OPEN_MS,
  ) {}

  /** Whether the circuit is open, so that no call may be made now. */
  isOpen(key: string): boolean {
    return (this.#failures.get(key)?.openUntil ?? 0) > this.clock.now();
  }

  /** Closes the circuit and forgets its failures. */
  recordSuccess(key: string): void {
    this.#failures.delete(key);
  }

  /**
   * Counts a failure. The third in a row, and each one after it, opens the circuit. If the endpoint
   * requested a wait, the circuit opens at once, for that time.
   * @param requestedMs wait that the endpoint requested; null if it requested none
   * @returns whether this failure opened the circuit; false if the circuit was open already
   */
  recordFailure(key: string, requestedMs: number | null = null): boolean {
    const wasOpen = this.isOpen(key);
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const ms = requestedMs === null ? this.openMs : Math.min(requestedMs, REQUESTED_MS_MAX);
    const isOpen = requestedMs !== null || count >= FAILURES_MAX;
    const [oldest] = this.#failures.keys();
    const isFull = this.#failures.size >= KEYS_MAX && !this.#failures.has(key);
    if (isFull && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(key, { count, openUntil: isOpen ? this.clock.now() + ms : 0 });
    return isOpen && !wasOpen;
  }
}
