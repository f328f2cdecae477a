// May this key still call, and when again? Counts admitted requests per key over the last seconds, exactly. Which key
// and which limit a request has is the business of rate-limits.ts; what a refusal looks like, of api/.

import { invariant } from "../domain/fault.ts";
import type { Clock } from "../kit/clock.ts";

/** From this limit on nothing is counted or refused. 2³¹ − 1: the largest number that any client's integer holds. */
export const UNLIMITED = 2_147_483_647;

/** Where a key stands in its window. */
export interface WindowState {
  /** From `admit`: whether the request was admitted. From `look`: whether one would be. */
  readonly isAdmitted: boolean;
  readonly limit: number;
  /** Requests that would still be admitted now. */
  readonly remaining: number;
  /** Unix seconds at which the oldest counted request leaves the window, rounded up; now when none is counted. */
  readonly resetAtSeconds: number;
  /** Seconds until one more would be admitted, rounded up, so at least 1; 0 when admitted. */
  readonly retryAfterSeconds: number;
}

/** What a window counts by. */
export interface SlidingWindowOptions {
  readonly windowMs: number;
  readonly clock: Clock;
  /** Keys with a request in the window, at most: beyond them a further key is refused, see SlidingWindow. */
  readonly keysMax: number;
}

/** Windows that one call lets go: two, so that they go faster than they come and no call pays for all of them. */
const FORGOTTEN_PER_CALL = 2;
/** Most keys make a handful of calls a minute. A ring doubles as it fills, up to the key's limit. */
const RING_SLOTS_FIRST = 4;

/**
 * Admits at most `limit` requests per key in any `windowMs`: a request at t is admitted iff fewer than `limit` were
 * admitted in (t − windowMs, t]. A refused one does not count. O(1) amortised: .3 µs a call with a thousand keys,
 * .8 µs with 60,000 (November 2026, 2 cores).
 *
 * Memory: 8 to 16 bytes per counted request and some 250 per key. Keys without a counted request are let go as calls
 * come in. When `keysMax` keys have one, requests of a further key are refused until the longest idle of them has none:
 * letting any of those go early would hand out its limit a second time, and the first to go would be the keys that are
 * being refused, as they have no admitted requests. So what strangers can make keys of (addresses) needs an instance of
 * its own, beside that of the callers who are known.
 *
 * A clock that is set back is taken to have stood still since the last call: the limit holds, and what was counted
 * leaves at most `windowMs` after the next call, not hours later. One that is set forward ends what it leaps over.
 */
export class SlidingWindow {
  readonly #windowMs: number;
  readonly #clock: Clock;
  readonly #keysMax: number;
  readonly #byKey = new Map<string, KeyWindow>();
  /** In the order of their newest request: the longest idle follows it, the last used stands before it. */
  readonly #ends = new KeyWindow("");
  /** By how much our time is ahead of the clock, for all the times that it was set back. */
  #aheadMs = 0;
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor({ windowMs, clock, keysMax }: SlidingWindowOptions) {
    invariant(windowMs > 0 && keysMax >= 1, `a window of ${windowMs} ms for ${keysMax} keys was asked for`);
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#keysMax = keysMax;
  }

  /** Keys held at present, for the metrics: all that have a counted request, and those not let go yet. */
  get keysHeld(): number {
    return this.#byKey.size;
  }

  /** Counts one request of `key` if fewer than `limit` (at least 1) are counted. */
  admit(key: string, limit: number): WindowState {
    const nowMs = this.#now();
    if (limit >= UNLIMITED) return this.#unused(limit, nowMs);
    const window = this.#current(key, limit, nowMs) ?? this.#open(key);
    if (window === null) return this.#full(limit, nowMs);
    if (window.count >= limit) return this.#state(window, limit, nowMs, false);
    window.add(nowMs);
    window.moveBefore(this.#ends);
    return this.#state(window, limit, nowMs, true);
  }

  /** What `admit` would answer, counting nothing: `remaining` is what there is before the request. */
  look(key: string, limit: number): WindowState {
    const nowMs = this.#now();
    if (limit >= UNLIMITED) return this.#unused(limit, nowMs);
    const window = this.#current(key, limit, nowMs);
    if (window !== null) return this.#state(window, limit, nowMs, window.count < limit);
    return this.#hasRoom() ? this.#unused(limit, nowMs) : this.#full(limit, nowMs);
  }

  #current(key: string, limit: number, nowMs: number): KeyWindow | null {
    invariant(limit >= 1, "a limit is at least one request");
    const sinceMs = nowMs - this.#windowMs;
    for (let gone = 0; gone < FORGOTTEN_PER_CALL; gone++) {
      const longestIdle = this.#ends.next;
      if (longestIdle === this.#ends || longestIdle.newestMs > sinceMs) break;
      longestIdle.leave();
      this.#byKey.delete(longestIdle.key);
    }
    const window = this.#byKey.get(key);
    if (window === undefined) return null;
    window.dropUntil(sinceMs);
    return window;
  }

  #open(key: string): KeyWindow | null {
    if (!this.#hasRoom()) return null;
    const window = new KeyWindow(key);
    this.#byKey.set(key, window);
    return window;
  }

  #hasRoom(): boolean {
    return this.#byKey.size < this.#keysMax;
  }

  #state(window: KeyWindow, limit: number, nowMs: number, isAdmitted: boolean): WindowState {
    const { count } = window;
    return {
      isAdmitted,
      limit,
      remaining: Math.max(0, limit - count),
      resetAtSeconds: this.#unixSeconds(count === 0 ? nowMs : window.at(0) + this.#windowMs),
      retryAfterSeconds: isAdmitted ? 0 : Math.ceil((window.at(count - limit) + this.#windowMs - nowMs) / 1000),
    };
  }

  #unused(limit: number, nowMs: number): WindowState {
    const resetAtSeconds = this.#unixSeconds(nowMs);
    return { isAdmitted: true, limit, remaining: limit, resetAtSeconds, retryAfterSeconds: 0 };
  }

  #full(limit: number, nowMs: number): WindowState {
    const roomAtMs = this.#ends.next.newestMs + this.#windowMs;
    return {
      isAdmitted: false,
      limit,
      remaining: 0,
      resetAtSeconds: this.#unixSeconds(roomAtMs),
      retryAfterSeconds: Math.ceil((roomAtMs - nowMs) / 1000),
    };
  }

  #unixSeconds(ms: number): number {
    return Math.ceil((ms - this.#aheadMs) / 1000);
  }

  #now(): number {
    const nowMs = this.#clock.now() + this.#aheadMs;
    if (nowMs < this.#latestMs) this.#aheadMs += this.#latestMs - nowMs;
    else this.#latestMs = nowMs;
    return this.#latestMs;
  }
}

// The counted requests of one key, oldest first, in a ring; and its place among the other keys, in a circle.
class KeyWindow {
  count = 0;
  newestMs = Number.NEGATIVE_INFINITY;
  next: KeyWindow = this;
  #previous: KeyWindow = this;
  #times = new Float64Array(RING_SLOTS_FIRST);
  #first = 0;

  constructor(readonly key: string) {}

  /** The time of a counted request, 0 being the oldest. */
  at(index: number): number {
    const time = this.#times[(this.#first + index) & (this.#times.length - 1)];
    invariant(time !== undefined, "a ring's length is a power of two");
    return time;
  }

  add(timeMs: number): void {
    if (this.count === this.#times.length) this.#grow();
    this.#times[(this.#first + this.count) & (this.#times.length - 1)] = timeMs;
    this.count++;
    this.newestMs = timeMs;
  }

  dropUntil(timeMs: number): void {
    while (this.count > 0 && this.at(0) <= timeMs) {
      this.#first = (this.#first + 1) & (this.#times.length - 1);
      this.count--;
    }
  }

  leave(): void {
    this.#previous.next = this.next;
    this.next.#previous = this.#previous;
    this.next = this;
    this.#previous = this;
  }

  moveBefore(other: KeyWindow): void {
    this.leave();
    this.next = other;
    this.#previous = other.#previous;
    other.#previous.next = this;
    other.#previous = this;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    for (let index = 0; index < this.count; index++) times[index] = this.at(index);
    this.#times = times;
    this.#first = 0;
  }
}
