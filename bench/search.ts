// How fast is one caller's search, and where does the time go? Asks a running server one question after the other, and
// adds up what its processes hold in memory. `bun bench/search.ts --help` names the flags.

import { Client, isRecord } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { readQueries } from "./lib/collection.ts";
import { percentile } from "./lib/metrics.ts";
import { familyOf, listenerOf } from "./lib/processes.ts";
import { writeRows } from "./lib/record.ts";

const HELP = `bun bench/search.ts --queries FILE.jsonl[.gz] [flags]
  --url URL     the server (http://127.0.0.1:8383)
  --key KEY     an API key (else MNEME_API_KEY or MNEME_ADMIN_KEY)
  --mode NAME   fast, balanced (fast)
  --limit N     results per search (10)
  --count N     questions asked (300)
  --record      write bench/results/search.json`;
const WARM_UP_QUERIES = 20;
const MIB = 1024 * 1024;

/** Milliseconds of every question, by stage; `whole` as the caller sees it. */
type Timings = Map<string, number[]>;

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--queries": "value",
    "--url": "value",
    "--key": "value",
    "--mode": "value",
    "--limit": "value",
    "--count": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const file = flags.get("--queries");
  if (file === undefined) throw new UsageError("Name a file of questions with --queries.");
  const url = flags.get("--url") ?? "http://127.0.0.1:8383";
  const key = flags.get("--key") ?? process.env.MNEME_API_KEY ?? process.env.MNEME_ADMIN_KEY ?? "";
  const mode = flags.get("--mode") ?? "fast";
  const limit = Number(flags.get("--limit") ?? 10);
  const count = Number(flags.get("--count") ?? 300);

  const client = new Client(url, key);
  const questions = await firstQueries(file, count);
  for (const query of questions.slice(0, WARM_UP_QUERIES)) await ask(client, query, mode, limit, new Map());
  const timings: Timings = new Map();
  for (const query of questions) await ask(client, query, mode, limit, timings);

  const wholeMs = sum(timings.get("whole") ?? []);
  const rows = [...timings].map(([stage, ms]) => ({
    stage,
    share: Number((sum(ms) / wholeMs).toFixed(3)),
    p50Ms: Number(percentile(0.5, ms).toFixed(2)),
    p95Ms: Number(percentile(0.95, ms).toFixed(2)),
  }));
  process.stdout.write(`${questions.length} questions, one caller, mode ${mode}, limit ${limit}\n`);
  const table = rows.map(({ stage, share, p50Ms, p95Ms }) => [
    stage,
    p50Ms.toFixed(2),
    p95Ms.toFixed(2),
    `${Math.round(share * 100)} %`,
  ]);
  process.stdout.write(`${alignRows([["stage", "p50 ms", "p95 ms", "of all time"], ...table], true).join("\n")}\n`);
  const memory = printMemory(Number(new URL(url).port || 80));
  if (flags.has("--record")) writeRows("search", [...rows, ...memory]);
}

async function firstQueries(file: string, count: number): Promise<readonly { text: string; userId: string | null }[]> {
  const queries: { text: string; userId: string | null }[] = [];
  for await (const query of readQueries(file)) {
    queries.push(query);
    if (queries.length >= count) break;
  }
  return queries;
}

async function ask(
  client: Client,
  query: { readonly text: string; readonly userId: string | null },
  mode: string,
  limit: number,
  timings: Timings,
): Promise<void> {
  const startedAt = performance.now();
  const answer = await client.send("POST", "/v1/memories/search", {
    query: query.text,
    mode,
    limit,
    explain: true,
    ...(query.userId === null ? {} : { userId: query.userId }),
  });
  note(timings, "whole", performance.now() - startedAt);
  const stages = isRecord(answer.explain) && Array.isArray(answer.explain.stages) ? answer.explain.stages : [];
  let explainedMs = 0;
  for (const stage of stages) {
    if (!isRecord(stage)) continue;
    note(timings, String(stage.name), Number(stage.ms));
    explainedMs += Number(stage.ms);
  }
  if (stages.length > 0) note(timings, "all stages", explainedMs);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function note(timings: Timings, stage: string, ms: number): void {
  const all = timings.get(stage) ?? [];
  all.push(ms);
  timings.set(stage, all);
}

function printMemory(port: number): readonly { process: string; rssMiB: number }[] {
  const server = process.platform === "linux" ? listenerOf(port) : null;
  if (server === null) return [];
  const rows = familyOf(server).map(({ pid, name, rssBytes }) => ({
    process: `${name || "server"} (${pid})`,
    rssMiB: Math.round(rssBytes / MIB),
  }));
  const whole = { process: "all processes", rssMiB: rows.reduce((sum, { rssMiB }) => sum + rssMiB, 0) };
  const table = [...rows, whole].map(({ process: name, rssMiB }) => [name, String(rssMiB)]);
  process.stdout.write(`\n${alignRows([["memory", "RSS MiB"], ...table], true).join("\n")}\n`);
  return [...rows, whole];
}

await main();
