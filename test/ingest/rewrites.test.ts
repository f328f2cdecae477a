// Rewrites: memories whose text is replaced again and again take little more disk than new ones.
// MNEME_TEST_REWRITES=5000 rewrites that many memories.

import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seeded } from "../support/seeded.ts";
import { until } from "../support/until.ts";
import { type IngestHarness, openIngestHarness } from "./ingest-harness.ts";

const MEMORIES = Number(process.env.MNEME_TEST_REWRITES ?? 250);
const ROUNDS = 10;
/** Maximum size of the files relative to those of a new store with the same texts. */
const GROWTH_MAX = 1.3;
/** Files of this size or less do not count towards growth: a database file has this much free space anyway. */
const SLACK_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000 + MEMORIES * 100;

const folders: string[] = [];
let open: IngestHarness | null = null;
afterEach(async () => {
  await open?.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const WORDS = ["kettle", "harbour", "violin", "ledger", "saffron", "meadow", "lantern", "railway", "pepper", "window"];
/** The text of a memory after a number of rewrites. */
function textOf(memory: number, round: number): string {
  const chance = seeded(memory * 1_000 + round);
  const words = Array.from({ length: 60 }, () => `${WORDS[Math.floor(chance() * 10)]}${Math.floor(chance() * 5_000)}`);
  return `Note ${memory} of round ${round}: ${words.join(" ")}.`;
}

async function opened(): Promise<{ readonly harness: IngestHarness; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "mneme-rewrites-"));
  folders.push(folder);
  open = await openIngestHarness(null, { folder });
  return { harness: open, folder };
}

/** Bytes of the files of each store: `mneme.sqlite`, `memories.duckdb`, `vectors`, `text` … */
function bytesOf(folder: string): Map<string, number> {
  const bytes = new Map<string, number>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile() !== true) continue;
    const [top = "", , part = ""] = name.split("/");
    const store = top === "projects" ? part : top;
    bytes.set(store, (bytes.get(store) ?? 0) + stat.size);
  }
  return bytes;
}

const sumOf = (bytes: ReadonlyMap<string, number>) => [...bytes.values()].reduce((sum, each) => sum + each, 0);

/** Waits until all memories are completed, with their newest text. */
async function completed({ memories, clock }: IngestHarness): Promise<void> {
  await until(
    "all are completed",
    () => {
      clock.advance(1_000);
      const { completed: done, processing } = memories.counts();
      return done === MEMORIES && processing === 0;
    },
    TIMEOUT_MS,
  );
}

/** Size of the files after sweeps, and after the store was closed, which merges the logs of its databases. */
async function restingBytes({ harness, folder }: { harness: IngestHarness; folder: string }) {
  for (let sweeps = 0; sweeps < 3; sweeps++) {
    harness.clock.advance(30_000);
    await harness.index.compact();
  }
  await harness.close();
  open = null;
  return bytesOf(folder);
}

test(
  `${ROUNDS} rewrites of ${MEMORIES} memories leave at most ${GROWTH_MAX} × the files of a new store`,
  async () => {
    const fresh = await opened();
    const numbers = Array.from({ length: MEMORIES }, (_, at) => at);
    fresh.harness.accept(...numbers.map((n) => ({ content: textOf(n, ROUNDS) })));
    await completed(fresh.harness);
    const freshBytes = await restingBytes(fresh);

    const rewritten = await opened();
    const { harness } = rewritten;
    const memories = harness.accept(...numbers.map((n) => ({ content: textOf(n, 0) })));
    await completed(harness);
    for (let round = 1; round <= ROUNDS; round++) {
      harness.database.transaction(() => {
        for (const [n, { id }] of memories.entries()) {
          harness.memories.change(harness.projectId, id, { content: textOf(n, round) });
        }
      });
      harness.worker.wake();
      await completed(harness);
    }
    const bytes = await restingBytes(rewritten);
    const parts = [...bytes].map(([store, size]) => `${store} ${freshBytes.get(store) ?? 0} → ${size}`);
    process.stdout.write(`${(sumOf(bytes) / sumOf(freshBytes)).toFixed(2)} ×: ${parts.join(", ")}\n`);
    expect(sumOf(bytes)).toBeLessThanOrEqual(sumOf(freshBytes) * GROWTH_MAX + SLACK_BYTES);
  },
  TIMEOUT_MS * (ROUNDS + 2),
);
