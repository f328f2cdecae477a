// kill -9 at every named crash point: after the next start nothing acknowledged is lost, nothing deleted is back, every
// text is the newest, and every memory ends its processing. A point that is never reached fails.

import { afterAll, describe, expect, test } from "bun:test";
import { representatives } from "../support/extent.ts";
import { whyNoFaults } from "./faults/faults.ts";
import { describe as textOf } from "./oracle/oracle.ts";
import { CRASH_POINTS, type CrashPoint } from "./points.ts";
import { Stage } from "./stage.ts";

const reason = whyNoFaults();
if (reason !== null) process.stdout.write(`skipped: ${reason}\n`);

/** Number of crashes of a data directory. */
const POINTS_PER_DIRECTORY = 16;

const seed = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const chosen = process.env.MNEME_TEST_POINT;
const points =
  chosen === undefined
    ? representatives(CRASH_POINTS, familyOf, seed)
    : CRASH_POINTS.filter(({ name }) => name.includes(chosen));

/** A kind of work, and the step of it that the name begins with, such as "publish". */
function familyOf({ work, name }: CrashPoint): string {
  return `${work} ${name.includes(": ") ? name.split(": ")[0] : ""}`;
}

describe.skipIf(reason !== null)(`killed at a crash point (seed ${seed})`, () => {
  let stage: Stage | null = null;
  afterAll(() => stage?.close());

  for (const [at, point] of points.entries()) {
    test(`${point.work}: ${point.name}`, async () => {
      // A first start needs a directory of its own. A change of the model computes the vectors of all memories again,
      // so the first one begins with few memories. Everything in a directory is compared after each crash.
      const isFirstChange = point === CRASH_POINTS.find(({ work }) => work === "model change");
      if (point.work === "first start" || isFirstChange || stage === null || at % POINTS_PER_DIRECTORY === 0) {
        await stage?.close();
        stage = new Stage(seed);
      }
      expect(await stage.reach(point)).toBeTrue();
      expect(textOf(await stage.judge())).toBe("");
    });
  }
});
