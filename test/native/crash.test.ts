// Tests which chunks exist after a process was killed (SIGKILL) while it published, at many points of its rounds.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { addon, NativeError } from "../../src/adapters/native/addon.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { rounds } from "../support/extent.ts";
import { killMidway } from "../support/kill-midway.ts";
import { seeded } from "../support/seeded.ts";
import { until } from "../support/until.ts";
import { chunkKeysOf, MODEL, openIndex, SEED } from "./corpus.ts";

const KILLS = rounds("MNEME_TEST_KILLS", { all: 12, short: 4 });
const FIXTURES = join(import.meta.dir, "fixtures");

/** The chunks of each memory after the rounds up to `last` were acknowledged (see fixtures/publishing.ts). */
function expectedAfter(last: number): Map<bigint, bigint[]> {
  const chunks = new Map<bigint, bigint[]>();
  for (let round = 1; round <= last; round++) {
    for (const offset of [0n, 1n, 2n, 3n]) {
      chunks.set(BigInt(round) + offset, chunkKeysOf(BigInt(round) + offset, round, 3));
    }
  }
  return chunks;
}

test(`after a kill -9 at any point of a round, everything acknowledged is there (seed ${SEED}, ${KILLS} kills)`, async () => {
  const random = seeded(SEED);
  for (let kill = 0; kill < KILLS; kill++) {
    const folder = temporaryFolder();
    // The process is killed `moreMs` after it has printed `lines` lines. After an odd number of lines, a round is being
    // published.
    const lines = 1 + Math.floor(random() * 40);
    const moreMs = random() * 12;
    const printed = await killMidway(join(FIXTURES, "publishing.ts"), folder.path, lines, moreMs);
    const acknowledged = printed.filter((line) => line.startsWith("done ")).length;
    const begun = printed.filter((line) => line.startsWith("begun ")).length;
    const point = `killed ${moreMs.toFixed(1)} ms after line ${lines}: ${begun} rounds begun, ${acknowledged} done`;

    const options = {
      directory: folder.path,
      newModel: MODEL,
    };
    const { index, repairs } = await openIndex(options);
    expect([point, repairs.filter((sentence) => !sentence.includes("unfinished append"))]).toEqual([point, []]);
    const expected = expectedAfter(acknowledged);
    // A round that began but was not acknowledged may have replaced the chunks of some of its memories.
    const inDoubt = new Set(begun > acknowledged ? [0n, 1n, 2n, 3n].map((offset) => BigInt(begun) + offset) : []);
    const certain = [...expected]
      .filter(([memoryKey]) => !inDoubt.has(memoryKey))
      .flatMap(([, chunkKeys]) => chunkKeys);
    const possible = new Set(
      [...inDoubt].flatMap((key) => [...(expected.get(key) ?? []), ...chunkKeysOf(key, begun, 3)]),
    );
    const differences = await index.reconcile(BigUint64Array.from(certain));
    expect([point, [...differences.missingVectors], [...differences.missingPostings]]).toEqual([point, [], []]);
    const extra = [...differences.extraVectors, ...differences.extraPostings].filter((key) => !possible.has(key));
    expect([point, extra]).toEqual([point, []]);
    const passages = await index.passages(BigUint64Array.from(certain));
    expect(passages.map((passage) => passage?.text)).toEqual(certain.map((key) => `passage ${key}`));
    await index.close();
    folder.remove();
  }
});

test("a locked directory is refused to other processes, and free once the holder is killed", async () => {
  const folder = temporaryFolder();
  const child = Bun.spawn([process.execPath, join(FIXTURES, "holding-lock.ts"), folder.path], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  await reader.read();
  expect(codeOfLocking(folder.path)).toBe("locked");
  child.kill("SIGKILL");
  await child.exited;
  await until("the lock is free", () => codeOfLocking(folder.path) === "free");
  folder.remove();
});

function codeOfLocking(path: string): string {
  try {
    addon().lockDirectory(path).release();
    return "free";
  } catch (cause) {
    if (cause instanceof NativeError) return cause.code;
    throw cause;
  }
}
