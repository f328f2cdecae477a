// kill -9 at every named crash point of a start that migrates the data directory of an old version: the next start goes
// on, and everything is there.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { representatives } from "../support/extent.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { answersOf, keptDirectories, schemaOf, unpack } from "../upgrade/kept-directory.ts";
import { Faults, whyNoFaults } from "./faults/faults.ts";
import { MIGRATION_POINTS } from "./points.ts";

const reason = whyNoFaults();
if (reason !== null) process.stdout.write(`skipped: ${reason}\n`);

const [oldest = ""] = keptDirectories();
const home = mkdtempSync(join(tmpdir(), "mneme-migration-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const seed = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const chosen = process.env.MNEME_TEST_POINT;
const points =
  chosen === undefined
    ? representatives(MIGRATION_POINTS, ({ at }) => String(at.paths), seed)
    : MIGRATION_POINTS.filter(({ name }) => name.includes(chosen));

describe.skipIf(reason !== null)(`the migration of ${oldest} is killed (seed ${seed})`, () => {
  for (const [number, { name, at, when, skip = 0 }] of points.entries()) {
    test(name, async () => {
      const dataDir = join(home, String(number));
      const expected = unpack(oldest, dataDir);
      const faults = new Faults(dataDir);
      faults.arm({ ...at, action: { kind: "kill", when }, skip });
      const started = startServer({ dataDir, environment: faults.environment }).then(
        (server) => server,
        () => "killed before it was ready",
      );
      await until("the point is reached", () => faults.acted > 0);
      const server = await started;
      if (typeof server !== "string") await server.kill();
      faults.close();
      await using next = await startServer({ dataDir });
      expect(await answersOf(next, expected)).toEqual(expected);
      expect(schemaOf(dataDir)).toEqual(schemaOf(mkdtempSync(join(home, "new-"))));
    });
  }
});
