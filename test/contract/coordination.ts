// Contract of the limits and requests in progress (src/ports/coordination.ts). Every implementation must pass it;
// `open` creates several processes' views of one, which agree with each other.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { PLANS } from "../../src/domain/project.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import {
  type Flights,
  type QueryQuotas,
  type RateWindow,
  type TokenLimits,
  UNLIMITED,
} from "../../src/ports/coordination.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { Transactions } from "../../src/ports/transactions.ts";
import { ManualClock } from "./manual-clock.ts";

/** One process's view. */
export interface Coordinating {
  /** Windows of 60 s, whose time is that of the test's clock. */
  readonly window: RateWindow;
  readonly quotas: QueryQuotas;
  readonly monthlyTokens: TokenLimits;
  readonly dailyTokens: TokenLimits;
  readonly flights: Flights;
}

/** Processes that agree. */
export interface OpenedCoordination {
  readonly nodes: readonly [Coordinating, Coordinating];
  readonly transactions: Transactions;
  /** A project with the plan `free`. */
  readonly project: ProjectId;
  close(): Promise<void>;
}

const WINDOW_MS = 60_000;

/** Runs the contract. */
export function coordinationContract(
  implementation: string,
  open: (clock: ManualClock) => Eventually<OpenedCoordination>,
): void {
  describe(`${implementation} as Coordination`, () => {
    let clock: ManualClock;
    let opened: OpenedCoordination;
    beforeEach(async () => {
      clock = new ManualClock();
      opened = await open(clock);
    });
    afterEach(() => opened.close());
    const node = (at: number) => opened.nodes[at % 2 === 0 ? 0 : 1];
    const everywhere = <T>(calls: number, call: (of: Coordinating, at: number) => Eventually<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: calls }, async (_, at) => call(node(at), at)));

    test("of 200 parallel requests at a limit of 100, exactly 100 are admitted", async () => {
      const states = await everywhere(200, ({ window }) => window.admit("k", 100));
      expect(states.filter(({ isAdmitted }) => isAdmitted)).toHaveLength(100);
      const refused = states.find(({ isAdmitted }) => !isAdmitted);
      expect(refused).toMatchObject({ limit: 100, remaining: 0, retryAfterSeconds: 60 });
      expect(await node(1).window.peek("k", 100)).toMatchObject({ isAdmitted: false, remaining: 0 });
      expect(await node(0).window.admit("other", 100)).toMatchObject({ isAdmitted: true, remaining: 99 });
    });

    test("a request is admitted if and only if fewer than the limit were admitted in the window before it", async () => {
      const admitted: number[] = [];
      for (let at = 0; at < 150; at++) {
        clock.advance((at * 7_919) % 9_001);
        const now = clock.now();
        const counted = admitted.filter((time) => time > now - WINDOW_MS);
        const state = await node(at).window.admit("k", 7);
        expect(state.isAdmitted).toBe(counted.length < 7);
        if (state.isAdmitted) admitted.push(now);
        const after = admitted.filter((time) => time > now - WINDOW_MS);
        expect(state.remaining).toBe(7 - after.length);
        expect(state.resetAtSeconds).toBe(Math.ceil(((after[0] ?? now) + WINDOW_MS) / 1000));
        const leaves = Math.ceil(((after[0] ?? now) + WINDOW_MS - now) / 1000);
        expect(state.retryAfterSeconds).toBe(state.isAdmitted ? 0 : leaves);
        expect((await node(at + 1).window.peek("k", 7)).remaining).toBe(state.remaining);
      }
      expect(admitted.length).toBeGreaterThan(30);
    });

    test("unlimited requests are not counted", async () => {
      const state = await node(0).window.admit("k", UNLIMITED);
      expect(state).toMatchObject({ isAdmitted: true, limit: UNLIMITED, remaining: UNLIMITED, retryAfterSeconds: 0 });
    });

    test("of 60 parallel requests with one slot, exactly one runs; the next one runs when it has ended", async () => {
      const flights = await everywhere(60, (of) => of.flights.begin("slot"));
      const running = flights.filter((flight) => flight !== null);
      expect(running).toHaveLength(1);
      expect(await node(0).flights.begin("other slot")).not.toBeNull();
      await running[0]?.end();
      const next = await node(1).flights.begin("slot");
      expect(next).not.toBeNull();
      await running[0]?.end(); // a late second call ends nothing
      expect(await node(0).flights.begin("slot")).toBeNull();
      await next?.end();
    });

    test("of parallel reservations exactly as many succeed as the plan has queries", async () => {
      const limit = PLANS.free.queriesPerMonth ?? 0;
      const reserve = async (of: Coordinating) => {
        try {
          return await of.quotas.reserve(opened.project);
        } catch (error) {
          return error instanceof Fault ? error.code : String(error);
        }
      };
      const results = await everywhere(limit + 20, reserve);
      const reserved = results.filter((result) => typeof result !== "string");
      expect(reserved).toHaveLength(limit);
      expect(new Set(results.filter((result) => typeof result === "string"))).toEqual(
        new Set(["query_quota_exceeded"]),
      );
      const [first, second] = reserved;
      await opened.transactions.run((tx) => first?.count(tx, { prompt: 1, completion: 1 }));
      first?.release();
      expect(await reserve(node(1))).toBe("query_quota_exceeded");
      second?.release();
      expect(typeof (await untilReserved(() => reserve(node(1))))).toBe("object");
      for (const each of reserved) each.release();
    });

    describe.each(["month", "day"] as const)("tokens of a %s", (period) => {
      const limitsOf = (of: Coordinating) => (period === "month" ? of.monthlyTokens : of.dailyTokens);
      const [limit, estimate, each] = [1_000, 170, 60];
      const { signal } = new AbortController();
      /** Counts the tokens of a call, as ingestion and answers do. */
      const count = () =>
        opened.transactions.run(async (tx) => {
          const tokens = { prompt: 50, completion: 10 };
          if (period === "month") await tx.accounts.countTokens(opened.project, tokens);
          else
            await tx.extractions.countTokens(
              { projectId: opened.project, memory: { key: 1 } } as unknown as Job,
              tokens,
            );
        });

      test("parallel calls of a language model use as many as if each had waited for the one before", async () => {
        const call = async (of: Coordinating) => {
          const { used, release } = await limitsOf(of).reserve(opened.project, estimate, [limit, 7], signal);
          if (used >= limit) return false;
          await count();
          release();
          release(); // a second call does nothing
          return true;
        };
        const made = (await everywhere(40, call)).filter(Boolean);
        expect(made).toHaveLength(Math.ceil(limit / each));
      });

      test("are not kept from calls that have limits of the other period only", async () => {
        const running = await limitsOf(node(0)).reserve(opened.project, limit, [limit], signal);
        const other = period === "month" ? node(1).dailyTokens : node(1).monthlyTokens;
        const free = await other.reserve(opened.project, limit, [limit], signal);
        expect(free.used).toBe(0);
        free.release();
        running.release();
      });
    });

    test("a call that waits for tokens ends when it is given up, and one without a limit never waits", async () => {
      const { project } = opened;
      const running = await node(0).monthlyTokens.reserve(project, 90, [50], new AbortController().signal);
      expect(running.used).toBe(0);
      const giving = new AbortController();
      const waiting = node(1).monthlyTokens.reserve(project, 1, [50], giving.signal);
      const free = await node(1).monthlyTokens.reserve(project, 1_000, [], giving.signal);
      free.release();
      giving.abort(new Error("given up"));
      await expect(waiting).rejects.toThrow("given up");
      running.release();
      const next = await node(1).monthlyTokens.reserve(project, 1, [50], new AbortController().signal);
      expect(next.used).toBe(0);
      next.release();
    });
  });
}

/** A release may take a moment. */
async function untilReserved<T>(reserve: () => Promise<T | string>): Promise<T | string> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const result = await reserve();
    if (typeof result !== "string") return result;
  }
  return "never";
}
