// Which child processes get more time at the end of a time limit: those that waited for a processor, and no others.

import { expect, test } from "bun:test";
import { StarvationCheck } from "../../src/children/process-usage.ts";

/** A check of a process whose times a test sets. It may use 1,000 ms of processor time. */
function checkOf(now: { ranMs: number; waitedMs: number }): StarvationCheck {
  return new StarvationCheck(1, 1_000, { ranMs: () => now.ranMs, waitedMs: () => now.waitedMs });
}

test("a process that waited longer than it ran was starved, also in the next period", () => {
  const now = { ranMs: 500, waitedMs: 9_000 };
  const check = checkOf(now);
  Object.assign(now, { ranMs: 900, waitedMs: 10_000 });
  expect(check.wasStarved()).toBeTrue();
  Object.assign(now, { ranMs: 1_000, waitedMs: 11_000 });
  expect(check.wasStarved()).toBeTrue();
});

test("a process that hangs was not starved, even if it was before", () => {
  const now = { ranMs: 0, waitedMs: 0 };
  const check = checkOf(now);
  Object.assign(now, { ranMs: 10, waitedMs: 5_000 });
  expect(check.wasStarved()).toBeTrue();
  expect(check.wasStarved()).toBeFalse();
  Object.assign(now, { ranMs: 10, waitedMs: 5_020 });
  expect(check.wasStarved()).toBeFalse();
});

test("a process that ran longer than it waited, or used its processor time, was not starved", () => {
  const now = { ranMs: 0, waitedMs: 0 };
  const check = checkOf(now);
  Object.assign(now, { ranMs: 900, waitedMs: 800 });
  expect(check.wasStarved()).toBeFalse();
  Object.assign(now, { ranMs: 1_000, waitedMs: 9_000 });
  expect(check.wasStarved()).toBeFalse();
});
