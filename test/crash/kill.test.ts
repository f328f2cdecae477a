// kill -9 while the server works: after the next start, acknowledged memories exist, are complete, and are found
// exactly once; acknowledged deletions are not undone. All crashes happen on one data folder, one after the other.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RUNS_ALL } from "../support/extent.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { until } from "../support/until.ts";
import { allDone, expectWhole, ifAlive, listAll, note, storeBatch, timesFound } from "./notes.ts";

const dataDir = mkdtempSync(join(tmpdir(), "mneme-crash-"));
let running: RunningServer | null = null;
afterAll(async () => {
  await running?.kill();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Starts a server on the data folder; kills one that a failed test left running. */
const start = async () => {
  await running?.kill();
  running = await startServer({ dataDir, environment: { MNEME_EMBEDDER: ENGLISH } });
  return running;
};

/** Ids of the memories that must exist, by the number of their note. */
const stored = new Map<number, string>();
let nextNote = 0;

const isOneOf = (status: number | undefined, ...expected: number[]) =>
  status !== undefined && expected.includes(status);

for (const round of RUNS_ALL ? [1, 2, 3] : [1]) {
  describe(`crash round ${round}`, () => {
    test("killed while accepting: everything acknowledged exists, completes and is found", async () => {
      const server = await start();
      const attempted = new Map<string, number>();
      const acknowledged = new Map<number, string>();
      const accept = async () => {
        for (;;) {
          const n = nextNote++;
          attempted.set(note(n), n);
          const answer = await ifAlive(server, "POST", "/v1/memories", { content: note(n) });
          if (answer === null) return;
          expect(answer.status).toBe(202);
          acknowledged.set(n, (answer.body as { id: string }).id);
        }
      };
      const callers = [accept(), accept(), accept(), accept()];
      await until("40 memories are acknowledged", () => acknowledged.size >= 40);
      await server.kill();
      await Promise.all(callers);

      const again = await start();
      for (const [n, id] of acknowledged) stored.set(n, id);
      // the memory of an interrupted request may have been stored, but at most once
      for (const { id, content } of await listAll(again)) {
        const n = attempted.get(content);
        if (n !== undefined && !acknowledged.has(n)) {
          expect(stored.has(n)).toBeFalse();
          stored.set(n, id);
        }
      }
      await expectWhole(again, stored);
      await again.kill();
    });

    const batches = round === 1 ? 3 : 1;
    test(`killed while ingesting ${batches * 100} memories: none is lost, none is duplicated`, async () => {
      const server = await start();
      const before = stored.size;
      for (let batch = 0; batch < batches; batch++) {
        const numbers = Array.from({ length: 100 }, () => nextNote++);
        const ids = await storeBatch(server, numbers);
        for (const [at, n] of numbers.entries()) stored.set(n, ids[at] ?? "");
      }
      // each round kills a little later than the one before
      await until("some are completed", async () => {
        return (await listAll(server, "&status=completed")).length >= before + 20 * round;
      });
      await server.kill();

      const again = await start();
      await expectWhole(again, stored);
      await again.kill();
    });

    test("killed while deleting: acknowledged deletions stay, everything else exists", async () => {
      const server = await start();
      await allDone(server);
      const doomed = [...stored].filter(([n]) => n % 3 === 0).slice(-60);
      const gone = new Map<number, string>();
      const queue = doomed.values();
      const remove = async () => {
        for (const [n, id] of queue) {
          const answer = await ifAlive(server, "DELETE", `/v1/memories/${id}`);
          if (answer === null) return;
          expect(answer.status).toBe(204);
          gone.set(n, id);
        }
      };
      const callers = [remove(), remove(), remove()];
      await until("20 deletions are acknowledged", () => gone.size >= 20);
      await server.kill();
      await Promise.all(callers);

      const again = await start();
      for (const [n, id] of [...gone].slice(-5)) expect(await timesFound(again, id, n)).toBe(0);
      for (const [n, id] of gone) {
        expect((await again.call("GET", `/v1/memories/${id}`)).status).toBe(404);
        stored.delete(n);
      }
      // a memory whose deletion was interrupted may still exist
      for (const [n, id] of doomed) {
        const answer = gone.has(n) ? null : await again.call("GET", `/v1/memories/${id}`);
        expect(answer === null || isOneOf(answer.status, 200, 404)).toBeTrue();
        if (answer?.status === 404) stored.delete(n);
      }
      await expectWhole(again, stored);
      expect(await again.stop()).toBe(0);
    });
  });
}
