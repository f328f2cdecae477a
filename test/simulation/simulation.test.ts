// Runs simulations (docs/decisions/048-simulation.md). Each seed is one: requests, faults, crashes and the order of all
// calls. A failure prints its seed and the smallest variant of it that still fails.
//
// MNEME_TEST_SIMULATIONS=20000 runs more of them, MNEME_TEST_SEED=17 begins with this seed.

import { afterAll, expect, test } from "bun:test";
import { UnsyncedDatabase } from "../in-memory/unsynced-database.ts";
import { rounds } from "../support/extent.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";
import { type Plot, plotOf, simulate, type Trouble, type Violation } from "./simulation.ts";

const SIMULATIONS = rounds("MNEME_TEST_SIMULATIONS", { all: 300, short: 100 });
const FIRST_SEED = Number(process.env.MNEME_TEST_SEED ?? 1);
/** A long run must not be stopped by the timeout of a test. */
const TIMEOUT_MS = Math.max(TEST_TIMEOUT_MS, 60_000 + SIMULATIONS * 500);

const database = new UnsyncedDatabase();
afterAll(() => database.close());

test(
  `no promise is violated in ${SIMULATIONS} simulations from seed ${FIRST_SEED} on`,
  async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SIMULATIONS; seed++) {
      const violation = await simulate(plotOf(seed), database);
      if (violation !== null) throw new Error(report(violation, await shrunk(violation)));
    }
  },
  TIMEOUT_MS,
);

test("a seed always gives the same simulation", async () => {
  for (const seed of [3, 44, 205]) {
    const traces = [await traceOf(seed), await traceOf(seed)];
    expect(traces[0]?.length).toBeGreaterThan(100);
    expect(traces[1]).toEqual(traces[0]);
  }
});

test("requests, faults and crashes happen, and memories become searchable", async () => {
  const happened = new Set<string>();
  const requests = [
    ...["create", "upload", "change", "delete", "purge", "delete user", "retry", "get", "list", "search", "model of"],
  ].map((kind) => `REQUEST ${kind}`);
  const events = ["CRASH", "STOP", "FAILS", "slow", "jumps", "the commit failed"];
  for (let seed = 1; seed <= 60; seed++) {
    for (const line of await traceOf(seed)) {
      for (const each of [...requests, ...events]) {
        if (line.includes(each)) happened.add(each);
      }
      if (line.endsWith("transaction.jobs.complete end")) happened.add("completed");
      if (line.endsWith("index.swapModel begin")) happened.add("another model");
    }
  }
  expect([...happened].sort()).toEqual([...requests, ...events, "completed", "another model"].sort());
});

/** Trace of a simulation that violates nothing. */
async function traceOf(seed: number): Promise<readonly string[]> {
  const trace: string[] = [];
  await simulate(plotOf(seed), database, trace);
  return trace;
}

/** The smallest variant that still fails: kinds of trouble are left out, then requests. */
async function shrunk(violation: Violation): Promise<Violation> {
  let smallest = violation;
  const tryPlot = async (plot: Plot) => {
    const found = await simulate(plot, database);
    if (found !== null) smallest = found;
    return found !== null;
  };
  for (const kind of Object.keys(violation.plot.trouble) as (keyof Trouble)[]) {
    const { plot } = smallest;
    if (plot.trouble[kind] > 0) await tryPlot({ ...plot, trouble: { ...plot.trouble, [kind]: 0 } });
  }
  for (let requests = 1; requests < smallest.plot.requests; requests++) {
    if (await tryPlot({ ...smallest.plot, requests })) break;
  }
  return smallest;
}

function report(violation: Violation, smallest: Violation): string {
  const { seed } = violation.plot;
  return [
    `seed ${seed}: ${violation.problems.join("; ")}`,
    `Repeat it with MNEME_TEST_SEED=${seed} MNEME_TEST_SIMULATIONS=1.`,
    `Smallest variant: ${JSON.stringify(smallest.plot)}: ${smallest.problems.join("; ")}`,
    ...smallest.trace,
  ].join("\n");
}
