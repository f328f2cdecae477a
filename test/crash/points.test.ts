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

/** Kinds of work that are much alike. A short run has one point of each. */
const FAMILIES: Readonly<Record<CrashPoint["work"], "start" | "write" | "file" | "change" | "model" | "command">> = {
  "first start": "start",
  "start after a kill": "start",
  sweep: "start",
  compaction: "start",
  stop: "start",
  writes: "write",
  "one memory": "write",
  upload: "file",
  "long text": "file",
  "large memory": "file",
  "new content": "change",
  relations: "change",
  purge: "change",
  "model change": "model",
  "return to the previous model": "model",
  "forget the previous model": "model",
  "backup of a server": "command",
  forget: "command",
  reindex: "command",
};

const seed = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const chosen = process.env.MNEME_TEST_POINT;
const points =
  chosen === undefined
    ? representatives(CRASH_POINTS, ({ work }) => FAMILIES[work], seed)
    : CRASH_POINTS.filter(({ name }) => name.includes(chosen));

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
