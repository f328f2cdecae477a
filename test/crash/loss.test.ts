// Lost and damaged files of record: whatever happens to one of them, the next start either has everything that was
// acknowledged, or refuses with one sentence. It never shows an older state.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import type { MemoryId } from "../../src/domain/ids.ts";
import { createLog } from "../../src/kit/log.ts";
import { StoreError } from "../../src/stores/store-error.ts";
import { runMneme } from "../support/command.ts";
import { flipBit } from "../support/damage.ts";
import { rounds } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import { copyAsKilled, type Oracle, openRecordStores, wrongAnswers } from "./record-stores.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
/** Flips and cuts of each file. */
const TRIALS = rounds("MNEME_TEST_DAMAGES", { all: 6, short: 2 });
const FILES = [
  ...["mneme.sqlite", "mneme.sqlite-wal", "mneme.sqlite-shm", "mneme.sqlite-commits", "mneme.sqlite-sums"],
  ...["memories.duckdb", "memories.duckdb.wal"],
];

const home = mkdtempSync(join(tmpdir(), "mneme-loss-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** States of one data directory, each as it would be found after a kill, or after a stop. */
const olderKilled = join(home, "older-killed");
const older = join(home, "older");
const killed = join(home, "killed");
const stopped = join(home, "stopped");
const oracle: Oracle = new Map();

beforeAll(async () => {
  const dataDir = join(home, "work");
  let open = await openRecordStores(dataDir);
  const write = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const content = `note ${n} ${"some words of it ".repeat(20)}`;
      oracle.set((await open.accept(content)).id, content);
      if (n % 8 === 7) await open.publish();
    }
    await open.publish();
  };
  await write(0, 40);
  copyAsKilled(dataDir, olderKilled);
  await open.close();
  copyAsKilled(dataDir, older);
  open = await openRecordStores(dataDir);
  await write(40, 60);
  const [first = "", second = "", third = ""] = oracle.keys();
  for (const id of [first, second]) {
    await open.stores.memories.remove(open.projectId, id as never);
    oracle.set(id as never, null);
  }
  await open.stores.memories.change(open.projectId, third as never, { content: "another text" });
  oracle.set(third as never, "another text");
  await open.publish();
  await open.accept("never published").then(({ id }) => oracle.set(id, "never published"));
  copyAsKilled(dataDir, killed);
  await open.close();
  copyAsKilled(dataDir, stopped);
});

let copies = 0;
function copyOf(state: string): string {
  const dataDir = join(home, `copy-${copies++}`);
  cpSync(state, dataDir, { recursive: true });
  return dataDir;
}

/** Opens a directory. Returns the refusal; null if everything that was acknowledged is there. */
async function openedOrRefused(dataDir: string): Promise<StoreError | null> {
  let open: Awaited<ReturnType<typeof openRecordStores>>;
  try {
    open = await openRecordStores(dataDir);
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  try {
    expect(await wrongAnswers(open, oracle)).toEqual([]);
    return null;
  } finally {
    await open.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function refusalOf(dataDir: string): Promise<string> {
  const refusal = await openedOrRefused(dataDir);
  expect(refusal).toBeInstanceOf(StoreError);
  expect(refusal?.message).not.toContain("\n");
  return refusal?.message ?? "";
}

const sizeOf = (path: string) => statSync(path).size;

describe("undamaged", () => {
  for (const [name, state] of [
    ["killed", killed],
    ["stopped", stopped],
  ] as const) {
    test(`${name}: everything is there, also at the second start`, async () => {
      const dataDir = copyOf(state);
      for (let start = 0; start < 2; start++) {
        const open = await openRecordStores(dataDir);
        expect(await wrongAnswers(open, oracle)).toEqual([]);
        await open.close();
        expect(existsSync(join(dataDir, "quarantine"))).toBeFalse();
      }
    });
  }
});

describe("commits of mneme.sqlite are lost: the start names their number and the commands that help", () => {
  for (const [name, damage] of [
    ["its log is removed", (log: string) => rmSync(log)],
    ["its log is empty", (log: string) => truncateSync(log, 0)],
    ["its log is cut by three bytes", (log: string) => truncateSync(log, sizeOf(log) - 3)],
    ["one bit in the middle of its log is flipped", (log: string) => flipBit(log, sizeOf(log) * 4)],
    ["an older log is put back", (log: string) => cpSync(join(olderKilled, "mneme.sqlite-wal"), log)],
  ] as const) {
    test(name, async () => {
      const dataDir = copyOf(killed);
      damage(join(dataDir, "mneme.sqlite-wal"));
      rmSync(join(dataDir, "mneme.sqlite-shm"));
      const message = await refusalOf(dataDir);
      expect(message).toMatch(/mneme\.sqlite lacks its last \d+ commits? of \d+/);
      for (const command of ["mneme verify", "mneme restore", "--accept-loss"]) expect(message).toContain(command);
    });
  }

  test("older copies of all its files are put back", async () => {
    const dataDir = copyOf(stopped);
    for (const suffix of ["", "-wal", "-shm", "-commits", "-sums"]) {
      cpSync(join(older, `mneme.sqlite${suffix}`), join(dataDir, `mneme.sqlite${suffix}`));
    }
    expect(await refusalOf(dataDir)).toMatch(/mneme\.sqlite lacks .*memories\.duckdb has seen/);
  });

  test("a refusal changes nothing: with the log put back, everything is there", async () => {
    const dataDir = copyOf(killed);
    const log = join(dataDir, "mneme.sqlite-wal");
    const kept = readFileSync(log);
    rmSync(log);
    await refusalOf(dataDir);
    writeFileSync(log, kept);
    expect(await openedOrRefused(dataDir)).toBeNull();
  });

  test("a damaged log of which nothing is needed is moved to the quarantine", async () => {
    const dataDir = copyOf(stopped);
    cpSync(join(olderKilled, "mneme.sqlite-wal"), join(dataDir, "mneme.sqlite-wal"));
    const open = await openRecordStores(dataDir);
    expect(await wrongAnswers(open, oracle)).toEqual([]);
    await open.close();
    expect(existsSync(join(dataDir, "quarantine"))).toBeTrue();
  });
});

describe("commits of memories.duckdb are lost: the start names their number", () => {
  for (const [name, damage] of [
    ["its log is removed", (log: string) => rmSync(log)],
    ["its log is empty", (log: string) => truncateSync(log, 0)],
    ["its log is cut by three bytes", (log: string) => truncateSync(log, sizeOf(log) - 3)],
  ] as const) {
    test(name, async () => {
      const dataDir = copyOf(killed);
      damage(join(dataDir, "memories.duckdb.wal"));
      expect(await refusalOf(dataDir)).toMatch(/memories\.duckdb lacks its last (\d+ commits|commit) of \d+/);
    });
  }

  test("an older copy is put back", async () => {
    const dataDir = copyOf(stopped);
    cpSync(join(older, "memories.duckdb"), join(dataDir, "memories.duckdb"));
    rmSync(join(dataDir, "memories.duckdb.wal"), { force: true });
    expect(await refusalOf(dataDir)).toContain("memories.duckdb lacks");
  });
});

describe("a whole store is missing, empty or foreign", () => {
  for (const [name, damage] of [
    ["removed", (path: string) => rmSync(path)],
    ["empty", (path: string) => truncateSync(path, 0)],
  ] as const) {
    for (const file of ["mneme.sqlite", "memories.duckdb"]) {
      test(`${file} is ${name}`, async () => {
        const dataDir = copyOf(stopped);
        damage(join(dataDir, file));
        expect(await refusalOf(dataDir)).toContain(`${file} is missing or empty`);
      });
    }
  }

  test("mneme.sqlite is removed with all its other files", async () => {
    const dataDir = copyOf(stopped);
    for (const suffix of ["", "-wal", "-shm", "-commits", "-sums"]) rmSync(join(dataDir, `mneme.sqlite${suffix}`));
    expect(await refusalOf(dataDir)).toContain("mneme.sqlite is missing or empty beside memories.duckdb and projects");
  });

  for (const file of ["mneme.sqlite", "memories.duckdb", "mneme.sqlite-commits"]) {
    test(`${file} is the one of another data directory, which has more commits`, async () => {
      const other = join(home, `other-${file}`);
      const open = await openRecordStores(other);
      for (let n = 0; n < 20; n++) {
        for (let m = 0; m < 5; m++) await open.accept(`other ${n} ${m}`);
        await open.publish();
      }
      await open.close();
      const dataDir = copyOf(stopped);
      cpSync(join(other, file), join(dataDir, file));
      if (file === "mneme.sqlite") {
        for (const suffix of ["-commits", "-sums"]) cpSync(join(other, file + suffix), join(dataDir, file + suffix));
      }
      await refusalOf(dataDir);
    });
  }
});

describe("with an accepted loss, the start goes on with what is left", () => {
  const accepted = async (dataDir: string) => {
    const open = await openRecordStores(dataDir, { acceptLoss: true });
    const kept: string[] = [];
    const failed: string[] = [];
    for (const [id, content] of oracle) {
      const memory = await open.stores.memories.get(open.projectId, id);
      if (memory === null) continue;
      const text = (await open.index.contents([memory.key])).get(memory.key)?.content;
      if (memory.state.status === "failed") failed.push(id);
      if (memory.state.status === "failed") expect(text).toBeUndefined();
      else if (memory.state.status === "completed" && text === content) kept.push(id);
    }
    await open.close();
    return { kept: kept.length, failed: failed.length, quarantine: readdirSync(join(dataDir, "quarantine")) };
  };

  test("the log of memories.duckdb is lost: memories without their text have failed, and no older text is left", async () => {
    const dataDir = copyOf(killed);
    rmSync(join(dataDir, "memories.duckdb.wal"));
    const { kept, failed, quarantine } = await accepted(dataDir);
    expect(kept).toBeGreaterThan(0);
    expect(failed).toBeGreaterThan(0);
    expect(quarantine).toHaveLength(1);
    const again = await openRecordStores(dataDir);
    await again.close();
  });

  test("the log of mneme.sqlite is lost: texts without a memory are in the quarantine, damaged files as well", async () => {
    const dataDir = copyOf(killed);
    rmSync(join(dataDir, "mneme.sqlite-wal"));
    const { quarantine } = await accepted(dataDir);
    const folder = join(dataDir, "quarantine", quarantine[0] ?? "");
    expect(readdirSync(folder)).toContain("mneme.sqlite");
    const lines = readFileSync(join(folder, "lost-texts.jsonl"), "utf8").trim().split("\n");
    expect(lines.some((line) => JSON.parse(line).content.startsWith("note 59 "))).toBeTrue();
    const again = await openRecordStores(dataDir);
    await again.close();
  });

  test("the quarantine is emptied by a purge, and keeps 20 entries at most", async () => {
    const dataDir = copyOf(killed);
    const quarantine = join(dataDir, "quarantine");
    const entry = (n: number) => `202501${String(n).padStart(2, "0")}T000000.000Z-stores`;
    for (let n = 1; n <= 20; n++) mkdirSync(join(quarantine, entry(n)), { recursive: true });
    rmSync(join(dataDir, "memories.duckdb.wal"));
    const open = await openRecordStores(dataDir, { acceptLoss: true });
    const kept = readdirSync(quarantine);
    expect(kept).toHaveLength(20);
    expect(kept).not.toContain(entry(1));
    await open.index.purge([1n as never]);
    expect(readdirSync(quarantine)).toEqual([]);
    await open.close();
  });

  test("a flipped bit in the log of memories.duckdb: what comes before it is kept", async () => {
    const dataDir = copyOf(killed);
    flipBit(join(dataDir, "memories.duckdb.wal"), sizeOf(join(dataDir, "memories.duckdb.wal")) * 6);
    expect((await accepted(dataDir)).kept).toBeGreaterThan(0);
  });
});

describe("the commands", () => {
  test("`mneme serve` prints one line and no stack, and ends with exit code 1", async () => {
    const dataDir = copyOf(killed);
    rmSync(join(dataDir, "mneme.sqlite-wal"));
    const { exitCode, stderr } = runMneme(["serve", "--port", "0", "--data-dir", dataDir], home);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(/^mneme: .*mneme\.sqlite lacks its last \d+ commits/);
    expect(exitCode).toBe(1);
  });

  test("`mneme serve` says in one line why a path cannot be the data folder", () => {
    const file = join(home, "a-file");
    writeFileSync(file, "");
    for (const [dataDir, why] of [
      [file, "is a file"],
      [join(file, "below"), "is a file"],
      ["/proc/mneme", "this user cannot create it"],
    ] as const) {
      if (dataDir.startsWith("/proc") && process.platform !== "linux") continue;
      const { exitCode, stderr } = runMneme(["serve", "--port", "0", "--data-dir", dataDir], home);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(stderr).toContain(`mneme: ${dataDir} cannot be the data folder: `);
      expect(stderr).toContain(why);
      expect(exitCode).toBe(1);
    }
  });

  test("`mneme verify` finds nothing in sound stores, and ends with exit code 0", () => {
    const { exitCode, stdout } = runMneme(["verify", "--json", "--data-dir", copyOf(killed)], home);
    const live = [...oracle.values()].filter((content) => content !== null).length;
    expect(JSON.parse(stdout)).toMatchObject({ is_sound: true, memories: live, defects: [] });
    expect(exitCode).toBe(0);
  });

  test("`mneme verify` reports a store that cannot be used, and ends with exit code 1", () => {
    const dataDir = copyOf(killed);
    rmSync(join(dataDir, "mneme.sqlite-wal"));
    const { exitCode, stdout } = runMneme(["verify", "--data-dir", dataDir], home);
    expect(stdout).toContain("mneme.sqlite lacks its last");
    expect(exitCode).toBe(1);
  });

  test("`mneme verify` names what does not fit together: versions, hashes, surplus and missing files", async () => {
    const dataDir = copyOf(stopped);
    const open = await openRecordStores(dataDir);
    const [one, two, three] = [...oracle].filter(([, content]) => content?.startsWith("note ")).map(([id]) => id); // version 1
    const keyOf = async (id: MemoryId | undefined) =>
      (await open.stores.memories.get(open.projectId, id as never))?.key;
    const keys = [await keyOf(one), await keyOf(two), await keyOf(three)];
    await open.close();
    const archive = await Archive.open({ path: join(dataDir, "memories.duckdb"), log: createLog("silent") });
    const chunks: [] = [];
    const projectId = "prj_x" as never;
    await archive.replace([
      { projectId, memoryKey: keys[0] as never, version: 1, content: "not what was stored", chunks },
      { projectId, memoryKey: keys[1] as never, version: 7, content: "x", chunks },
      { projectId, memoryKey: 99_999n as never, version: 1, content: "nobody's", chunks },
    ]);
    await archive.remove([keys[2] as never]);
    await archive.close();
    writeFileSync(join(dataDir, "uploads", "stray"), "x");
    const { exitCode, stdout } = runMneme(["verify", "--json", "--data-dir", dataDir], home);
    const { is_sound, defects } = JSON.parse(stdout);
    expect(is_sound).toBeFalse();
    expect(exitCode).toBe(1);
    const found = new Map(defects.map(({ kind, examples }: { kind: string; examples: string[] }) => [kind, examples]));
    expect(Object.fromEntries(found)).toEqual({
      wrong_text: [one],
      other_version: [two],
      missing_text: [three],
      surplus_text: ["99999"],
      surplus_upload: ["stray"],
    });
  });

  test("`mneme keys` refuses as well, so that it adds nothing to a store with a loss", async () => {
    const dataDir = copyOf(killed);
    rmSync(join(dataDir, "mneme.sqlite-wal"));
    const { exitCode, stderr } = runMneme(["keys", "list", "--data-dir", dataDir], home);
    expect(stderr).toMatch(/^mneme: .*mneme\.sqlite lacks its last \d+ commits/);
    expect(exitCode).toBe(1);
  });
});

describe(`damage trials (seed ${SEED}): all that was acknowledged is there, or the start is refused`, () => {
  const chance = seeded(SEED);
  const damages: readonly (readonly [name: string, times: number, damage: (path: string) => void])[] = [
    ["one flipped bit", TRIALS, (path) => flipBit(path, Math.floor(chance() * sizeOf(path) * 8))],
    ["cut", TRIALS, (path) => truncateSync(path, Math.floor(chance() * sizeOf(path)))],
    ["emptied", 1, (path) => truncateSync(path, 0)],
    ["removed", 1, (path) => rmSync(path)],
  ];
  for (const [name, state] of [
    ["killed", killed],
    ["stopped", stopped],
  ] as const) {
    for (const file of FILES) {
      for (const [what, times, damage] of damages) {
        test(`${name}, ${file} ${what}`, async () => {
          for (let time = 0; time < times; time++) {
            const dataDir = copyOf(state);
            const path = join(dataDir, file);
            if (!existsSync(path) || sizeOf(path) === 0) continue;
            damage(path);
            const refusal = await openedOrRefused(dataDir);
            if (refusal !== null) expect(refusal.message).not.toContain("\n");
          }
        });
      }
      test(`${name}, ${file} replaced by an older copy`, async () => {
        for (const past of [older, olderKilled]) {
          if (!existsSync(join(past, file))) continue;
          const dataDir = copyOf(state);
          cpSync(join(past, file), join(dataDir, file));
          const refusal = await openedOrRefused(dataDir);
          if (refusal !== null) expect(refusal.message).not.toContain("\n");
        }
      });
    }
  }
});
