// Kills at random under eight writers: the server at a random file operation or moment, also while it starts or changes
// the embedding model, and its children (lanes, preparation, document readers) while it works. MNEME_TEST_KILLS sets
// their number.

import { afterAll, describe, expect, test } from "bun:test";
import { rounds } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";
import { whyNoFaults } from "./faults/faults.ts";
import { describe as textOf } from "./oracle/oracle.ts";
import { Stage } from "./stage.ts";

const KILLS = rounds("MNEME_TEST_KILLS", { all: 8, short: 2 });
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const KILL_MS = 300_000;
/** A data directory is replaced after this many kills, so that checks stay fast. */
const KILLS_PER_STAGE = 25;

const reason = whyNoFaults();
if (reason !== null) process.stdout.write(`skipped: ${reason}\n`);

describe.skipIf(reason !== null)(`${KILLS} random kills (MNEME_TEST_SEED=${SEED})`, () => {
  let stage: Stage | null = null;
  afterAll(() => stage?.close());

  test(
    "nothing acknowledged is lost, nothing deleted is back",
    async () => {
      const random = seeded(SEED);
      const kinds = [
        "operation",
        "model change",
        "start",
        "operation",
        "child",
        "moment",
        "model change",
        "child",
      ] as const;
      const counts: Record<string, number> = {};
      let acknowledged = 0;
      for (let n = 0; n < KILLS; n++) {
        if (stage === null || n % KILLS_PER_STAGE === 0) {
          acknowledged += stage?.oracle.acknowledged ?? 0;
          await stage?.close();
          stage = new Stage(SEED + n, undefined, true);
        }
        const kind = kinds[n % kinds.length] ?? "moment";
        const killed = await stage.killAtRandom(kind, random);
        counts[killed] = (counts[killed] ?? 0) + 1;
        const findings = textOf(await stage.judge());
        expect(findings === "" ? "" : `kill ${n + 1} (${killed}):\n${findings}`).toBe("");
      }
      acknowledged += stage?.oracle.acknowledged ?? 0;
      process.stdout.write(`${KILLS} kills, ${acknowledged} acknowledged changes: ${JSON.stringify(counts)}\n`);
    },
    Math.max(TEST_TIMEOUT_MS, KILL_MS * KILLS),
  );
});
