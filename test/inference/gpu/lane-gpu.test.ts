// When a lane tries its GPU, with a clock of the test.

import { afterEach, describe, expect, test } from "bun:test";
import { LaneGpu } from "../../../src/adapters/inference/gpu/lane-gpu.ts";
import { until } from "../../support/until.ts";

const MINUTE = 60_000;
const ENVIRONMENT = { GPU: "yes" };
const opened: LaneGpu[] = [];
afterEach(() => {
  for (const gpu of opened.splice(0)) gpu.close();
});

function create({ isRequested = true, retryFirstMs }: { isRequested?: boolean; retryFirstMs?: number } = {}) {
  const seen = { nowMs: 0, retries: 0, mustWait: false, failures: [] as (readonly [string, number | null])[] };
  const gpu = new LaneGpu({
    plan: { isRequested, environment: () => ENVIRONMENT },
    device: 0,
    retryFirstMs,
    now: () => seen.nowMs,
    onRetry: () => {
      seen.retries += 1;
      return !seen.mustWait;
    },
    onFailure: (...failure) => seen.failures.push(failure),
  });
  opened.push(gpu);
  return { gpu, seen };
}

test("a lane tries its GPU at the first start, and uses it when its models are there", () => {
  const { gpu } = create();
  expect([gpu.isInUse, gpu.isWorking]).toEqual([false, false]);
  expect(gpu.begin()).toEqual(ENVIRONMENT);
  expect([gpu.isInUse, gpu.isWorking]).toEqual([true, false]);
  gpu.ready(null);
  expect([gpu.isInUse, gpu.isWorking, gpu.fallback, gpu.failures]).toEqual([true, true, null, 0]);
});

describe("after a failure", () => {
  test.each(["ready", "failed", "ended"] as const)("(%s) the next process computes on the CPU", (how) => {
    const { gpu, seen } = create();
    gpu.begin();
    if (how === "ready") gpu.ready("broken");
    if (how === "failed") gpu.failed("broken");
    if (how === "ended") gpu.ended();
    expect([gpu.isInUse, gpu.isWorking, gpu.failures]).toEqual([false, false, 1]);
    expect(gpu.fallback).toBe(how === "ended" ? "the process that used it ended; the log says how" : "broken");
    expect(gpu.begin()).toEqual({});
    gpu.ready(null);
    expect([gpu.isWorking, gpu.fallback]).toEqual([false, gpu.fallback]);
    expect(gpu.fallback).not.toBeNull();
    expect(seen.failures).toHaveLength(1);
  });

  test("pauses double up to an hour, and start again after ten good minutes", () => {
    const { gpu, seen } = create();
    const pauses = () => seen.failures.map(([, pauseMs]) => (pauseMs ?? 0) / MINUTE);
    for (let round = 0; round < 8; round += 1) {
      expect(gpu.begin()).toEqual(ENVIRONMENT);
      gpu.ready(null);
      seen.nowMs += 9 * MINUTE;
      gpu.failed("broken");
      seen.nowMs += (pauses().at(-1) ?? 0) * MINUTE - 1;
      expect(gpu.begin()).toEqual({});
      seen.nowMs += 1;
    }
    expect(pauses()).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    gpu.begin();
    gpu.ready(null);
    seen.nowMs += 10 * MINUTE;
    gpu.failed("broken");
    expect(pauses().at(-1)).toBe(1);
  });

  test("the lane is replaced when the pause is over", async () => {
    const { gpu, seen } = create({ retryFirstMs: 1 });
    gpu.begin();
    gpu.failed("broken");
    await until("the retry", () => seen.retries === 1);
  });

  test("an attempt that must wait is made later, and the new process tries the GPU", async () => {
    const { gpu, seen } = create({ retryFirstMs: 1 });
    seen.mustWait = true;
    gpu.begin();
    gpu.failed("broken");
    await until("two vain attempts", () => seen.retries >= 2);
    seen.mustWait = false;
    const retries = seen.retries;
    await until("the attempt", () => seen.retries > retries);
    expect(gpu.begin()).toEqual(ENVIRONMENT);
  });

  test("one failure is counted once, however often it is reported", () => {
    const { gpu, seen } = create();
    gpu.begin();
    gpu.ready(null);
    for (let times = 0; times < 3; times += 1) gpu.failed("broken");
    gpu.ended();
    expect([gpu.failures, seen.failures.length]).toEqual([1, 1]);
  });

  test("the end of a process that is being replaced is no failure", () => {
    const { gpu } = create();
    gpu.begin();
    gpu.ready(null);
    gpu.leave();
    gpu.ended();
    expect(gpu.failures).toBe(0);
    expect(gpu.begin()).toEqual(ENVIRONMENT);
  });
});

describe("a GPU that nobody asked for", () => {
  test("is not tried again if it never worked, and nothing is said", () => {
    const { gpu, seen } = create({ isRequested: false });
    gpu.begin();
    gpu.ready("broken");
    seen.nowMs = Number.MAX_SAFE_INTEGER;
    expect(gpu.begin()).toEqual({});
    expect([gpu.fallback, ...seen.failures]).toEqual([null, ["broken", null]]);
  });

  test("is tried again if it has worked", () => {
    const { gpu, seen } = create({ isRequested: false });
    gpu.begin();
    gpu.ready(null);
    gpu.failed("broken");
    expect(seen.failures).toEqual([["broken", MINUTE]]);
  });
});
