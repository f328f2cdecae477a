// What rewriting all memories again and again leaves in memory and files, compared with a new server that stored the
// same texts once. `bun bench/rewrites.ts --help` lists the flags.

import { readFileSync } from "node:fs";
import { alignRows } from "../src/cli/terminal.ts";
import { MODE_NAMES } from "../src/domain/ranking.ts";
import { systemClock } from "../src/kit/clock.ts";
import { seeded } from "../test/support/seeded.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { ENGLISH } from "../test/support/shipped-models.ts";
import { diskBytes } from "./lib/disk.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { storeAll } from "./lib/storing.ts";

const HELP = `bun bench/rewrites.ts [flags]

Stores memories in a new server, replaces the text of each of them a number of times, and compares the memory of the
server's process and its files with those of another new server, which stored the last texts once. Both run the same
searches. Needs Linux.

  --memories N   number of memories (default: 5000)
  --rounds N     how often each text is replaced (default: 10)
  --words N      words of a text (default: 12)
  --searches N   searches after the last text (default: 400)
  --record       write bench/results/rewrites.json`;
const MIB = 1024 * 1024;
/** Time between the last search and the sample: two sweeps, so that the space of old texts is free. */
const SETTLE_MS = 65_000;
const WORDS = ["kettle", "harbour", "violin", "ledger", "saffron", "meadow", "lantern", "railway", "pepper", "window"];

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const number = (flag: string, otherwise: number) => Number(flags.get(flag) ?? otherwise);
  const [memories, rounds] = [number("--memories", 5_000), number("--rounds", 10)];
  const [words, searches] = [number("--words", 12), number("--searches", 400)];

  const rows: Row[] = [];
  for (const [store, first] of [
    ["new", rounds],
    ["rewritten", 0],
  ] as const) {
    await using server = await startServer({
      // the English embedder is the fastest
      environment: { MNEME_EMBEDDER: ENGLISH, MNEME_LOG_LEVEL: "error", MNEME_RATE_LIMITS: "off" },
    });
    // keeps no earlier texts, which would add to the files
    await server.call("PUT", "/v1/project", { retention_days: 0 });
    const startedAt = performance.now();
    for (let round = first; round <= rounds; round++) {
      await storeAll(
        server,
        Array.from({ length: memories }, (_, memory) => ({
          externalId: `memory-${memory}`,
          content: textOf(memory, round, words),
        })),
      );
      const { residentMiB } = memoryOf(server.pid);
      process.stderr.write(`${store}: texts ${round} stored, ${Math.round(residentMiB)} MiB\n`);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    await search(server, searches);
    await systemClock.sleep(SETTLE_MS);
    rows.push({
      store,
      rounds: rounds - first,
      seconds: round1(seconds),
      ...memoryOf(server.pid),
      filesMiB: round1(diskBytes(server.dataDir) / MIB),
    });
  }
  const [fresh, rewritten] = rows;
  const ratios: Record<string, number | string> = { store: "ratio" };
  for (const [name, value] of Object.entries(rewritten ?? {})) {
    const before = fresh?.[name];
    if (typeof value === "number" && typeof before === "number" && before > 0) {
      ratios[name] = Math.round((value / before) * 100) / 100;
    }
  }
  const shown = [...rows, ratios];
  const columns = [...new Set(shown.flatMap((row) => Object.keys(row)))];
  const table = shown.map((row) => columns.map((column) => (row[column] === undefined ? "" : String(row[column]))));
  process.stdout.write(`${alignRows([columns, ...table], true).join("\n")}\n`);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("rewrites", shown as Row[])}\n`);
}

async function search(server: RunningServer, count: number): Promise<void> {
  const random = seeded(count);
  for (let n = 0; n < count; n++) {
    const mode = MODE_NAMES[n % MODE_NAMES.length];
    const { status } = await server.call("POST", "/v1/memories/search", { query: wordsOf(3, random), mode });
    if (status !== 200) throw new Error(`a search was answered with ${status}`);
  }
}

function textOf(memory: number, round: number, words: number): string {
  return `Note ${memory} of round ${round}: ${wordsOf(words, seeded(memory * 1_000 + round))}.`;
}

function wordsOf(count: number, random: () => number): string {
  const word = () => `${WORDS[Math.floor(random() * WORDS.length)]}${Math.floor(random() * 5_000)}`;
  return Array.from({ length: count }, word).join(" ");
}

/** Memory of a process in MiB: resident now, the part of it that is not pages of files, and the peak. */
function memoryOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (field: string) =>
    round1(Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN) / 1024);
  return { residentMiB: mebibytes("VmRSS"), anonymousMiB: mebibytes("RssAnon"), highestMiB: mebibytes("VmHWM") };
}

const round1 = (value: number) => Math.round(value * 10) / 10;

await runMain(HELP, main);
