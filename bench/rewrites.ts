// What rewriting all memories again and again leaves in memory and files, compared with a new server that stored the
// same texts once. `bun bench/rewrites.ts --help` lists the flags.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { MODE_NAMES } from "../src/domain/ranking.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { isRecord } from "../src/kit/record.ts";
import { seeded } from "../test/support/seeded.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { ENGLISH } from "../test/support/shipped-models.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";

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
const POLL_MS = 200;
/** Time between the last search and the sample: two sweeps, so that the space of old texts is free. */
const SETTLE_MS = 65_000;
const WORDS = ["kettle", "harbour", "violin", "ledger", "saffron", "meadow", "lantern", "railway", "pepper", "window"];

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--memories": "value", "--rounds": "value", "--words": "value" },
    ...{ "--searches": "value", "--record": "switch" },
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
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
    const startedAt = performance.now();
    for (let round = first; round <= rounds; round++) {
      await storeAll(server, memories, (memory) => textOf(memory, round, words));
      const { residentMiB } = memoryOf(server.pid);
      process.stderr.write(`${store}: texts ${round} stored, ${Math.round(residentMiB)} MiB\n`);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    await search(server, searches);
    await systemClock.sleep(SETTLE_MS);
    rows.push({ store, rounds: rounds - first, seconds: round1(seconds), ...memoryOf(server.pid), ...filesOf(server) });
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

/** Stores or replaces all memories, and waits until they can be found. */
async function storeAll(server: RunningServer, count: number, text: (memory: number) => string): Promise<void> {
  for (let first = 0; first < count; first += LIMITS.memoriesPerBatch) {
    const memories = Array.from({ length: Math.min(LIMITS.memoriesPerBatch, count - first) }, (_, at) => ({
      externalId: `memory-${first + at}`,
      content: text(first + at),
    }));
    const { status } = await server.call("POST", "/v1/memories/batch", { memories });
    if (status !== 202) throw new Error(`a batch was answered with ${status}`);
  }
  for (;;) {
    const { body } = await server.call("GET", "/v1/memories?status=processing&limit=1");
    if (isRecord(body) && Array.isArray(body.data) && body.data.length === 0) return;
    await systemClock.sleep(POLL_MS);
  }
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

/** Memory of a process: resident, without pages of files, and at its highest. */
function memoryOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (field: string) =>
    round1(Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN) / 1024);
  return { residentMiB: mebibytes("VmRSS"), anonymousMiB: mebibytes("RssAnon"), highestMiB: mebibytes("VmHWM") };
}

function filesOf({ dataDir }: RunningServer) {
  let bytes = 0;
  for (const name of readdirSync(dataDir, { recursive: true, encoding: "utf8" })) {
    const stat = statSync(join(dataDir, name), { throwIfNoEntry: false });
    if (stat?.isFile() === true && !name.startsWith("reserve")) bytes += stat.size;
  }
  return { filesMiB: round1(bytes / MIB) };
}

const round1 = (value: number) => Math.round(value * 10) / 10;

await runMain(main);
