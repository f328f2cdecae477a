// Threads that answer requests: searches per second, and the processor time per search of the main thread, of the
// threads, and of everything else, with each number of threads in turn. By default, vectors cost nothing, so that the
// threads are the limit. On machines with many cores, `mneme bench load --http-threads N` compares with the models
// alone. `bun bench/threads.ts --help` lists the flags.

import { rmSync } from "node:fs";
import { alignRows } from "../src/cli/terminal.ts";
import { systemClock } from "../src/kit/clock.ts";
import { startServer } from "../test/support/server.ts";
import { generatedPassage, generatedQuestion } from "./lib/generated-corpus.ts";
import { instantEmbedderFolder } from "./lib/instant-embedder.ts";
import { load } from "./lib/load.ts";
import { percentile } from "./lib/metrics.ts";
import { processTree } from "./lib/processes.ts";
import { runMain } from "./lib/run-main.ts";
import { Target } from "./lib/target.ts";
import { ThreadWatch } from "./lib/thread-watch.ts";

const HELP = `bun bench/threads.ts [flags]

Prints searches per second, processor time per search, and memory of the server, for several numbers of threads.
Medians of all rounds.

  --threads LIST   numbers of threads, which are measured in turn (default: 1,2,4)
  --mode MODE      fast, hybrid, balanced or precise (default: fast)
  --models         embed the questions, instead of drawing their vectors
  --passages N     passages to search (default: 2000)
  --connections N  concurrent connections (default: 64)
  --rounds N       rounds; each measures every number of threads (default: 3)
  --seconds N      duration of one measurement (default: 4)`;

/** Questions that are asked in turn, all different. */
const QUESTIONS = 5_000;
/** Seconds of load before the measurement, so that the JIT compiler has optimised the frequently used code. */
const WARM_UP_SECONDS = 4;
const MIB = 1024 * 1024;

interface Round {
  readonly perSecond: number;
  /** Processor time per search, in milliseconds. */
  readonly main: number;
  readonly threads: number;
  readonly others: number;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const counts = (flags.get("--threads") ?? "1,2,4").split(",").map(Number);
  const passages = Number(flags.get("--passages") ?? 2_000);
  const rounds = Number(flags.get("--rounds") ?? 3);
  const mode = flags.get("--mode") ?? "fast";
  const shape = { seconds: Number(flags.get("--seconds") ?? 4), connections: Number(flags.get("--connections") ?? 64) };
  const folder = flags.has("--models") ? null : instantEmbedderFolder("mneme-threads-");
  const paths = Array.from({ length: QUESTIONS }, (_, n) => {
    const query = encodeURIComponent(generatedQuestion(1, n).text);
    return `/v1/memories/search?mode=${mode}&query=${query}`;
  });
  await using closing = new AsyncDisposableStack();
  if (folder !== null) closing.defer(() => rmSync(folder, { recursive: true }));
  const servers = [];
  for (const count of counts) {
    const server = closing.use(
      await startServer({
        environment: { MNEME_HTTP_THREADS: String(count) },
        ...(folder !== null && { workingDirectory: folder }),
      }),
    );
    const target = new Target(server.url, server.key);
    await target.fill(
      passages,
      (n) => generatedPassage(1, n),
      () => undefined,
    );
    await load(portOf(server.url), paths, keyOf(server.key), { ...shape, seconds: WARM_UP_SECONDS });
    servers.push({ count, server, measured: [] as Round[] });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { server, measured } of servers) {
      const watch = new ThreadWatch(server.pid);
      const { requestsPerSecond, others } = await load(portOf(server.url), paths, keyOf(server.key), shape);
      if (others > 0) throw new Error(`${others} answers did not have status 200`);
      watch.look();
      measured.push(roundOf(watch, requestsPerSecond, requestsPerSecond * shape.seconds));
      await systemClock.sleep(200);
    }
  }
  const rows = servers.map(({ count, server, measured }) => {
    const median = (value: (round: Round) => number) => percentile(0.5, measured.map(value));
    const ms = (value: (round: Round) => number) => median(value).toFixed(3);
    return [
      String(count),
      Math.round(median((round) => round.perSecond)).toString(),
      ...[ms((round) => round.main), ms((round) => round.threads), ms((round) => round.others)],
      String(Math.round((processTree(server.pid)[0]?.rssBytes ?? 0) / MIB)),
    ];
  });
  const heads = ["threads", "searches/s", "main ms", "threads ms", "others ms", "MiB"];
  process.stdout.write(`${alignRows([heads, ...rows], true).join("\n")}\n`);
}

function roundOf(watch: ThreadWatch, perSecond: number, searches: number): Round {
  const sums = { main: 0, threads: 0, others: 0 };
  for (const { name, ms } of watch.spent()) {
    const kind = /serve.*: main$/.test(name) ? "main" : /serve.*: Worker/.test(name) ? "threads" : "others";
    sums[kind] += ms;
  }
  return { perSecond, main: sums.main / searches, threads: sums.threads / searches, others: sums.others / searches };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function keyOf(key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` };
}

await runMain(HELP, main);
