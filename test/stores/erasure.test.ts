// Erased rows in the bytes of mneme.sqlite: SQLite copies rows when it moves them between pages, and such a copy must
// not outlive its row.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { createLog } from "../../src/kit/log.ts";
import type { SqliteDatabase } from "../../src/stores/sqlite/database.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { StoreQuarantine } from "../../src/stores/store-quarantine.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { seeded } from "../support/seeded.ts";

/** Number of memories that are purged. */
const PURGED = 1_000;
const PER_REQUEST = 100;
/** Requests before the first purge. */
const REQUESTS_BEFORE = 12;
/** Ends each word that only one memory has. */
const MARK = "kwyzq";
const OWN_WORD = new RegExp(`[a-z]{12}${MARK}`, "g");

const seed = Number(process.env.MNEME_TEST_SEED ?? 4);
const next = seeded(seed);

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mneme-pages-"));
  path = join(folder, "mneme.sqlite");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(): SqliteDatabase {
  const quarantine = new StoreQuarantine(folder, 1);
  return openDatabase(path, { ownership: { log: createLog("silent"), quarantine, acceptsLoss: false } });
}

function wordsIn(name: string): ReadonlySet<string> {
  return new Set(readFileSync(join(folder, name)).toString("latin1").match(OWN_WORD) ?? []);
}

function ownWord(): string {
  return Array.from({ length: 12 }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join("") + MARK;
}

/** Purges memories in random order while others are stored. */
class Churn {
  readonly purged = new Set<string>();
  readonly kept = new Map<string, Memory>();
  readonly #stores: ReturnType<typeof connectStores>;

  constructor(database: SqliteDatabase) {
    this.#stores = connectStores(database, database, { clock: new ManualClock(), newWebhookSecret });
  }

  async run(): Promise<void> {
    const project = await this.#stores.accounts.defaultProject();
    for (let request = 0; this.purged.size < PURGED; request++) {
      await this.#store(project);
      if (request >= REQUESTS_BEFORE) await this.#purge(project, Math.floor(PER_REQUEST * (0.5 + next())));
    }
  }

  async erase(): Promise<boolean> {
    const { retirement } = this.#stores;
    await retirement.erase(await retirement.purgeable(PURGED * 2));
    return retirement.eraseTraces();
  }

  async #store(project: ProjectId): Promise<void> {
    const words = Array.from({ length: PER_REQUEST }, ownWord);
    const drafts = words.map((own) => ({
      content: `Note ${own} ${"about kettles ".repeat(Math.floor(next() * 20))}`,
      ...{ title: own, tags: [own], metadata: { note: own }, externalId: own },
    }));
    for (const [at, result] of (await this.#stores.memories.accept(project, drafts)).entries()) {
      if (result instanceof Fault) throw result;
      this.kept.set(words[at] ?? "", result.memory);
    }
  }

  async #purge(project: ProjectId, count: number): Promise<void> {
    const chosen = [...this.kept].sort(() => next() - 0.5).slice(0, count);
    for (let first = 0; first < chosen.length; first += 10) {
      await this.#stores.transactions.run(async ({ memories, retirement }) => {
        for (const [own, memory] of chosen.slice(first, first + 10)) {
          this.kept.delete(own);
          this.purged.add(own);
          await memories.remove(project, memory.id, { purges: true });
          await retirement.markRetracted([memory.key]);
        }
        if (next() < 0.5) await retirement.erase(await retirement.purgeable(PURGED));
      });
    }
  }
}

test(`${PURGED} short memories purged in random order beside others leave no byte in any file (seed ${seed})`, async () => {
  const database = open();
  try {
    const churn = new Churn(database);
    await churn.run();
    expect(await churn.erase()).toBe(true);
    const left = readdirSync(folder).flatMap((name) => [...wordsIn(name)].filter((own) => churn.purged.has(own)));
    expect(left).toEqual([]);
    const stored = wordsIn("mneme.sqlite");
    expect([...churn.kept.keys()].filter((own) => !stored.has(own))).toEqual([]);
  } finally {
    database.close();
  }
  open().close(); // the pages still have their sums
});

test("a file with leftovers and sums of whole pages, from an earlier version, loses the leftovers when it is opened", () => {
  open().close();
  const bytes = readFileSync(path);
  const pageBytes = bytes.readUInt16BE(16);
  const page = emptyLeafOf(bytes, pageBytes);
  const own = ownWord();
  bytes.write(own, page * pageBytes - 100);
  writeFileSync(path, bytes);
  writeFileSync(`${path}-sums`, sumsOfWholePages(bytes, pageBytes));
  open().close();
  expect(wordsIn("mneme.sqlite").has(own)).toBe(false);
  const sums = readFileSync(`${path}-sums`);
  expect(sums.toString("latin1", 0, 8)).toBe("MNEMEPS2");
  open().close();
});

test("a changed byte that SQLite reads is damage, a changed byte in the gap of a page is none", () => {
  open().close();
  const sound = readFileSync(path);
  const pageBytes = sound.readUInt16BE(16);
  const page = emptyLeafOf(sound, pageBytes);
  const withByteAt = (at: number) => {
    const changed = Buffer.from(sound);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    writeFileSync(path, changed);
  };
  withByteAt(page * pageBytes - 100);
  open().close();
  withByteAt((page - 1) * pageBytes + 4); // the number of cells
  expect(() => open()).toThrow(`1 page of its main file changed or got lost (page ${page})`);
});

/** Number of a b-tree page without cells, whose gap ends with the page. */
function emptyLeafOf(file: Buffer, pageBytes: number): number {
  for (let page = 2; page * pageBytes <= file.length; page++) {
    const at = (page - 1) * pageBytes;
    if ([10, 13].includes(file.readUInt8(at)) && file.readUInt16BE(at + 3) === 0) return page;
  }
  throw new Error("no table of a new file is empty");
}

/** The file of an earlier version. */
function sumsOfWholePages(file: Buffer, pageBytes: number): Buffer {
  const pages = file.length / pageBytes;
  const sums = Buffer.alloc(512 + pages * 8);
  sums.write("MNEMEPS1");
  sums.writeUInt32LE(pageBytes, 8);
  sums.writeUInt32LE(pages, 12);
  sums.writeUInt32LE(Bun.hash.crc32(sums.subarray(0, 16)), 16);
  for (let page = 1; page <= pages; page++) {
    const sum = Bun.hash.crc32(file.subarray((page - 1) * pageBytes, page * pageBytes));
    const mixed = Math.imul(sum ^ Math.imul(page, 0x9e3779b1), 0x85ebca6b);
    sums.writeUInt32LE(sum, 512 + (page - 1) * 8);
    sums.writeUInt32LE((mixed ^ (mixed >>> 15) ^ 0x5bd1e995) >>> 0, 512 + (page - 1) * 8 + 4);
  }
  return sums;
}
