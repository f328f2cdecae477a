// Whether memory or files grow while a server works for long: mixed requests at half of its capacity, a bounded number
// of live memories, and a line through the samples. `bun bench/endurance.ts --help` lists the flags.

import { appendFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { alignRows } from "../src/cli/terminal.ts";
import { isoTime, systemClock } from "../src/kit/clock.ts";
import { seeded } from "../test/support/seeded.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { fitLine } from "./lib/line-fit.ts";
import { percentile } from "./lib/metrics.ts";
import { MixedLoad } from "./lib/mixed-load.ts";
import { memoryByKind, processTree } from "./lib/processes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { untilSettled } from "./lib/storing.ts";

const HELP = `bun bench/endurance.ts [flags]

Sends mixed requests at half of the server's capacity (store, change, delete, upload, search, chat), and samples the
memory of its processes and the files of its data directory. Needs Linux.

  --minutes N      duration of the load (default: 60)
  --warm-up N      minutes before the line through the samples begins (default: a third of the duration)
  --memories N     maximum number of live memories (default: 1000)
  --rate N         requests per second (default: half of what 8 callers reach in 60 s)
  --seed N         seed of the requests (default: 1)
  --samples FILE   append each sample to a JSONL file
  --record         write bench/results/endurance.json`;
const SAMPLE_MS = 30_000;
const CAPACITY_SECONDS = 60;
const MIB = 1024 * 1024;

/** What a sample measures: a name with its unit, and a number. */
type Sample = Readonly<Record<string, number>>;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const number = (flag: string, otherwise: number) => Number(flags.get(flag) ?? otherwise);
  const minutes = number("--minutes", 60);
  const warmUp = number("--warm-up", minutes / 3);
  const samplesFile = flags.get("--samples");

  await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "error" } });
  // what is deleted is purged by the next sweep, so that the size of the stores has a bound
  await server.call("PUT", "/v1/project", { retention_days: 0 });
  const load = new MixedLoad(server, seeded(number("--seed", 1)), number("--memories", 1_000));
  await load.fill();
  const given = flags.get("--rate");
  const capacity = given === undefined ? await load.capacity(CAPACITY_SECONDS) : Number.NaN;
  const perSecond = given === undefined ? capacity / 2 : Number(given);
  for (const sent of load.sent.values()) sent.ms.length = 0;
  process.stderr.write(`${perSecond.toFixed(1)} requests per second (capacity ${capacity.toFixed(1)})\n`);

  const samples: Sample[] = [];
  const startedAt = performance.now();
  const ending = new AbortController();
  const sampling = (async () => {
    while (!ending.signal.aborted) {
      const sample = { minutes: (performance.now() - startedAt) / 60_000, live: load.live, ...takeSample(server) };
      samples.push(sample);
      const line = JSON.stringify({ at: isoTime(systemClock.now()), ...sample });
      if (samplesFile !== undefined) appendFileSync(samplesFile, `${line}\n`);
      await systemClock.sleep(SAMPLE_MS, ending.signal);
    }
  })();
  const sent = await load.send(perSecond, minutes * 60);
  ending.abort();
  await sampling;
  await untilSettled(server);

  const settled = samples.filter((sample) => (sample.minutes ?? 0) >= warmUp);
  const rows: Row[] = [
    { series: "load", minutes, warmUpMinutes: warmUp, capacity: round(capacity), perSecond: round(perSecond), sent },
    ...[...load.sent].map(([action, { ms, failed }]) => ({
      series: `requests: ${action}`,
      sent: ms.length,
      failed,
      p50Ms: round(percentile(0.5, ms)),
      p95Ms: round(percentile(0.95, ms)),
    })),
    ...seriesOf(samples).map((name) => trendOf(name, settled)),
  ];
  const columns = ["series", "mean", "first", "last", "max", "perHour", "plusMinus", "growsBy"];
  const trends = rows.filter((row) => "perHour" in row).map((row) => columns.map((column) => String(row[column])));
  process.stdout.write(`${alignRows([columns, ...trends], true).join("\n")}\n`);
  for (const failure of load.failures) process.stdout.write(`${failure}\n`);
  process.stdout.write(`${JSON.stringify(rows)}\n`);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("endurance", rows)}\n`);
}

/**
 * Memory of the processes by kind, open files and threads of the server, and the files of its data directory: their
 * number, and their size by store.
 */
function takeSample({ pid, dataDir }: RunningServer): Sample {
  const sample: Record<string, number> = { "memory, MiB": 0, "files, MiB": 0, files: 0 };
  const add = (name: string, value: number) => (sample[name] = (sample[name] ?? 0) + value);
  for (const { name, rssBytes } of processTree(pid)) {
    add("memory, MiB", rssBytes / MIB);
    add(`memory of ${name}, MiB`, rssBytes / MIB);
  }
  const kinds = memoryByKind(pid);
  add("server: JavaScript heap, MiB", kinds.javaScript / MIB);
  add("server: other memory, MiB", kinds.native / MIB);
  sample["open files"] = readdirSync(`/proc/${pid}/fd`).length;
  sample.threads = Number(/^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const [store = ""] = relative(dataDir, path).split("/");
    add("files", 1);
    add("files, MiB", bytes / MIB);
    add(`files of ${store.replace(/\..*/, "")}, MiB`, bytes / MIB);
  }
  return sample;
}

function seriesOf(samples: readonly Sample[]): readonly string[] {
  return [...new Set(samples.flatMap((sample) => Object.keys(sample)))].filter((name) => name !== "minutes");
}

/**
 * Line through a series. `plusMinus` is half of the 95 % interval of the slope; `growsBy`: share of the mean by which
 * it surely grows per hour, 0 if that is not certain.
 */
function trendOf(name: string, samples: readonly Sample[]): Row {
  const points = samples.map((sample) => [(sample.minutes ?? 0) / 60, sample[name] ?? 0] as const);
  const values = points.map(([, value]) => value);
  const { slope, slopeError, mean } = fitLine(points);
  return {
    series: name,
    mean: round(mean),
    first: round(values[0] ?? Number.NaN),
    last: round(values.at(-1) ?? Number.NaN),
    max: round(Math.max(...values)),
    perHour: round(slope),
    plusMinus: round(slopeError),
    growsBy: slope > slopeError ? Math.round(((slope - slopeError) / mean) * 1_000) / 1_000 : 0,
  };
}

const round = (value: number) => Math.round(value * 100) / 100;

await runMain(HELP, main);
