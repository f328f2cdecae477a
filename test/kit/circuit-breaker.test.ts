// The circuit breaker of model endpoints: when it opens and closes, and how many endpoints it remembers.

import { expect, test } from "bun:test";
import { CircuitBreaker } from "../../src/kit/circuit-breaker.ts";
import type { Clock } from "../../src/kit/clock.ts";

const clock: Clock = { now: () => 1_000, sleep: async () => undefined };

test("the third failure in a row opens the circuit, and a success closes it", () => {
  const breaker = new CircuitBreaker(clock);
  expect([1, 2, 3, 4].map(() => breaker.recordFailure("a"))).toEqual([false, false, true, false]);
  expect(breaker.isOpen("a")).toBe(true);
  breaker.recordSuccess("a");
  expect(breaker.isOpen("a")).toBe(false);
});

test("with 10,000 failing keys, only a further key takes the place of another one", () => {
  const breaker = new CircuitBreaker(clock);
  for (let key = 0; key < 10_000; key++) breaker.recordFailure(String(key), 60_000);
  breaker.recordFailure("9999", 60_000);
  expect(breaker.isOpen("0")).toBe(true);
  breaker.recordFailure("10000", 60_000);
  expect([breaker.isOpen("0"), breaker.isOpen("1"), breaker.isOpen("10000")]).toEqual([false, true, true]);
});
