// Sliding windows: which requests are admitted, how long refused ones must wait, and the behaviour with many keys and
// when the system clock is changed.

import { describe, expect, test } from "bun:test";
import { SlidingWindow } from "../../src/account/sliding-window.ts";
import { UNLIMITED } from "../../src/ports/coordination.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { seeded } from "../support/seeded.ts";

const WINDOW_MS = 60_000;
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
const STEPS = Number(process.env.MNEME_TEST_STEPS ?? 20_000);

function start(keysMax = 1_000) {
  const clock = new ManualClock();
  return { clock, windows: new SlidingWindow({ windowMs: WINDOW_MS, clock, keysMax }) };
}

function admitted(windows: SlidingWindow, key: string, limit: number, calls: number): number {
  return Array.from({ length: calls }, () => windows.admit(key, limit)).filter(({ isAdmitted }) => isAdmitted).length;
}

describe("the limit", () => {
  test("admits exactly 100 of 200 calls at a limit of 100, whether at once or spread over a minute", () => {
    const { windows, clock } = start();
    expect(admitted(windows, "at once", 100, 200)).toBe(100);
    let count = 0;
    for (let call = 0; call < 200; call++, clock.advance(299)) count += admitted(windows, "spread", 100, 1);
    expect(count).toBe(100);
  });

  test("of 1 admits one request", () => {
    const { windows } = start();
    expect(admitted(windows, "a", 1, 3)).toBe(1);
  });

  test("is separate for each key", () => {
    const { windows } = start();
    expect(admitted(windows, "a", 3, 5)).toBe(3);
    expect(admitted(windows, "b", 3, 5)).toBe(3);
  });

  test("forgets a request after exactly 60 s", () => {
    const { windows, clock } = start();
    windows.admit("a", 1);
    clock.advance(WINDOW_MS - 1);
    expect(windows.admit("a", 1)).toMatchObject({ isAdmitted: false, retryAfterSeconds: 1 });
    clock.advance(1);
    expect(windows.admit("a", 1).isAdmitted).toBe(true);
  });

  test("does not count refused requests", () => {
    const { windows, clock } = start();
    admitted(windows, "a", 10, 10);
    clock.advance(WINDOW_MS - 1);
    expect(admitted(windows, "a", 10, 1_000)).toBe(0);
    clock.advance(1);
    expect(admitted(windows, "a", 10, 20)).toBe(10);
  });

  test("of UNLIMITED admits everything and stores nothing", () => {
    const { windows, clock } = start(1);
    for (const key of ["a", "b", "c"]) {
      expect(windows.admit(key, UNLIMITED)).toEqual({
        isAdmitted: true,
        limit: UNLIMITED,
        remaining: UNLIMITED,
        resetAtSeconds: clock.now() / 1000,
        retryAfterSeconds: 0,
      });
    }
    expect(windows.peek("d", UNLIMITED).isAdmitted).toBe(true);
    expect(windows.keysHeld).toBe(0);
  });

  test("below 1 is reported as a bug", () => {
    const { windows } = start();
    expect(() => windows.admit("a", 0)).toThrow("this is a bug in Mneme");
  });
});

describe("the window state", () => {
  test("has a `remaining` that counts down to 0 and stays there", () => {
    const { windows } = start();
    expect([1, 2, 3, 4].map(() => windows.admit("a", 3).remaining)).toEqual([2, 1, 0, 0]);
  });

  test("has a reset time at which the oldest counted request leaves, rounded up", () => {
    const { windows, clock } = start();
    const startSeconds = clock.now() / 1000;
    clock.advance(1);
    expect(windows.admit("a", 5).resetAtSeconds).toBe(startSeconds + 61);
    clock.advance(30_000);
    expect(windows.admit("a", 5).resetAtSeconds).toBe(startSeconds + 61);
    clock.advance(30_000);
    expect(windows.peek("a", 5).resetAtSeconds).toBe(startSeconds + 91);
  });

  test("has a wait after which a request is admitted, and one second earlier is not", () => {
    const { windows, clock } = start();
    for (const offsetMs of [0, 1, 499, 999]) {
      clock.advance(2 * WINDOW_MS);
      windows.admit("a", 1);
      clock.advance(10_000 + offsetMs);
      const { retryAfterSeconds } = windows.admit("a", 1);
      clock.advance((retryAfterSeconds - 1) * 1000);
      expect(windows.peek("a", 1).isAdmitted).toBe(false);
      clock.advance(1000);
      expect(windows.peek("a", 1).isAdmitted).toBe(true);
    }
  });

  test("of an unknown key has the whole limit left, and its reset is now", () => {
    const { windows, clock } = start();
    clock.advance(1);
    expect(windows.peek("nobody", 30)).toEqual({
      isAdmitted: true,
      limit: 30,
      remaining: 30,
      resetAtSeconds: Math.ceil(clock.now() / 1000),
      retryAfterSeconds: 0,
    });
  });

  test("is returned by peek without counting a request", () => {
    const { windows } = start();
    for (let peek = 0; peek < 10; peek++) expect(windows.peek("a", 2).remaining).toBe(2);
    expect(windows.keysHeld).toBe(0);
    windows.admit("a", 2);
    for (let peek = 0; peek < 10; peek++) expect(windows.peek("a", 2).remaining).toBe(1);
    windows.admit("a", 2);
    expect(windows.peek("a", 2)).toMatchObject({ isAdmitted: false, remaining: 0, retryAfterSeconds: 60 });
  });
});

test(`random histories give the same states as counting all admitted requests (seed ${SEED}, ${STEPS} steps)`, () => {
  const random = seeded(SEED);
  const { windows, clock } = start();
  const history = new Map<string, number[]>();
  const advances = [0, 0, 0, 1, 17, 999, 1_000, 7_003, 29_999, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1];
  for (let step = 0; step < STEPS; step++) {
    if (random() < 0.2) clock.advance(advances[Math.floor(random() * advances.length)] ?? 0);
    const key = `key ${Math.floor(random() * 5)}`;
    const limit = random() < 0.9 ? 7 : 1 + Math.floor(random() * 12);
    const isPeek = random() < 0.2;
    const counted = (atMs: number) => (history.get(key) ?? []).filter((time) => time > atMs - WINDOW_MS);
    const now = clock.now();
    const isAdmitted = counted(now).length < limit;
    const state = isPeek ? windows.peek(key, limit) : windows.admit(key, limit);
    if (isAdmitted && !isPeek) history.set(key, [...counted(now), now]);

    let retryAfterSeconds = 0;
    if (!isAdmitted) while (counted(now + 1000 * retryAfterSeconds).length >= limit) retryAfterSeconds++;
    expect(state, `step ${step}`).toEqual({
      isAdmitted,
      limit,
      remaining: Math.max(0, limit - counted(now).length),
      resetAtSeconds: Math.ceil(((counted(now)[0] ?? now - WINDOW_MS) + WINDOW_MS) / 1000),
      retryAfterSeconds,
    });
  }
});

describe("many keys", () => {
  test("are evicted by later calls once they have no counted request", () => {
    const { windows, clock } = start();
    for (let key = 0; key < 500; key++) windows.admit(`key ${key}`, 5);
    expect(windows.keysHeld).toBe(500);
    clock.advance(WINDOW_MS);
    for (let call = 0; call < 250; call++) windows.admit("busy", 1_000);
    expect(windows.keysHeld).toBe(1);
  });

  test("are never evicted while they have a counted request, however long they have been refused", () => {
    const { windows, clock } = start(10);
    admitted(windows, "hammering", 3, 3);
    for (let second = 1; second < 60; second++) {
      clock.advance(1_000);
      windows.admit(`newcomer ${second}`, 3);
      expect(windows.admit("hammering", 3).isAdmitted).toBe(false);
    }
    expect(windows.keysHeld).toBe(10);
  });

  test("beyond keysMax are refused until the longest idle key has no counted request", () => {
    const { windows, clock } = start(2);
    windows.admit("a", 5);
    clock.advance(1_500);
    windows.admit("b", 5);
    clock.advance(1_500);
    const refused = { isAdmitted: false, limit: 5, remaining: 0, retryAfterSeconds: 57 };
    expect(windows.peek("c", 5)).toMatchObject(refused);
    expect(windows.admit("c", 5)).toMatchObject({ ...refused, resetAtSeconds: clock.now() / 1000 + 57 });
    expect(windows.admit("b", 5).isAdmitted).toBe(true);
    clock.advance(57_000);
    expect(windows.peek("c", 5)).toMatchObject({ isAdmitted: true, remaining: 5 });
    expect(windows.admit("c", 5)).toMatchObject({ isAdmitted: true, remaining: 4 });
    expect(windows.keysHeld).toBe(2);
  });
});

describe("a clock that is set", () => {
  test("back by an hour keeps the limit, and no wait exceeds one window", () => {
    const { windows, clock } = start();
    admitted(windows, "a", 3, 3);
    clock.advance(-3_600_000);
    const refused = windows.admit("a", 3);
    expect(refused).toMatchObject({ isAdmitted: false, retryAfterSeconds: 60 });
    expect(refused.resetAtSeconds).toBe(clock.now() / 1000 + 60);
    clock.advance(WINDOW_MS - 1);
    expect(windows.admit("a", 3).isAdmitted).toBe(false);
    clock.advance(1);
    expect(admitted(windows, "a", 3, 10)).toBe(3);
  });

  test("forward and back again leaves the limits as they were", () => {
    const { windows, clock } = start();
    admitted(windows, "a", 3, 3);
    clock.advance(3_600_000);
    expect(admitted(windows, "a", 3, 10)).toBe(3);
    clock.advance(-3_600_000);
    expect(windows.admit("a", 3)).toMatchObject({ isAdmitted: false, retryAfterSeconds: 60 });
    clock.advance(WINDOW_MS);
    expect(admitted(windows, "a", 3, 10)).toBe(3);
  });

  test(`back at random times admits at most the limit in 60 s of real time, and always again after it (seed ${SEED})`, () => {
    const random = seeded(SEED);
    const { windows, clock } = start();
    let runningMs = 0;
    const times: number[] = [];
    for (let step = 0; step < 5_000; step++) {
      const ms = Math.floor(random() * 8_000);
      runningMs += ms;
      clock.advance(ms);
      const state = windows.admit("a", 5);
      if (state.isAdmitted) times.push(runningMs);
      else expect(times.filter((time) => time > runningMs - WINDOW_MS).length, `step ${step}`).toBe(5);
      expect(times.filter((time) => time > runningMs - WINDOW_MS).length, `step ${step}`).toBeLessThanOrEqual(5);
      if (random() < 0.1) {
        clock.advance(-Math.floor(random() * 10_000_000));
        windows.peek("a", 5); // a step back that ends before the next call cannot be noticed
      }
    }
  });

  test("back unnoticed between two calls causes no wait longer than one window", () => {
    const { windows, clock } = start();
    admitted(windows, "a", 3, 3);
    clock.advance(-3_600_000);
    clock.advance(3_601_000);
    expect(windows.admit("a", 3)).toMatchObject({ isAdmitted: false, retryAfterSeconds: 59 });
    clock.advance(59_000);
    expect(admitted(windows, "a", 3, 10)).toBe(3);
  });
});
