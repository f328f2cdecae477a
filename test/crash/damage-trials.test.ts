// Damaged files of a data directory, after a clean stop and after kill -9: each trial ends with everything repaired, or
// with a refusal in one line. MNEME_TEST_DAMAGE sets the number of trials, and prints a table of their verdicts.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rounds } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";
import { chooseTrials, makeFixtures, nameOf, type Outcome, runTrial, tableOf } from "./damage-trials.ts";

const COUNT = rounds("MNEME_TEST_DAMAGE", { all: 12, short: 0 });
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const TRIAL_MS = 300_000;

const home = mkdtempSync(join(tmpdir(), "mneme-damage-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test.skipIf(COUNT === 0)(
  `${COUNT} damaged files: repaired, or refused with one line (MNEME_TEST_SEED=${SEED})`,
  async () => {
    const random = seeded(SEED);
    const outcomes: Outcome[] = [];
    const trials = chooseTrials(await makeFixtures(home, SEED), COUNT, random);
    for (const trial of trials) outcomes.push(await runTrial(home, trial, random));
    if (process.env.MNEME_TEST_DAMAGE !== undefined) process.stdout.write(`${tableOf(outcomes)}\n`);
    expect(outcomes).toHaveLength(COUNT);
    const wrong = outcomes.filter(({ verdict }) => verdict === "untidy" || verdict === "silent loss");
    expect(wrong.map(({ trial, verdict, note }) => `${verdict}: ${nameOf(trial)}\n${note}`).join("\n\n")).toBe("");
  },
  Math.max(TEST_TIMEOUT_MS, TRIAL_MS * COUNT),
);
