// Rewrites: memories whose text is replaced again and again take little more disk than new ones. Prints disk and memory
// beside those of a new store. MNEME_TEST_REWRITES=5000 rewrites that many memories.

import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_TIMEOUT_MS } from "../support/until.ts";

const MEMORIES = Number(process.env.MNEME_TEST_REWRITES ?? 250);
const ROUNDS = 10;
/** Maximum size of the files relative to those of a new store with the same texts. */
const GROWTH_MAX = 1.3;
/** Growth that is allowed to small files: the file of texts has blocks of 256 KiB, some of which may be free. */
const SLACK_BYTES = 1024 * 1024;
const TIMEOUT_MS = Math.max(TEST_TIMEOUT_MS, (60_000 + MEMORIES * 100) * (ROUNDS + 2));

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface Use {
  /** Bytes of the files of each store, after it was closed: `mneme.sqlite`, `memories.duckdb`, `vectors`, `text` … */
  readonly files: ReadonlyMap<string, number>;
  /** Resident memory of the process that held the stores. */
  readonly rssBytes: number;
}

/** Stores memories in a process of its own and rewrites them. Their last texts have the number `ROUNDS`. */
async function used(rewrites: number): Promise<Use> {
  const folder = mkdtempSync(join(tmpdir(), "mneme-rewrites-"));
  folders.push(folder);
  const fixture = join(import.meta.dir, "fixtures/rewrite-memories.ts");
  const [count, first, last] = [MEMORIES, ROUNDS - rewrites, ROUNDS].map(String);
  const command = [process.execPath, fixture, folder, count ?? "", first ?? "", last ?? ""];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const printed = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return { files: bytesOf(folder), rssBytes: Number(printed) };
}

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

test(
  `${ROUNDS} rewrites of ${MEMORIES} memories leave at most ${GROWTH_MAX} × the files of a new store`,
  async () => {
    const fresh = await used(0);
    const rewritten = await used(ROUNDS);
    const [freshBytes, bytes] = [sumOf(fresh.files), sumOf(rewritten.files)];
    const parts = [...rewritten.files].map(([store, size]) => `${store} ${fresh.files.get(store) ?? 0} → ${size}`);
    const rss = [fresh, rewritten].map(({ rssBytes }) => Math.round(rssBytes / 2 ** 20));
    const growth = (rewritten.rssBytes / fresh.rssBytes).toFixed(2);
    process.stdout.write(`files ${(bytes / freshBytes).toFixed(2)} ×: ${parts.join(", ")}\n`);
    process.stdout.write(`memory ${growth} ×: ${rss.join(" → ")} MiB\n`);
    expect(bytes).toBeLessThanOrEqual(freshBytes * GROWTH_MAX + SLACK_BYTES);
  },
  TIMEOUT_MS,
);
