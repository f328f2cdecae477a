// kill -9 of `mneme backup` and `mneme restore` at every named crash point. A backup that did not end is never taken
// for a whole one, and harms no earlier one. A restore that did not end is said by the next start, and can be repeated.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { representatives } from "../support/extent.ts";
import { CommandStage } from "./command-stage.ts";
import { whyNoFaults } from "./faults/faults.ts";
import { describe as textOf } from "./oracle/oracle.ts";
import { BACKUP_POINTS, type CrashPoint, RESTORE_POINTS } from "./points.ts";

const reason = whyNoFaults();
if (reason !== null) process.stdout.write(`skipped: ${reason}\n`);

const seed = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const chosen = process.env.MNEME_TEST_POINT;
const choose = <Point extends CrashPoint<string>>(points: readonly Point[]) =>
  chosen === undefined
    ? representatives(points, () => "any", seed)
    : points.filter(({ name }) => name.includes(chosen));
const [backups, restores] = [choose(BACKUP_POINTS), choose(RESTORE_POINTS)];

const isSkipped = reason !== null || backups.length + restores.length === 0;
describe.skipIf(isSkipped)(`a command killed at a crash point (seed ${seed})`, () => {
  let stage: CommandStage;
  beforeAll(async () => {
    stage = await CommandStage.create(seed);
  });
  afterAll(() => stage?.close());

  for (const point of backups) {
    test(`${point.work}: ${point.name}`, async () => {
      expect(await stage.reachInBackup(point)).toBeTrue();
      expect(await stage.listed()).toEqual({ complete: point.leaves, damaged: [] });
      // what the earlier backup restores is judged once, in the test below
      if (point.leaves.includes("earlier")) expect(stage.hasEarlier()).toBeTrue();
      if (point.leaves.at(-1) === "new") {
        await stage.restoreNew();
        expect(textOf(await stage.judge("new"))).toBe("");
      }
      await stage.backUp();
      expect(await stage.listed()).toEqual({ complete: [...point.leaves, "new"], damaged: [] });
    });
  }

  test("the earlier backup restores its state", async () => {
    await stage.restoreNew("kept");
    expect(textOf(await stage.judge("earlier"))).toBe("");
  });

  for (const point of restores) {
    test(`${point.work}: ${point.name}`, async () => {
      expect(await stage.reachInRestore(point)).toBeTrue();
      const { exitCode, stderr } = await stage.serve();
      expect(stderr).toMatch(/^mneme: A restore into \S+ has not ended: run mneme restore again, or remove \S+\.\n$/);
      expect(exitCode).toBe(1);
      await stage.restore();
      expect(textOf(await stage.judge("new"))).toBe("");
    });
  }
});
