// `mneme verify [--repair]` with the real models: each kind of damage is reported without changing anything, repaired
// without losing anything else, and not reported any more; searches are right afterwards.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import { createLog } from "../../src/kit/log.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { StoreQuarantine } from "../../src/stores/store-quarantine.ts";
import { allDone, expectWhole, note, storeBatch } from "../crash/notes.ts";
import { runMneme } from "../support/command.ts";
import { representatives } from "../support/extent.ts";
import { startServer } from "../support/server.ts";
import { ENGLISH } from "../support/shipped-models.ts";

const NOTES = 8;
const SEED = Number(process.env.MNEME_TEST_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);
/** Environment of servers and commands. */
const SETTINGS = { MNEME_EMBEDDER: ENGLISH };
const log = createLog("silent");
const folder = mkdtempSync(join(tmpdir(), "mneme-verify-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const sound = join(folder, "sound");
/** Ids of the memories by the number of their note. */
const ids = new Map<number, string>();
/** Keys of the memories by the number of their note. */
const keys = new Map<number, MemoryKey>();
let projectId: ProjectId;

beforeAll(async () => {
  const server = await startServer({ dataDir: sound, environment: SETTINGS });
  const numbers = Array.from({ length: NOTES }, (_, at) => at);
  for (const [at, id] of (await storeBatch(server, numbers)).entries()) ids.set(numbers[at] ?? -1, id);
  await expectWhole(server, ids);
  await server.stop();
  withRows(sound, (database) => {
    const rows = database.prepare<{ memory_key: bigint; id: string }>("SELECT memory_key, id FROM memories").all({});
    for (const [n, id] of ids) keys.set(n, rows.find((row) => row.id === id)?.memory_key as MemoryKey);
    projectId = database.prepare<{ id: string }>("SELECT id FROM projects").get({})?.id as ProjectId;
  });
});

function withRows(dataDir: string, work: (database: SqliteDatabase) => void): void {
  const quarantine = new StoreQuarantine(dataDir, 1);
  const ownership = { log, quarantine, acceptsLoss: false };
  const database = openDatabase(join(dataDir, "mneme.sqlite"), { ownership });
  try {
    work(database);
  } finally {
    database.close();
  }
}

async function withTexts(dataDir: string, work: (archive: Archive) => Promise<void>): Promise<void> {
  const archive = await Archive.open({ path: join(dataDir, "memories.duckdb"), log });
  try {
    await work(archive);
  } finally {
    await archive.close();
  }
}

/** Stores another text for a note, with its chunks. */
function replaceText(dataDir: string, n: number, change: { readonly version?: number; readonly content?: string }) {
  return withTexts(dataDir, async (archive) => {
    const memoryKey = keys.get(n) as MemoryKey;
    const stored = (await archive.stored([memoryKey])).get(memoryKey);
    const chunks = (stored?.chunks ?? []).map((chunk) => ({ ...chunk, headings: [] }));
    const { version = 1, content = "" } = { ...stored, ...change };
    await archive.replace([{ projectId, memoryKey, version, content, chunks }]);
  });
}

/** Names of the files of the index with this ending, as paths below the data directory. */
function indexFiles(dataDir: string, ending: string): string[] {
  const names = readdirSync(join(dataDir, "projects"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(ending)).map((name) => join(dataDir, "projects", name));
}

/** Changes a byte in place, as a decaying disk does. */
function flipByte(path: string, at: number): void {
  const file = openSync(path, "r+");
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  byte.writeUInt8(byte.readUInt8(0) ^ 0xff);
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
}

interface Damage {
  readonly damage: (dataDir: string) => Promise<void> | void;
  /** What the report names: kinds of defects of the stores and of the indexes. */
  readonly kinds: readonly string[];
  /** Notes whose text is lost. */
  readonly lost?: readonly number[];
  /** What the files of the quarantine have afterwards. */
  readonly kept?: string;
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  "a text that is missing": {
    damage: (dataDir) => withTexts(dataDir, (archive) => archive.remove([keys.get(1) as MemoryKey])),
    kinds: ["missing_text", "missing_texts", "surplus_chunks"],
    lost: [1],
  },
  "a text of another version": {
    damage: (dataDir) => replaceText(dataDir, 2, { version: 7, content: "an older text" }),
    kinds: ["other_version"],
    lost: [2],
    kept: "an older text",
  },
  "a text with another hash": {
    damage: (dataDir) => replaceText(dataDir, 3, { content: note(3).toUpperCase() }),
    kinds: ["wrong_text"],
    lost: [3],
    kept: note(3).toUpperCase(),
  },
  "a text without a memory": {
    damage: (dataDir) =>
      withTexts(dataDir, (archive) =>
        archive.replace([
          { projectId, memoryKey: 99_999n as MemoryKey, version: 1, content: "nobody's text", chunks: [] },
        ]),
      ),
    kinds: ["surplus_text"],
    kept: "nobody's text",
  },
  "a file without a memory": {
    damage: (dataDir) => {
      const path = join(dataDir, "uploads", "stray");
      writeFileSync(path, "nobody's file");
      utimesSync(path, 1, 1);
    },
    kinds: ["surplus_upload"],
    kept: "nobody's file",
  },
  "a memory whose uploaded file is missing": {
    damage: (dataDir) =>
      withRows(dataDir, (database) => {
        const source = JSON.stringify({ filename: "a.txt", media_type: "text/plain", bytes: 3, file: "gone" });
        database
          .prepare<never, { source: string; key: bigint }>(
            `UPDATE memories SET status = 'failed', error_code = 'processing_error', error_message = 'x',
             chunk_count = 0, source = $source, content_bytes = 3 WHERE memory_key = $key`,
          )
          .run({ source, key: keys.get(4) ?? 0n });
      }),
    kinds: ["missing_upload", "surplus_chunks"],
    lost: [4],
  },
  "an earlier relation with a memory of another agent": {
    damage: (dataDir) =>
      withRows(dataDir, (database) => {
        const pair = { own: keys.get(7) ?? 0n, other: keys.get(6) ?? 0n };
        database
          .prepare<never, typeof pair>(
            `INSERT INTO earlier_relations
               (project_key, memory_key, other_key, kind, state, made_by, created_at, removed_at)
             SELECT own.project_key, own.memory_key, other.memory_key, 'refines', 'active', 'person', 1, 2
             FROM memories AS own, memories AS other WHERE own.memory_key = $own AND other.memory_key = $other`,
          )
          .run(pair);
        database
          .prepare<never, typeof pair>("UPDATE memories SET agent_id = 'another' WHERE memory_key = $other")
          .run(pair);
      }),
    kinds: ["stray_relation"],
  },
  "a damaged file of the text index": {
    damage: (dataDir) => flipByte(indexFiles(dataDir, ".store")[0] ?? "", 5),
    kinds: ["damaged_file"],
  },
  "a vector log that is missing": {
    damage: (dataDir) => {
      for (const path of indexFiles(dataDir, ".log")) rmSync(path);
    },
    kinds: ["missing_vectors"],
  },
  "an index that is missing": {
    damage: (dataDir) => rmSync(join(dataDir, "projects"), { recursive: true }),
    kinds: ["missing_vectors", "missing_postings"],
  },
};

let copies = 0;
function copyOfSound(): string {
  const dataDir = join(folder, `copy-${copies++}`);
  cpSync(sound, dataDir, { recursive: true });
  return dataDir;
}

function verify(dataDir: string, ...flags: readonly string[]) {
  const { exitCode, stdout, stderr } = runMneme(
    ["verify", "--json", "--data-dir", dataDir, ...flags],
    folder,
    SETTINGS,
  );
  if (stdout === "") throw new Error(`verify printed no report: ${stderr}`);
  const report = JSON.parse(stdout);
  const found = [...report.defects, ...(report.index ?? [])] as { readonly kind: string }[];
  return { exitCode, report, kinds: new Set(found.map(({ kind }) => kind)) };
}

describe("damage without a running server", () => {
  const familyOf = ([which]: readonly [string, Damage]) => /index|vector|file|text/.exec(which)?.[0] ?? "";
  for (const [which, { damage, kinds, lost = [], kept }] of representatives(Object.entries(DAMAGES), familyOf, SEED)) {
    test(`${which}: reported, repaired, not reported again; searches are right (seed ${SEED})`, async () => {
      const dataDir = copyOfSound();
      await damage(dataDir);
      for (let round = 0; round < 2; round++) {
        const before = verify(dataDir);
        expect(before.exitCode).toBe(1);
        for (const kind of kinds.slice(0, 1)) expect([...before.kinds]).toContain(kind);
        for (const kind of before.kinds) if (kinds.length > 1) expect(kinds).toContain(kind);
      }
      const repaired = verify(dataDir, "--repair");
      expect([repaired.exitCode, ...repaired.kinds]).toEqual([0]);
      expect(repaired.report.repairs.length).toBeGreaterThan(0);
      const after = verify(dataDir);
      expect([after.exitCode, ...after.kinds]).toEqual([0]);
      if (kept !== undefined) expect(quarantined(dataDir)).toContain(kept);
      expect(existsSync(join(dataDir, "verifying"))).toBe(false);

      const server = await startServer({ dataDir, environment: SETTINGS });
      await allDone(server);
      for (const n of lost) {
        const { body } = await server.call("GET", `/v1/memories/${ids.get(n)}`);
        expect(body).toMatchObject({ status: "failed", content: "", error: { code: "processing_error" } });
        const found = await server.call("POST", "/v1/memories/search", { query: note(n), limit: 20 });
        const results = (found.body as { readonly results: readonly { readonly memory_id: string }[] }).results;
        expect(results.map(({ memory_id }) => memory_id)).not.toContain(ids.get(n) ?? "");
        await server.call("DELETE", `/v1/memories/${ids.get(n)}`);
      }
      await expectWhole(server, new Map([...ids].filter(([n]) => !lost.includes(n))));
      await server.stop();
    });
  }

  test("a damaged page of mneme.sqlite: reported with the commands that help, and not repaired", () => {
    const dataDir = copyOfSound();
    damagePage(dataDir);
    for (const flags of [[], ["--repair"]]) {
      const { exitCode, report } = verify(dataDir, ...flags);
      expect(exitCode).toBe(1);
      expect(report.defects).toMatchObject([{ kind: "unusable", count: 1 }]);
      expect(report.defects[0].examples[0]).toMatch(/page of its main file changed.*mneme restore.*--accept-loss/);
    }
  });

  test("a sound directory: exit code 0; one that cannot be checked: exit code 2 and one line", () => {
    expect(verify(sound).report).toMatchObject({
      is_sound: true,
      memories: NOTES,
      texts: NOTES,
      defects: [],
      index: [],
    });
    for (const argv of [["--data-dir", join(folder, "nothing")], ["--data-dir", sound, "more"], ["--mend"]]) {
      const { exitCode, stdout, stderr } = runMneme(["verify", ...argv], folder);
      expect([exitCode, stdout]).toEqual([2, ""]);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    }
  });
});

test("through a running server: pages, files and indexes are checked, and repaired as far as that goes", async () => {
  const dataDir = copyOfSound();
  const server = await startServer({ dataDir, environment: SETTINGS });
  expect(verify(dataDir)).toMatchObject({ exitCode: 0, report: { is_sound: true, memories: NOTES } });

  const stray = join(dataDir, "uploads", "stray");
  writeFileSync(stray, "nobody's file");
  utimesSync(stray, 1, 1);
  expect([...verify(dataDir).kinds]).toEqual(["surplus_upload"]);
  expect(verify(dataDir, "--repair").exitCode).toBe(0);
  expect(existsSync(stray)).toBe(false);
  expect(quarantined(dataDir)).toContain("nobody's file");

  flipByte(indexFiles(dataDir, ".store")[0] ?? "", 5);
  expect([...verify(dataDir).kinds]).toEqual(["damaged_file"]);
  const { exitCode, report } = verify(dataDir, "--repair");
  expect(exitCode).toBe(1);
  expect(report.repairs).toMatchObject([{ is_repaired: false, detail: expect.stringContaining("the next start") }]);
  await server.stop();
  const again = await startServer({ dataDir, environment: SETTINGS });
  await allDone(again);
  await expectWhole(again, ids);
  expect(verify(dataDir).exitCode).toBe(0);

  const page = damagePage(dataDir);
  const damaged = verify(dataDir);
  expect(damaged.report.defects).toMatchObject([{ kind: "damaged_page", count: 1, examples: [String(page)] }]);
  const { stdout } = runMneme(["verify", "--data-dir", dataDir], folder, SETTINGS);
  expect(stdout).toContain("mneme restore");
  await again.stop();
});

/** Files of a segment of the text index: terms, postings, positions, passages, lengths, columns. */
const SEGMENT_FILES = [".term", ".idx", ".pos", ".store", ".fieldnorm", ".fast"];

test("damaged postings, before a start and under a running server: no panic is printed, and no search is wrong", async () => {
  const dataDir = copyOfSound();
  const damage = () => {
    for (const path of SEGMENT_FILES.flatMap((ending) => indexFiles(dataDir, ending))) {
      for (let at = 0; at < statSync(path).size; at += 7) flipByte(path, at);
    }
  };
  damage();
  const server = await startServer({ dataDir, environment: SETTINGS });
  await allDone(server);
  await expectWhole(server, ids);
  damage();
  for (const n of ids.keys()) {
    const { status, body } = await server.call("POST", "/v1/memories/search", { query: note(n), mode: "precise" });
    if (status === 500) continue; // a search may fail, but not show something else
    const { results } = body as { readonly results: readonly { readonly content: string }[] };
    for (const { content } of results) expect([...ids.keys()].map(note)).toContain(content);
  }
  expect(server.stdout() + server.stderr()).not.toMatch(/panicked at|RUST_BACKTRACE/);
  await server.stop();
});

/** Changes a byte that SQLite writes, in a leaf without cells. Returns the number of the page. */
function damagePage(dataDir: string): number {
  const path = join(dataDir, "mneme.sqlite");
  const bytes = readFileSync(path);
  for (let page = 2; page * 4_096 <= bytes.length; page++) {
    const at = (page - 1) * 4_096;
    if (bytes.readUInt8(at) !== 13 || bytes.readUInt16BE(at + 3) !== 0) continue;
    flipByte(path, at + 1); // where free bytes begin, which nobody reads in an empty table
    return page;
  }
  throw new Error("no table is empty");
}

/** All bytes of the quarantine. */
function quarantined(dataDir: string): string {
  const quarantine = join(dataDir, "quarantine");
  const names = existsSync(quarantine) ? readdirSync(quarantine, { recursive: true, encoding: "utf8" }) : [];
  const paths = names.map((name) => join(quarantine, name)).filter((path) => statSync(path).isFile());
  return paths.map((path) => readFileSync(path, "utf8")).join("\n");
}
