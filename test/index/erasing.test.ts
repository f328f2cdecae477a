// When the texts of purged memories are erased from the bytes of memories.duckdb.

import { afterAll, afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { key, MODEL, publication } from "../contract/chunk-index.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

const PROJECT = "prj_00000000000000000000000001" as ProjectId;
const home = temporaryFolder();
afterAll(() => home.remove());

let archive: Archive;
let index: EmbeddedChunkIndex;
let nowMs = 0;
const clock = spyOn(performance, "now").mockImplementation(() => nowMs);
afterAll(() => clock.mockRestore());

/** Milliseconds that one erasure takes. */
let erasureMs = 0;
beforeEach(async () => {
  const log = createLog("silent");
  archive = await Archive.open({ path: join(home.path, "memories.duckdb"), log });
  const eraseRemoved = archive.eraseRemoved.bind(archive);
  spyOn(archive, "eraseRemoved").mockImplementation(() => {
    nowMs += erasureMs;
    return eraseRemoved();
  });
  let nextChunkKey = 1n;
  index = new EmbeddedChunkIndex({
    directory: join(home.path, "projects"),
    archive,
    quarantine: new Quarantine(join(home.path, "quarantine"), systemClock),
    log,
    models: () => [MODEL],
    countDamaged: () => undefined,
    reserveChunkKeys: (count) => {
      nextChunkKey += BigInt(count);
      return nextChunkKey - BigInt(count);
    },
  });
});
afterEach(async () => {
  await index.close();
  await archive.close();
});

const isInFile = (text: string) =>
  readdirSync(home.path)
    .filter((name) => name.startsWith("memories.duckdb"))
    .some((name) => readFileSync(join(home.path, name)).includes(text));

test("a slow erasure rests for a while, except for a caller that cannot wait", async () => {
  const project = await index.project(PROJECT);
  for (const [memory, text] of [
    [1, "quixotic"],
    [2, "borogove"],
    [3, "slithy"],
  ] as const) {
    await project.publish([publication(memory, [`${text} is the first word.`])]);
  }
  erasureMs = 10_000;
  await index.purge([key(1)]);
  expect(await index.compact()).toBe(true);
  expect(isInFile("quixotic")).toBe(false);

  await index.purge([key(2)]);
  expect(await index.compact()).toBe(false); // the erasure rests for 25 s
  expect(isInFile("borogove")).toBe(true);
  expect(await index.compact(true)).toBe(true);
  expect(isInFile("borogove")).toBe(false);

  await index.purge([key(3)]);
  expect(await index.compact()).toBe(false);
  nowMs += 25_000;
  expect(await index.compact()).toBe(true);
  expect(isInFile("slithy")).toBe(false);
});

test("says that something is left while a backup reads the file", async () => {
  const project = await index.project(PROJECT);
  await project.publish([publication(4, ["frumious is the first word."])]);
  const snapshot = await archive.snapshot();
  await index.purge([key(4)]);
  expect(await index.compact(true)).toBe(false);
  await snapshot.close();
  expect(await index.compact(true)).toBe(true);
  expect(isInFile("frumious")).toBe(false);
});
