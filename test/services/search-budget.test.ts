// A strict budget beyond the capacity of a server. Servers are simulated: the work of searches waits for lanes, which
// prefer short work as the real ones do (src/adapters/inference/schedule.ts). Time is virtual, so that minutes of load
// take a moment and do not depend on the machine.

import { describe, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import { MODE_NAMES, type ModeName } from "../../src/domain/ranking.ts";
import { SearchBudget } from "../../src/services/search-budget.ts";
import type { QueuedWork } from "../../src/services/search-queue.ts";
import { NO_QUEUE } from "../support/asker.ts";
import { seeded } from "../support/seeded.ts";

const BUDGETS: Readonly<Record<ModeName, number>> = { fast: 100, hybrid: 150, balanced: 300, precise: 800 };
/** Time in milliseconds that a lane takes for a search. */
const COSTS: Readonly<Record<ModeName, number>> = { fast: 6, hybrid: 9, balanced: 34, precise: 60 };
const ONE = "proj_one" as ProjectId;
const OTHER = "proj_other" as ProjectId;

/** A search that a client sends. */
interface Sent {
  readonly atMs: number;
  readonly mode: ModeName;
  readonly projectId: ProjectId;
}

/** How it ended. */
interface Ended extends Sent {
  /** Time until the answer; null if it was refused. */
  readonly tookMs: number | null;
  readonly retryAfterSeconds: number | undefined;
}

/** Time in milliseconds of the first part of a search, which embeds the question. The rest is reranking, if any. */
const FIRST_COST_MS = 9;
/** So many first parts may overtake a second part. */
const OVERTAKING_MAX = 16;

/** Work for a lane. */
interface Work {
  readonly costMs: number;
  readonly end: () => void;
}

/** Sends searches at their times to a server whose lanes are `slowness` times as slow as `COSTS`. */
class Server {
  readonly #lanes: number;
  readonly #slowness: number;
  readonly #random = seeded(2_411);
  readonly budget: SearchBudget;
  readonly refused: ModeName[] = [];
  readonly #ended: Ended[] = [];
  readonly #first: Work[] = [];
  readonly #second: Work[] = [];
  #overtaking = 0;
  /** Running searches, with the times at which they end. */
  #running: { readonly endsAt: number; readonly end: () => void }[] = [];
  #now = 0;

  constructor({ budgetFactor = 1, lanes = 2, slowness = 1 } = {}) {
    this.#lanes = lanes;
    this.#slowness = slowness;
    this.budget = new SearchBudget({
      budgetFactor,
      queue: NO_QUEUE,
      onRefused: (mode) => this.refused.push(mode),
      now: () => this.#now,
    });
  }

  /** @param searches in the order of their times */
  async answer(searches: readonly Sent[]): Promise<readonly Ended[]> {
    const waiting = searches.map((search) => ({ ...search, atMs: this.#now + search.atMs }));
    const before = this.#ended.length;
    for (;;) {
      for (let next: Work | undefined; this.#running.length < this.#lanes; ) {
        next = this.#take();
        if (next === undefined) break;
        this.#running.push({ endsAt: this.#now + next.costMs, end: next.end });
      }
      const arrivesAt = waiting[0]?.atMs ?? Number.POSITIVE_INFINITY;
      const [first] = this.#running.toSorted((a, b) => a.endsAt - b.endsAt);
      if (first === undefined && waiting.length === 0) return this.#ended.slice(before);
      if (first !== undefined && first.endsAt <= arrivesAt) {
        this.#now = first.endsAt;
        this.#running = this.#running.filter((one) => one !== first);
        first.end();
      } else {
        this.#now = arrivesAt;
        const search = waiting.shift();
        if (search) void this.#send(search);
      }
      for (let turn = 0; turn < 16; turn++) await Promise.resolve();
    }
  }

  #take(): Work | undefined {
    const isSecond = this.#first.length === 0 || (this.#overtaking >= OVERTAKING_MAX && this.#second.length > 0);
    this.#overtaking = isSecond ? 0 : this.#overtaking + 1;
    return isSecond ? this.#second.shift() : this.#first.shift();
  }

  async #search(mode: ModeName): Promise<void> {
    const factor = this.#slowness * (0.6 + 0.8 * this.#random());
    const first = Math.min(COSTS[mode], FIRST_COST_MS);
    await new Promise<void>((end) => this.#first.push({ costMs: first * factor, end }));
    const second = COSTS[mode] - first;
    if (second > 0) await new Promise<void>((end) => this.#second.push({ costMs: second * factor, end }));
  }

  async #send(search: Sent): Promise<void> {
    const sentAt = this.#now;
    let retryAfterSeconds: number | undefined;
    let tookMs: number | null = null;
    try {
      await this.budget.run(workOf(search), () => this.#search(search.mode));
      tookMs = this.#now - sentAt;
    } catch (error) {
      expect(error).toMatchObject({ code: "overloaded" });
      expect(this.#now).toBe(sentAt); // refused at once
      ({ retryAfterSeconds } = error as { retryAfterSeconds: number });
    }
    this.#ended.push({ ...search, tookMs, retryAfterSeconds });
  }
}

/** Searches at random times, `perSecond` on average. */
function load(perSecond: number, seconds: number, modes: readonly ModeName[], projectId = ONE): readonly Sent[] {
  const random = seeded(perSecond);
  const searches: Sent[] = [];
  const gapMs = () => Math.log(1 / (1 - random())) * (1_000 / perSecond);
  for (let atMs = gapMs(); atMs < seconds * 1_000; atMs += gapMs()) {
    searches.push({ atMs, mode: modes[Math.floor(random() * modes.length)] ?? "fast", projectId });
  }
  return searches;
}

const atOnce = (count: number, mode: ModeName, projectId = ONE): readonly Sent[] =>
  Array.from({ length: count }, () => ({ atMs: 0, mode, projectId }));

const answered = (ended: readonly Ended[]) => ended.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]));
const p95 = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
const capacityOf = (mode: ModeName) => 2_000 / COSTS[mode];

describe("beyond capacity", () => {
  for (const mode of MODE_NAMES) {
    for (const times of [1.1, 2, 5]) {
      test(`${mode} at ${times} times the capacity: p95 within the budget, and as many answers as without limit`, async () => {
        const server = new Server();
        await server.answer(load(capacityOf(mode) * times, 10, [mode])); // the burst is used up here
        const ended = await server.answer(load(capacityOf(mode) * times, 60, [mode]));
        expect(p95(answered(ended))).toBeLessThanOrEqual(BUDGETS[mode]);
        expect(answered(ended).length / (60 * capacityOf(mode))).toBeGreaterThan(0.93);
        expect(server.refused.length).toBeGreaterThan(0);
      });
    }
  }

  test("with all modes mixed, each keeps its budget", async () => {
    const server = new Server();
    await server.answer(load(200, 10, MODE_NAMES));
    const ended = await server.answer(load(200, 120, MODE_NAMES));
    for (const mode of MODE_NAMES) {
      const times = answered(ended.filter((one) => one.mode === mode));
      expect(times.length).toBeGreaterThan(0);
      expect(p95(times)).toBeLessThanOrEqual(BUDGETS[mode]);
    }
  });

  test("says after how many seconds to try again", async () => {
    const ended = await new Server().answer(load(2_000, 10, ["precise"]));
    const waits = ended.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
    expect(waits.length).toBeGreaterThan(0);
    for (const seconds of waits) expect([seconds >= 1, seconds <= 30, seconds % 1]).toEqual([true, true, 0]);
  });

  test("a project with few searches is let in while another one floods the server", async () => {
    const flood = load(1_000, 30, ["fast"]);
    const few = load(10, 30, ["fast"], OTHER);
    const server = new Server();
    await server.answer(flood);
    const ended = await server.answer([...flood, ...few].toSorted((a, b) => a.atMs - b.atMs));
    const ofOther = ended.filter(({ projectId }) => projectId === OTHER);
    expect(answered(ofOther).length).toBe(few.length);
    expect(p95(answered(ofOther))).toBeLessThanOrEqual(2 * BUDGETS.fast);
    expect(answered(ended).length).toBeLessThan(ended.length);
  });

  test("hardly any search is refused at 80 % of the capacity", async () => {
    for (const mode of MODE_NAMES) {
      const server = new Server();
      const ended = await server.answer(load(capacityOf(mode) * 0.8, 60, [mode]));
      expect(server.refused.length).toBeLessThan(0.02 * ended.length);
    }
  });

  test("the budgets can be raised", async () => {
    const searches = load(capacityOf("fast") * 2, 20, ["fast"]);
    const raised = new Server({ budgetFactor: 3 });
    await raised.answer(searches);
    const times = p95(answered(await raised.answer(searches)));
    expect([times > BUDGETS.fast, times <= 3 * BUDGETS.fast]).toEqual([true, true]);
  });
});

describe("a burst", () => {
  test("of 64 searches is answered whole, also the first one after the start, in every mode", async () => {
    for (const mode of MODE_NAMES) {
      const server = new Server();
      for (let burst = 0; burst < 3; burst++) {
        expect(answered(await server.answer(atOnce(64, mode))).length).toBe(64);
        await server.answer([{ atMs: 60_000, mode, projectId: ONE }]); // a minute later
      }
    }
  });

  test("that does not end is refused after about a second", async () => {
    const server = new Server();
    const ended = await server.answer(load(capacityOf("balanced") * 2, 10, ["balanced"]));
    const refusedFrom = ended.find(({ tookMs }) => tookMs === null)?.atMs ?? 0;
    expect(refusedFrom).toBeGreaterThan(900);
    expect(refusedFrom).toBeLessThan(3_000);
  });
});

describe("a slow machine", () => {
  test("answers four searches at once although one alone takes longer than its budget", async () => {
    const server = new Server({ slowness: 20 });
    await server.answer(load(5, 60, ["balanced"])); // uses up the burst
    const ended = await server.answer(Array.from({ length: 20 }, (_, at) => atOnceAt(at * 5_000)).flat());
    expect(answered(ended).length).toBe(80);
  });

  test("and a fast one find out what they can do", async () => {
    const counts: number[] = [];
    for (const slowness of [0.2, 5]) {
      const server = new Server({ slowness });
      const rate = (capacityOf("precise") / slowness) * 2;
      await server.answer(load(rate, 30, ["precise"]));
      const ended = await server.answer(load(rate, 30, ["precise"]));
      expect(p95(answered(ended))).toBeLessThanOrEqual(Math.max(BUDGETS.precise, 4 * COSTS.precise * slowness));
      counts.push(answered(ended).length / ((30 * capacityOf("precise")) / slowness));
    }
    for (const share of counts) expect(share).toBeGreaterThan(0.9);
  });
});

describe("measurements", () => {
  test("do not count failed searches, which end sooner", async () => {
    const server = new Server();
    const failing = () => Promise.reject(new Error("no model"));
    for (let at = 0; at < 200; at++) {
      await expect(server.budget.run(workOf({ mode: "fast", projectId: ONE }), failing)).rejects.toThrow("no model");
    }
    await server.answer(load(capacityOf("fast") * 2, 10, ["fast"]));
    const ended = await server.answer(load(capacityOf("fast") * 2, 30, ["fast"]));
    expect(p95(answered(ended))).toBeLessThanOrEqual(BUDGETS.fast);
  });

  test("a search that waits for a cold disk does not make the server refuse the next ones", async () => {
    let now = 0;
    const budget = new SearchBudget({ budgetFactor: 1, queue: NO_QUEUE, now: () => now });
    const search = workOf({ mode: "fast", projectId: ONE });
    await budget.run(search, async () => {
      now += 30_000;
    });
    const ends: (() => void)[] = [];
    const running = Array.from({ length: 16 }, () =>
      budget.run(search, () => new Promise<void>((end) => ends.push(end))),
    );
    expect(ends.length).toBe(16);
    for (const end of ends) end();
    await Promise.all(running);
  });
});

function atOnceAt(atMs: number): readonly Sent[] {
  return atOnce(4, "balanced").map((search) => ({ ...search, atMs }));
}

function workOf({ mode, projectId }: Pick<Sent, "mode" | "projectId">): QueuedWork {
  return { projectId, task: mode, bytes: () => 0, signal: new AbortController().signal };
}
