// Two servers on one PostgreSQL under mixed load, while either is killed. An oracle outside of them judges: nothing
// acknowledged is lost, nothing deleted is back, and what one node has answered, the other one shows at once.
// MNEME_TEST_NODE_KILLS sets the number of kills.

import { expect, test } from "bun:test";
import { Oracle, describe as textOf } from "../crash/oracle/oracle.ts";
import { newWriters, WRITER_ENVIRONMENT } from "../crash/oracle/writers.ts";
import { emptyDatabase, withPostgres } from "../stores/open-postgres.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { rounds } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import { startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { TEST_TIMEOUT_MS } from "../support/until.ts";
import { Pair } from "./pair.ts";

const KILLS = rounds("MNEME_TEST_NODE_KILLS", { all: 2, short: 0 });
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const WRITERS = 6;
/** Acknowledged changes before a kill, at most. */
const CHANGES_MAX = 60;
const SAMPLES_MAX = 20;
const KILL_MS = 300_000;

withPostgres("kills of nodes", () => {
  test.skipIf(KILLS === 0)(
    `${KILLS} kills of either node lose nothing acknowledged, bring nothing back and leave no job (MNEME_TEST_SEED=${SEED})`,
    async () => {
      const random = seeded(SEED);
      const database = await emptyDatabase();
      const folders = [temporaryFolder(), temporaryFolder()];
      const oracle = new Oracle();
      const writers = newWriters(oracle, WRITERS, SEED);
      const pair = new Pair(random, (at) =>
        startServer({
          dataDir: folders[at]?.path ?? "",
          environment: { ...WRITER_ENVIRONMENT, MNEME_STORE: database.url, MNEME_EMBEDDER: ENGLISH },
          flags: ["--log-level", "warn"],
        }),
      );
      try {
        for (let kill = 0; kill < KILLS; kill++) {
          await pair.startMissing();
          const enough = oracle.acknowledged + CHANGES_MAX;
          const killedAt = oracle.acknowledged + Math.floor(random() * CHANGES_MAX);
          const victim = kill % 2;
          let killing: Promise<void> | null = null;
          const isEnough = () => {
            if (killing === null && oracle.acknowledged >= killedAt) killing = pair.kill(victim);
            return oracle.acknowledged >= enough;
          };
          await Promise.all(writers.map((writer) => writer.write(pair, isEnough)));
          await (killing ?? pair.kill(victim));
          // every second time, the other node has to take over the jobs
          if (kill % 4 >= 2) await pair.startMissing();
          for (const node of pair.running) {
            const findings = textOf(await oracle.check(node, { samplesMax: SAMPLES_MAX }));
            expect(findings === "" ? "" : `kill ${kill + 1} of node ${victim}:\n${findings}`).toBe("");
          }
          expect(pair.stale).toEqual([]);
        }
        await pair.startMissing();
        for (const node of pair.running) expect(textOf(await oracle.check(node))).toBe("");
        const { acknowledged } = oracle;
        process.stdout.write(`${KILLS} kills, ${acknowledged} acknowledged changes, ${pair.looks} looks elsewhere\n`);
      } finally {
        await pair.stop();
        await database.giveBack();
        for (const folder of folders) folder.remove();
      }
    },
    Math.max(TEST_TIMEOUT_MS, KILL_MS * (KILLS + 1)),
  );
});
