// How much the long tests do. `npx -y bun run test --all`, which .ci/run calls, runs all of each, and so does
// `npx -y bun run test FOLDER`. Otherwise they run one case of each family and fewer random rounds, or are left to a
// run of all, so that all tests together take minutes.

import { test } from "bun:test";
import { seeded } from "./seeded.ts";

/** Whether this is a run of all. */
export const RUNS_ALL = process.env.MNEME_TEST_ALL === "1";

/** A test that only a run of all has, because it takes long and others promise most of it. */
export const testOfAll = RUNS_ALL ? test : test.skip;

/** Number of rounds: what the variable says, or what belongs to the extent of this run. */
export function rounds(variable: string, { all, short }: { readonly all: number; readonly short: number }): number {
  return Number(process.env[variable] ?? (RUNS_ALL ? all : short));
}

/**
 * All cases in a run of all; otherwise one of each family, which the seed chooses.
 * @param seed default: another one in each run
 */
export function representatives<Case>(
  cases: readonly Case[],
  familyOf: (one: Case) => string,
  seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0,
): readonly Case[] {
  if (RUNS_ALL) return cases;
  const chance = seeded(seed);
  const families = Map.groupBy(cases, familyOf);
  const chosen = new Set([...families.values()].map((family) => family[Math.floor(chance() * family.length)]));
  return cases.filter((one) => chosen.has(one));
}
