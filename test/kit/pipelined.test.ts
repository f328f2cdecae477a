// Tests for pipelined.ts: the order of the results, how many run at once, and failures.

import { describe, expect, test } from "bun:test";
import { overlapped, pipelined, readAhead } from "../../src/kit/pipelined.ts";

/** Reads and uses numbers, and logs when each step begins and ends. Steps named in `failing` fail. */
async function logged(items: readonly number[], failing: readonly string[] = []) {
  const log: string[] = [];
  const step = async (name: string) => {
    log.push(`${name} begins`);
    for (let turn = 0; turn < 10; turn++) await null;
    if (failing.includes(name)) throw new Error(name);
    log.push(`${name} ends`);
  };
  const ended = pipelined(
    items,
    async (item) => {
      await step(`read ${item}`);
      return item;
    },
    (item) => step(`use ${item}`),
  );
  const error = await ended.then(
    () => null,
    (reason: Error) => reason.message,
  );
  return { log, error };
}

test("the next item is read while one is used, and everything in order", async () => {
  const { log, error } = await logged([1, 2, 3]);
  expect(error).toBeNull();
  expect(log.filter((line) => line.startsWith("use"))).toEqual(
    [1, 2, 3].flatMap((item) => [`use ${item} begins`, `use ${item} ends`]),
  );
  for (const item of [1, 2]) {
    expect(log.indexOf(`read ${item + 1} begins`)).toBeLessThan(log.indexOf(`use ${item} ends`));
    expect(log.indexOf(`use ${item} ends`)).toBeLessThan(log.indexOf(`use ${item + 1} begins`));
  }
});

test("at most one item is read ahead", async () => {
  const { log } = await logged([1, 2, 3]);
  expect(log.indexOf("read 3 begins")).toBeGreaterThan(log.indexOf("use 1 ends"));
});

test("after a failure nothing more begins, and what was being used has ended", async () => {
  const ofRead = await logged([1, 2, 3], ["read 2"]);
  expect(ofRead.error).toBe("read 2");
  expect(ofRead.log).toContain("use 1 ends");
  expect(ofRead.log).not.toContain("use 2 begins");
  expect(ofRead.log).not.toContain("read 3 begins");
  const ofUse = await logged([1, 2, 3], ["use 1"]);
  expect(ofUse.error).toBe("use 1");
  expect(ofUse.log).not.toContain("use 2 begins");
  expect(ofUse.log).not.toContain("read 3 begins");
});

test("no items: nothing happens", async () => {
  expect(await logged([])).toEqual({ log: [], error: null });
});

/** Uses the numbers 1 to `count`. Returns what began and ended, and the error. */
async function overlappedLog(count: number, failing: number | null = null) {
  const log: string[] = [];
  const items = async function* () {
    for (let item = 1; item <= count; item++) yield item;
  };
  const ended = overlapped(items(), async (item) => {
    log.push(`${item} begins`);
    for (let turn = 0; turn < 20; turn++) await null;
    if (item === failing) throw new Error(`${item} failed`);
    log.push(`${item} ends`);
  });
  const error = await ended.then(
    () => null,
    (reason: Error) => reason.message,
  );
  return { log, error };
}

test("two items are used at once, begun in order, and all have ended at the end", async () => {
  const { log, error } = await overlappedLog(5);
  expect(error).toBeNull();
  const begun = [1, 2, 3, 4, 5].map((item) => log.indexOf(`${item} begins`));
  const ended = [1, 2, 3, 4, 5].map((item) => log.indexOf(`${item} ends`));
  expect(begun).toEqual(begun.toSorted((one, other) => one - other));
  expect(ended).not.toContain(-1);
  for (const at of [0, 1, 2, 3]) expect(begun[at + 1]).toBeLessThan(ended[at] ?? -1);
  for (const at of [0, 1, 2]) expect(begun[at + 2]).toBeGreaterThan(ended[at] ?? -1);
});

test("a failed use is thrown, whichever it is, and nothing more begins", async () => {
  for (const failing of [1, 2, 3, 4]) {
    const { log, error } = await overlappedLog(4, failing);
    expect(error).toBe(`${failing} failed`);
    expect(log).not.toContain(`${failing + 2} begins`);
  }
  expect(await overlappedLog(0)).toEqual({ log: [], error: null });
});

describe("reading ahead", () => {
  const counted = (count: number, failsAt = Number.POSITIVE_INFINITY) => {
    const state = { read: 0, isEnded: false };
    const items = async function* () {
      try {
        for (let item = 0; item < count; item++) {
          await null;
          if (item === failsAt) throw new Error(`item ${item}`);
          state.read += 1;
          yield item;
        }
      } finally {
        state.isEnded = true;
      }
    };
    return { state, items: items() };
  };
  const turns = async () => {
    for (let turn = 0; turn < 200; turn++) await null;
  };

  test("begins at once, at most so many items before they are used, and keeps their order", async () => {
    const { state, items } = counted(10);
    const ahead = readAhead(items, 4);
    await turns();
    expect(state.read).toBe(4);
    const seen: number[] = [];
    for await (const item of ahead) {
      seen.push(item);
      await turns();
      expect(state.read).toBe(Math.min(10, seen.length + 4));
    }
    expect([seen, state.isEnded]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], true]);
  });

  test("of fewer items than it may, and of none, ends", async () => {
    for (const count of [0, 1, 3]) {
      const found = await Array.fromAsync(readAhead(counted(count).items, 8));
      expect(found).toEqual(Array.from({ length: count }, (_, at) => at));
    }
  });

  test("throws a failure where its item is used", async () => {
    const seen: number[] = [];
    const use = async () => {
      for await (const item of readAhead(counted(10, 2).items, 8)) seen.push(item);
    };
    await expect(use()).rejects.toThrow("item 2");
    expect(seen).toEqual([0, 1]);
  });

  test("ends the reading when the caller stops early", async () => {
    const { state, items } = counted(100);
    for await (const item of readAhead(items, 4)) if (item === 1) break;
    expect([state.isEnded, state.read <= 6]).toEqual([true, true]);
  });
});
