// Measures backups: MB/s of the first one, of one without changes, and of a restore, and the latency of searches while
// backups run. `bun bench/backup.ts --help`.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { allDone, note, storeBatch } from "../test/crash/notes.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { ROOT } from "../test/support/sources.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";

const HELP = `bun bench/backup.ts [flags]
  --memories N   short memories (2000)
  --events N     events of 9 kB, which make the stores large (20000)
  --searches N   searches without and beside backups, each (400)
  --rate R       limit of the backups beside the searches, such as 20M (unlimited)
  --record       write bench/results/backup.json`;
const BATCH = 100;
const EVENT_CHARACTERS = 9_000;
const EVENTS_AT_ONCE = 8;
const MODES = ["hybrid", "balanced"];

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--memories": "value", "--events": "value", "--searches": "value", "--rate": "value" },
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const number = (flag: string, otherwise: number) => Number(flags.get(flag) ?? otherwise);
  const folder = mkdtempSync(join(tmpdir(), "mneme-bench-backup-"));
  try {
    await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "error" } });
    await fill(server, number("--memories", 2_000), number("--events", 20_000));
    const rows: Row[] = [];
    const target = join(folder, "backups");
    rows.push({ what: "first backup", ...(await timed(["backup", target, "--data-dir", server.dataDir])) });
    rows.push({ what: "backup without changes", ...(await timed(["backup", target, "--data-dir", server.dataDir])) });
    rows.push({ what: "restore", ...(await timed(["restore", target, "--data-dir", join(folder, "restored")])) });
    const rate = flags.get("--rate");
    const limit = rate === undefined ? [] : ["--rate", rate];
    const count = number("--searches", 400);
    for (const mode of MODES) {
      await search(server, mode, 50); // loads all code
      const idle = await search(server, mode, count);
      let isStopped = false;
      let backups = 0;
      const backingUp = (async () => {
        for (; !isStopped; backups++) {
          const fresh = join(folder, `beside-${mode}-${backups}`);
          await timed(["backup", fresh, "--data-dir", server.dataDir, ...limit]);
          rmSync(fresh, { recursive: true, force: true });
        }
      })();
      const beside = await search(server, mode, count);
      isStopped = true;
      await backingUp;
      const ratio = percentile(0.95, beside) / percentile(0.95, idle);
      rows.push({
        what: `search, ${mode}`,
        p50IdleMs: Math.round(percentile(0.5, idle) * 10) / 10,
        p95IdleMs: Math.round(percentile(0.95, idle) * 10) / 10,
        p50BesideMs: Math.round(percentile(0.5, beside) * 10) / 10,
        p95BesideMs: Math.round(percentile(0.95, beside) * 10) / 10,
        p95Ratio: Math.round(ratio * 100) / 100,
        backups,
      });
    }
    for (const row of rows)
      process.stdout.write(`${alignRows([Object.keys(row), Object.values(row).map(String)]).join("\n")}\n\n`);
    if (flags.has("--record")) process.stdout.write(`written to ${writeRows("backup", rows)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(server: RunningServer, memories: number, events: number): Promise<void> {
  for (let first = 0; first < memories; first += BATCH) {
    await storeBatch(
      server,
      Array.from({ length: BATCH }, (_, at) => first + at),
    );
  }
  let left = events;
  const send = async () => {
    while (left-- > 0) {
      const bytes = crypto.getRandomValues(new Uint8Array(EVENT_CHARACTERS / 2));
      const data = { text: Buffer.from(bytes).toString("hex") };
      await server.call("POST", `/v1/users/user-${left % 100}/events`, { type: "bench", data });
    }
  };
  await Promise.all(Array.from({ length: EVENTS_AT_ONCE }, send));
  await allDone(server);
}

/** Runs a command as a process of its own; returns what it says of its size and rate. */
async function timed(
  argv: readonly string[],
): Promise<{ readonly seconds: number; readonly megabytes: number; readonly megabytesPerSecond: number }> {
  const startedAt = performance.now();
  const child = Bun.spawn([process.execPath, join(ROOT, "src/main.ts"), ...argv], { stdout: "pipe", stderr: "ignore" });
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`mneme ${argv.join(" ")} failed: ${said}`);
  const seconds = (performance.now() - startedAt) / 1000;
  const megabytes = Number(/([\d.]+) MB in/.exec(said)?.[1] ?? Number.NaN);
  const round = (value: number) => Math.round(value * 10) / 10;
  return { seconds: round(seconds), megabytes, megabytesPerSecond: round(megabytes / seconds) };
}

/** Times of searches in milliseconds, one after the other. */
async function search(server: RunningServer, mode: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const startedAt = performance.now();
    await server.call("POST", "/v1/memories/search", { query: note((at * 37) % 2_000), mode, limit: 10 });
    times.push(performance.now() - startedAt);
  }
  return times;
}

await main();
