// Latency of search for one caller, by stage, and memory of the server's processes. It sends one question after the
// other to an otherwise idle server, in each mode. `bun bench/search.ts --help` lists the flags.

import { existsSync } from "node:fs";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { UsageError } from "../src/kit/flags.ts";
import { ask, missedReranker, type SearchReply } from "./lib/ask.ts";
import { queriesFile } from "./lib/beir.ts";
import { firstQuestions, SCIFACT } from "./lib/collection.ts";
import { modesOf } from "./lib/modes.ts";
import { listenerOf, processTree } from "./lib/processes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { PASSAGES_FILE, passagesContent, serve } from "./lib/served-collection.ts";
import { Timings } from "./lib/timings.ts";

const QUERIES_FILE = queriesFile(SCIFACT);
const HELP = `bun bench/search.ts --data FOLDER | --url URL [flags]

Measures the latency of search by mode and stage, and the memory of the server. Prints tables.

  --data FOLDER   start a server over the passages and keep its data directory here; the first run fills it
                  (132,523 passages take half an hour or more)
  --passages FILE passages, BEIR format (default: ${PASSAGES_FILE})
  --count N       use only the first N passages (not recorded)
  --url URL       use this running server instead, with any content
  --key KEY       API key for --url (default: MNEME_API_KEY or MNEME_ADMIN_KEY)
  --queries FILE  questions, JSONL (.gz) (default: ${QUERIES_FILE})
  --questions N   number of questions (default: 300)
  --mode NAMES    modes, separated by commas (default: ${MODE_NAMES.join(",")})
  --limit N       results per search (default: 10)
  --record        write bench/results/search.json`;
const WARM_UP_QUERIES = 20;
const MIB = 1024 * 1024;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const modes = modesOf(flags.get("--mode"));
  const file = flags.get("--queries") ?? QUERIES_FILE;
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; give a file of questions with --queries.`);
  const questions = await firstQuestions(file, Number(flags.get("--questions") ?? 300));
  const limit = Number(flags.get("--limit") ?? 10);
  const measure = async (client: Client) => {
    const rows: Row[] = [];
    for (const mode of modes) rows.push(...(await measureMode(client, mode, questions, limit)));
    rows.push(...printMemory(Number(new URL(client.url).port || 80)));
    if (flags.has("--record") && !flags.has("--count")) {
      process.stdout.write(`written to ${writeRows("search", rows)}\n`);
    }
  };

  const [url, data] = [flags.get("--url"), flags.get("--data")];
  if (url !== undefined) {
    const key = flags.get("--key") ?? process.env.MNEME_API_KEY ?? process.env.MNEME_ADMIN_KEY ?? "";
    return measure(new Client(url, key));
  }
  if (data === undefined) throw new UsageError("Give a folder with --data, or a server with --url.");
  const count = Number(flags.get("--count") ?? Number.POSITIVE_INFINITY);
  await using server = await serve(await passagesContent(flags.get("--passages") ?? PASSAGES_FILE, count), data);
  await measure(new Client(server.url, server.key)); // awaited, because the server stops at the end of this block
}

async function measureMode(
  client: Client,
  mode: ModeName,
  questions: readonly string[],
  limit: number,
): Promise<readonly Row[]> {
  const one = (query: string) => ask(client, { query, mode, limit }, () => "");
  for (const query of questions.slice(0, WARM_UP_QUERIES)) await one(query);
  const progress = new Progress(`${mode}:`);
  const timings = new Timings();
  const asked: SearchReply[] = [];
  for (const [at, query] of questions.entries()) {
    const answer = await one(query);
    timings.add(answer);
    asked.push(answer);
    progress.show(at / questions.length, `${at} of ${questions.length} questions`);
  }
  const admissible = asked.at(-1)?.admissible ?? 0;
  const unreranked = asked.filter(missedReranker).length;
  const times = timings.summary();
  const table = times.map(({ stage, p50Ms, p95Ms, share }) => [
    stage,
    p50Ms.toFixed(2),
    p95Ms.toFixed(2),
    `${Math.round(share * 100)} %`,
  ]);
  process.stdout.write(
    `${mode}: ${questions.length} questions, one caller, limit ${limit}, ${admissible} memories` +
      `${unreranked === 0 ? "" : `, ${unreranked} without the reranker`}\n` +
      `${alignRows([["stage", "p50 ms", "p95 ms", "of all time"], ...table], true).join("\n")}\n\n`,
  );
  return times.map((row) => ({ mode, ...row, memories: admissible, unreranked }));
}

function printMemory(port: number): readonly Row[] {
  const server = process.platform === "linux" ? listenerOf(port) : null;
  if (server === null) return [];
  const rows = processTree(server).map(({ pid, name, rssBytes }) => ({
    process: `${name || "server"} (${pid})`,
    rssMiB: Math.round(rssBytes / MIB),
  }));
  const whole = { process: "all processes", rssMiB: rows.reduce((sum, { rssMiB }) => sum + rssMiB, 0) };
  const table = [...rows, whole].map(({ process: name, rssMiB }) => [name, String(rssMiB)]);
  process.stdout.write(`${alignRows([["memory", "RSS MiB"], ...table], true).join("\n")}\n`);
  return [...rows, whole];
}

await runMain(HELP, main);
