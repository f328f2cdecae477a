// Uploaded files whose removal is postponed while they are copied.

import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

test("a held file stays until nobody holds it any more; a file that is not removed stays anyway", async () => {
  const folder = temporaryFolder();
  const files = openSpool(folder.path, { clock: systemClock, log: createLog("silent") });
  const keep = async () => {
    const incoming = await files.begin();
    await incoming.end();
    return files.keep(incoming.path);
  };
  const [gone, stays] = [await keep(), await keep()];
  const [first, second] = [files.hold(), files.hold()];
  await files.remove(gone);
  await first();
  await first(); // a second call changes nothing
  expect(existsSync(files.pathOf(gone))).toBeTrue();
  await second();
  expect(existsSync(files.pathOf(gone))).toBeFalse();
  expect(existsSync(files.pathOf(stays))).toBeTrue();
  await files.remove(stays);
  expect(existsSync(files.pathOf(stays))).toBeFalse();
  folder.remove();
});
