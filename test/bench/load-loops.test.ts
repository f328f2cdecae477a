// The load generators of `mneme bench load`, on virtual time and against a queue that is computed by hand.

import { describe, expect, test } from "bun:test";
import { bestWithin } from "../../bench/command/load.ts";
import { arrivalTimes, closedLoop, type LoadClock, openLoop } from "../../bench/command/load-loops.ts";

/** Time that jumps to the next sleeper when nothing else can run. */
class VirtualTime implements LoadClock {
  #nowMs = 0;
  #isJumping = false;
  readonly #sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];

  readonly now = () => this.#nowMs;

  readonly sleep = (ms: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sleepers.push({ atMs: this.#nowMs + ms, wake: resolve });
    void this.#jump();
    return promise;
  };

  async #jump(): Promise<void> {
    if (this.#isJumping) return;
    this.#isJumping = true;
    while (this.#sleepers.length > 0) {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve(); // lets everything run that can run now
      this.#sleepers.sort((left, right) => left.atMs - right.atMs);
      const next = this.#sleepers.shift();
      if (next === undefined) break;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
    }
    this.#isJumping = false;
  }
}

/** A server that answers one request after the other, each in its own time. */
function queue(clock: LoadClock, serviceMs: (n: number) => number) {
  let freeAtMs = 0;
  return async (n: number) => {
    freeAtMs = Math.max(freeAtMs, clock.now()) + serviceMs(n);
    await clock.sleep(freeAtMs - clock.now());
    return { isAnswered: true };
  };
}

/** Latencies of a queue with one server, from the times at which requests are due (Lindley's recursion). */
function oracle(arrivals: readonly number[], serviceMs: (n: number) => number): readonly number[] {
  let freeAtMs = 0;
  return arrivals.map((dueMs, n) => {
    freeAtMs = Math.max(freeAtMs, dueMs) + serviceMs(n);
    return freeAtMs - dueMs;
  });
}

describe("the open loop", () => {
  test("has evenly spread arrivals, and at least one", () => {
    expect(arrivalTimes(4, 1)).toEqual([0, 250, 500, 750]);
    expect(arrivalTimes(0.5, 4)).toEqual([0, 2000]);
    expect(arrivalTimes(0.1, 1)).toEqual([0]);
  });
  test("counts the wait behind a stall from the scheduled times", async () => {
    const clock = new VirtualTime();
    const arrivals = arrivalTimes(10, 3);
    const service = (n: number) => (n === 5 ? 1_000 : 20); // one stall of a second
    const { latencies, failed, perSecond } = await openLoop(arrivals, queue(clock, service), clock);
    const expected = oracle(arrivals, service);
    expect(latencies.map(Math.round)).toEqual(expected.map(Math.round));
    expect(expected.filter((ms) => ms > 100).length).toBeGreaterThan(5); // the stall is seen by more than one request
    expect(failed).toBe(0);
    expect(perSecond).toBeCloseTo(30 / 2.92, 1);
  });
  test("counts a wait in the load generator as latency, when more than 256 requests are in flight", async () => {
    const clock = new VirtualTime();
    const arrivals = arrivalTimes(1_000, 0.4);
    const service = () => 10;
    const { latencies } = await openLoop(arrivals, queue(clock, service), clock);
    expect(latencies.map(Math.round)).toEqual(oracle(arrivals, service).map(Math.round));
  });
  test("counts failures apart from latencies", async () => {
    const clock = new VirtualTime();
    const send = async (n: number) => ({ isAnswered: n % 2 === 0 });
    const { latencies, failed } = await openLoop(arrivalTimes(10, 1), send, clock);
    expect([latencies.length, failed]).toEqual([5, 5]);
  });
});

describe("the closed loop", () => {
  test("keeps each client waiting for its answer", async () => {
    const clock = new VirtualTime();
    let [inFlight, most] = [0, 0];
    const send = async () => {
      most = Math.max(most, ++inFlight);
      await clock.sleep(100);
      inFlight--;
      return { isAnswered: true };
    };
    const { latencies, perSecond } = await closedLoop({ clients: 4, seconds: 1 }, send, clock);
    expect(most).toBe(4);
    expect(latencies).toEqual(Array.from({ length: 40 }, () => 100));
    expect(perSecond).toBeCloseTo(40, 5);
  });
  test("makes a refused client wait as long as the answer says, at most until the end", async () => {
    const clock = new VirtualTime();
    const sentAt: number[] = [];
    const send = async () => {
      sentAt.push(clock.now());
      await clock.sleep(10);
      return { isAnswered: false, retryAfterMs: 400 };
    };
    const { failed } = await closedLoop({ clients: 1, seconds: 1 }, send, clock);
    expect([sentAt.map((at) => at - (sentAt[0] ?? 0)), failed, clock.now()]).toEqual([[0, 410, 820], 3, 1_000]);
  });
});

test("the throughput within a bound is the highest without failures", () => {
  const points = [
    { perSecond: 10, p95: 50, failed: 0 },
    { perSecond: 20, p95: 100, failed: 0 },
    { perSecond: 30, p95: 90, failed: 1 },
    { perSecond: 40, p95: 101, failed: 0 },
  ];
  expect([bestWithin(points, 100), bestWithin(points, 300), bestWithin(points, 49)]).toEqual([20, 40, null]);
});
