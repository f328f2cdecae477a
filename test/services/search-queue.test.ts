// The queue of searches: who waits, in which order, for how long, and who is refused. Time is that of a manual clock.

import { describe, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import {
  FairQueue,
  type QueuedTask,
  type QueuedWork,
  UNITS,
  WAITING_BYTES_MAX,
  WAITING_MAX,
} from "../../src/services/search-queue.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { seeded } from "../support/seeded.ts";

const ONE = "proj_one" as ProjectId;
const OTHER = "proj_other" as ProjectId;
const PATIENCE_MS = 30_000;

/** One call of the queue in a test. */
interface Sent {
  readonly name: string;
  /** Ends the work. */
  readonly end: () => void;
  readonly hangUp: () => void;
  /** How it ended: `done`, or the code or message of the error; null if it has not ended. */
  outcome: string | null;
  retryAfterSeconds: number | undefined;
  waitedMs: number | undefined;
}

/** A queue with a capacity of `capacity` units. Work ends when a test says so. */
function openQueue({ capacity = 1, patienceMs = PATIENCE_MS } = {}) {
  const clock = new ManualClock();
  const began: string[] = [];
  const refused: QueuedTask[] = [];
  const waits: number[] = [];
  const queue = new FairQueue({
    patienceMs,
    capacity: () => ({ alone: capacity, shared: capacity }),
    clock,
    onRefused: (task) => refused.push(task),
    onWaited: (_task, waitedMs) => waits.push(waitedMs),
  });
  const send = (name: string, work: Partial<Omit<QueuedWork, "signal">> = {}): Sent => {
    const ended = Promise.withResolvers<void>();
    const caller = new AbortController();
    const sent: Sent = {
      name,
      end: () => ended.resolve(),
      hangUp: () => caller.abort(new Error("hung up")),
      outcome: null,
      retryAfterSeconds: undefined,
      waitedMs: undefined,
    };
    const all = { projectId: ONE, task: "fast", bytes: () => 100, ...work, signal: caller.signal } as const;
    queue
      .run(all, (waitedMs) => {
        began.push(name);
        sent.waitedMs = waitedMs;
        return ended.promise;
      })
      .then(
        () => {
          sent.outcome = "done";
        },
        (error) => {
          sent.outcome = error.code ?? error.message;
          sent.retryAfterSeconds = error.retryAfterSeconds;
        },
      );
    return sent;
  };
  /** Ends all work in progress, one after the other, until none is left; returns the order in which it began. */
  const finish = async (all: readonly Sent[]) => {
    for (let at = 0; at < began.length; at++) {
      all.find(({ name }) => name === began[at])?.end();
      await settle();
    }
    return began;
  };
  return { queue, clock, began, refused, waits, send, finish };
}

/** Runs what promises have to run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

describe("work", () => {
  test("begins at once while less than the capacity is in progress, and does not count as waiting", async () => {
    const { send, began, queue, waits } = openQueue({ capacity: 2 });
    const calls = [send("a"), send("b"), send("c")];
    await settle();
    expect(began).toEqual(["a", "b"]);
    expect(queue.load()).toEqual({ inProgress: 2, waiting: 1 });
    expect(calls[0]?.waitedMs).toBe(0);
    expect(waits).toEqual([]);
  });

  test("that waits begins when other work ends, and learns for how long it has waited", async () => {
    const { send, clock, queue, waits } = openQueue();
    const [first, second] = [send("a"), send("b")];
    await settle();
    clock.advance(1_234);
    first.end();
    await settle();
    expect(second.waitedMs).toBe(1_234);
    expect(waits).toEqual([1_234]);
    second.end();
    await settle();
    expect([first.outcome, second.outcome]).toEqual(["done", "done"]);
    expect(queue.load()).toEqual({ inProgress: 0, waiting: 0 });
  });

  test("that fails ends its turn, and its error reaches the caller", async () => {
    const { queue, send, began } = openQueue();
    const { signal } = new AbortController();
    const failing = queue.run({ projectId: ONE, task: "fast", bytes: () => 0, signal }, () =>
      Promise.reject(new Error("no model")),
    );
    send("next");
    await expect(failing).rejects.toThrow("no model");
    await settle();
    expect(began).toEqual(["next"]);
  });

  test("of one text and of searches shares the capacity; several texts have another one", async () => {
    const { send, began } = openQueue();
    const tokens = 65_536;
    send("search");
    send("text", { task: "embedding" });
    send("texts", { task: "embeddings", tokens });
    send("more texts", { task: "embeddings", tokens: 1 });
    await settle();
    expect(began).toEqual(["search", "texts"]);
  });
});

describe("patience", () => {
  test("ends the wait, not one millisecond earlier, and says when to try again", async () => {
    const { send, clock, queue, refused } = openQueue();
    const running = send("a");
    const waited = send("b");
    await settle();
    clock.advance(PATIENCE_MS - 1);
    await settle();
    expect(waited.outcome).toBeNull();
    clock.advance(1);
    await settle();
    expect(waited.outcome).toBe("overloaded");
    expect(waited.retryAfterSeconds).toBe(1);
    expect(refused).toEqual(["fast"]);
    expect(queue.load()).toEqual({ inProgress: 1, waiting: 0 });
    running.end();
    await settle();
    expect(queue.load()).toEqual({ inProgress: 0, waiting: 0 });
  });

  test("of 0 refuses at once what cannot begin at once", async () => {
    const { send } = openQueue({ patienceMs: 0 });
    send("a");
    const second = send("b");
    await settle();
    expect(second.outcome).toBe("overloaded");
  });

  test("the time to try again is the time for which searches wait now, at most 30 s", async () => {
    for (const [waitedMs, expected] of [
      [1, 1],
      [4_100, 5],
      [29_999, 30],
      [100_000, 30],
    ] as const) {
      const { send, clock } = openQueue({ patienceMs: 110_000 });
      const [first] = [send("a"), send("b")];
      await settle();
      clock.advance(waitedMs);
      first.end();
      await settle();
      const late = send("c");
      clock.advance(110_000);
      await settle();
      expect(late.retryAfterSeconds).toBe(expected);
    }
  });
});

describe("room", () => {
  test(`is for ${WAITING_MAX} calls, and the next one of the same project is refused at once`, async () => {
    const { send, queue, refused } = openQueue();
    send("running");
    const waiting = Array.from({ length: WAITING_MAX }, (_, at) => send(`w${at}`));
    await settle();
    expect(queue.load().waiting).toBe(WAITING_MAX);
    const beyond = send("beyond");
    await settle();
    expect(beyond.outcome).toBe("overloaded");
    expect(beyond.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(refused.length).toBe(1);
    expect(waiting.every(({ outcome }) => outcome === null)).toBe(true);
  });

  test(`is for ${WAITING_BYTES_MAX} bytes, and not for one more`, async () => {
    const { send } = openQueue();
    send("running", { bytes: () => WAITING_BYTES_MAX });
    const half = WAITING_BYTES_MAX / 2;
    const waiting = [send("a", { bytes: () => half }), send("b", { bytes: () => half })];
    const beyond = send("c", { bytes: () => 1 });
    await settle();
    expect(beyond.outcome).toBe("overloaded");
    expect(waiting.map(({ outcome }) => outcome)).toEqual([null, null]);
    waiting[0]?.hangUp();
    await settle();
    const again = send("d", { bytes: () => half });
    await settle();
    expect(again.outcome).toBeNull();
  });

  test("is made for a project with less waiting, by refusing the newest of the one that has the most", async () => {
    const { send } = openQueue();
    send("running");
    const flood = Array.from({ length: WAITING_MAX }, (_, at) => send(`w${at}`));
    const other = send("other", { projectId: OTHER });
    const others = Array.from({ length: 3 }, (_, at) => send(`o${at}`, { projectId: OTHER }));
    await settle();
    expect([other, ...others].map(({ outcome }) => outcome)).toEqual([null, null, null, null]);
    const refused = flood.filter(({ outcome }) => outcome === "overloaded").map(({ name }) => name);
    expect(refused).toEqual([3, 2, 1].map((fromEnd) => `w${WAITING_MAX - fromEnd}`));
  });
});

describe("a caller who hangs up", () => {
  test("leaves the queue at once, and frees its place and its bytes", async () => {
    const { send, queue, refused, began, finish } = openQueue();
    const calls = [send("a"), send("b", { bytes: () => WAITING_BYTES_MAX }), send("c", { bytes: () => 0 })];
    await settle();
    calls[1]?.hangUp();
    await settle();
    expect(calls[1]?.outcome).toBe("hung up");
    expect(queue.load()).toEqual({ inProgress: 1, waiting: 1 });
    const last = send("d", { bytes: () => WAITING_BYTES_MAX });
    await finish([...calls, last]);
    expect(began).toEqual(["a", "c", "d"]);
    expect(refused).toEqual([]);
  });

  test("before the call never enters it, and in the moment of its turn does not begin", async () => {
    const { send, queue, began } = openQueue();
    const gone = queue.run(
      { projectId: ONE, task: "fast", bytes: () => 0, signal: AbortSignal.abort(new Error("left")) },
      async () => began.push("gone"),
    );
    await expect(gone).rejects.toThrow("left");
    const [first, second, third] = [send("a"), send("b"), send("c")];
    await settle();
    first.end();
    await Promise.resolve();
    second.hangUp();
    await settle();
    expect(began).not.toContain("gone");
    second.end();
    await settle();
    expect(began).toContain("c");
    third.end();
    await settle();
    expect(queue.load()).toEqual({ inProgress: 0, waiting: 0 });
  });
});

test("closing refuses what waits and what comes, and lets end what is in progress", async () => {
  const { send, queue, refused } = openQueue();
  const [running, waiting] = [send("a"), send("b")];
  await settle();
  queue.close();
  const late = send("c");
  await settle();
  expect([running.outcome, waiting.outcome, late.outcome]).toEqual([null, "unavailable", "unavailable"]);
  running.end();
  await settle();
  expect(running.outcome).toBe("done");
  expect(queue.load()).toEqual({ inProgress: 0, waiting: 0 });
  expect(refused).toEqual([]);
});

describe("within a project", () => {
  test("short work goes before long work that came earlier", async () => {
    const { send, finish } = openQueue();
    const calls = [
      send("running"),
      send("precise", { task: "precise" }),
      send("balanced", { task: "balanced" }),
      send("fast"),
    ];
    expect(await finish(calls)).toEqual(["running", "fast", "balanced", "precise"]);
  });

  test("long work is overtaken by no more later work than it is itself", async () => {
    const { send, began, clock } = openQueue();
    const calls = [send("running"), send("precise", { task: "precise" }), send("first"), send("second")];
    for (let at = 0; !began.includes("precise"); at++) {
      calls.push(...Array.from({ length: 20 }, (_, n) => send(`later ${at} ${n}`))); // more than can begin
      calls.find(({ name }) => name === began.at(-1))?.end();
      await settle();
      clock.advance(1);
    }
    expect(began.indexOf("precise") - 1).toBe(UNITS.precise);
  });

  test("the sentences of an answer go before searches that have not begun", async () => {
    const { send, finish } = openQueue();
    const calls = [send("running"), send("fast"), send("sentences", { task: "sentences" })];
    expect(await finish(calls)).toEqual(["running", "sentences", "fast"]);
  });
});

/** A search of a client that sends the next one as soon as this one is answered, or of a flood. */
interface Answered {
  readonly projectId: ProjectId;
  readonly task: QueuedTask;
  readonly tookMs: number;
}

/**
 * A server whose lanes do one unit of work per 10 ms, shared equally by what is in progress. Clients send one search
 * after the other, for `seconds` of virtual time.
 */
async function simulate(
  clients: readonly { readonly projectId: ProjectId; readonly tasks: readonly (keyof typeof UNITS)[] }[],
  seconds: number,
): Promise<readonly Answered[]> {
  const clock = new ManualClock();
  const queue = new FairQueue({ patienceMs: 1e9, capacity: () => ({ alone: 20, shared: 4 }), clock });
  const random = seeded(1_128);
  const running = new Set<{ leftMs: number; readonly end: () => void }>();
  const answered: Answered[] = [];
  const endsAt = clock.now() + seconds * 1_000;
  const { signal } = new AbortController();
  const client = async ({ projectId, tasks }: (typeof clients)[number]) => {
    while (clock.now() < endsAt) {
      const task = tasks[Math.floor(random() * tasks.length)] ?? "fast";
      const sentAt = clock.now();
      await queue.run({ projectId, task, bytes: () => 0, signal }, () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        running.add({ leftMs: UNITS[task] * 10, end: resolve });
        return promise;
      });
      answered.push({ projectId, task, tookMs: clock.now() - sentAt });
    }
  };
  const all = Promise.all(clients.map(client));
  await settle();
  while (running.size > 0) {
    const stepMs = Math.min(...[...running].map(({ leftMs }) => leftMs)) * running.size;
    const share = stepMs / running.size;
    clock.advance(stepMs);
    for (const one of running) {
      one.leftMs -= share;
      if (one.leftMs > 1e-6) continue;
      running.delete(one);
      one.end();
    }
    await settle();
  }
  await all;
  return answered;
}

const p95 = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;

describe("between projects", () => {
  const flood = (projectId: ProjectId, tasks: readonly (keyof typeof UNITS)[], clients: number) =>
    Array.from({ length: clients }, () => ({ projectId, tasks }));
  const unitsOf = (answered: readonly Answered[], project: ProjectId) =>
    answered
      .filter(({ projectId }) => projectId === project)
      .reduce((sum, { task }) => sum + UNITS[task as keyof typeof UNITS], 0);

  test("work is shared about equally, however many clients each has and whatever it asks", async () => {
    const answered = await simulate([...flood(ONE, ["fast"], 64), ...flood(OTHER, ["precise", "balanced"], 8)], 60);
    const share = unitsOf(answered, ONE) / (unitsOf(answered, ONE) + unitsOf(answered, OTHER));
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
  });

  test("a flood does not take the turns of a project that was idle before, and it leaves no debt", async () => {
    const { send, finish } = openQueue();
    const calls = [
      send("running"),
      ...Array.from({ length: 20 }, (_, at) => send(`flood ${at}`)),
      send("spare", { projectId: OTHER }),
      send("other 1", { projectId: OTHER }),
      send("other 2", { projectId: OTHER }),
    ];
    const order = await finish(calls);
    expect(order.indexOf("spare")).toBe(1); // beside what is in progress
    expect(order.indexOf("other 2")).toBeLessThanOrEqual(5);
    expect(order.length).toBe(calls.length);
  });

  test("every search of many projects gets its turn, long ones too, while others keep coming", async () => {
    const projects = Array.from({ length: 12 }, (_, at) => `proj_${at}` as ProjectId);
    const clients = projects.flatMap((projectId, at) => flood(projectId, at === 0 ? ["precise"] : ["fast"], 4));
    const answered = await simulate(clients, 60);
    const long = answered.filter(({ task }) => task === "precise");
    expect(long.length).toBeGreaterThan(40); // its twelfth of 6,000 units would be 55
    expect(Math.max(...long.map(({ tookMs }) => tookMs))).toBeLessThan(6_000); // 4 clients of its project take turns
  });

  for (const task of ["fast", "balanced", "precise"] as const) {
    test(`in ${task}, a flood of 32 clients delays another project's p95 by what may be in progress beside it`, async () => {
      const alone = await simulate(flood(OTHER, [task], 1), 30);
      const beside = await simulate([...flood(ONE, [task], 32), ...flood(OTHER, [task], 1)], 30);
      const ownMs = p95(alone.map(({ tookMs }) => tookMs));
      const besideMs = p95(beside.filter(({ projectId }) => projectId === OTHER).map(({ tookMs }) => tookMs));
      expect(besideMs - ownMs).toBeLessThanOrEqual(10 * Math.max(4, UNITS[task]));
    });
  }
});
