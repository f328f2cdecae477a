// Cost of PostgreSQL beside the embedded store: ingestion, search and reading by id, of two servers on this machine in
// the same run. PostgreSQL waits for the disk at each commit, as in production. `bun bench/store-cost.ts --help` lists
// the flags.

import { loadavg } from "node:os";
import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import type { ModeName } from "../src/domain/ranking.ts";
import { databaseUrl, durablePostgresServer, execute } from "../test/support/postgres.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { corpusFile, type Document, firstDocuments, queriesFile } from "./lib/beir.ts";
import { firstQuestions, SCIFACT } from "./lib/collection.ts";
import { load } from "./lib/load.ts";
import { percentile } from "./lib/metrics.ts";
import { modesOf } from "./lib/modes.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { rounded } from "./lib/scores.ts";
import { ingestSeconds } from "./lib/storing.ts";

const HELP = `bun bench/store-cost.ts [flags]

Measures a server on PostgreSQL and one with the embedded store in turn. Prints both and their ratio or difference.

  --docs N         documents per round of ingestion; each round has others (default: 400)
  --words N        words of each document; the rest is cut off (default: 90, which are one chunk)
  --rounds N       rounds of ingestion and reads by id (default: 4)
  --questions N    searches per mode; every question goes to both servers, one after the other (default: 200)
  --mode NAMES     modes, separated by commas (default: fast,balanced)
  --seconds N      duration of one measurement of reads by id (default: 2)
  --connections N  concurrent connections of reads by id (default: 16)
  --rate-limits L  MNEME_RATE_LIMITS of both servers (default: off)
  --record         write bench/results/store-cost.json`;
const DATABASE = "mneme_bench";
const WARM_UP_QUESTIONS = 30;
const WARM_UP_SECONDS = 2;

/** The two servers; every measurement takes them in turn. */
interface Both {
  readonly embedded: RunningServer;
  readonly postgres: RunningServer;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const number = (
    name: "--docs" | "--words" | "--rounds" | "--questions" | "--seconds" | "--connections",
    otherwise: number,
  ) => Number(flags.get(name) ?? otherwise);
  const [docs, rounds] = [number("--docs", 400), number("--rounds", 4)];
  const modes = modesOf(flags.get("--mode") ?? "fast,balanced");
  const questions = await firstQuestions(queriesFile(SCIFACT), number("--questions", 200));
  const words = number("--words", 90);
  const documents = (await firstDocuments(corpusFile(SCIFACT), docs * (rounds + 1))).map(({ title, content }) => ({
    title,
    content: content.split(" ").slice(0, words).join(" "),
  }));

  const server = await durablePostgresServer();
  await execute(server, `CREATE DATABASE ${DATABASE} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`);
  const environment = {
    MNEME_LOG_LEVEL: "warn",
    MNEME_QUERY_CACHE: "off",
    MNEME_RATE_LIMITS: flags.get("--rate-limits") ?? "off",
  };
  await using embedded = await startServer({ environment });
  const store = { MNEME_STORE: databaseUrl(server, DATABASE) };
  await using postgres = await startServer({ environment: { ...environment, ...store } });
  const both = { embedded, postgres };

  const rows: Row[] = [await measureIngest(both, documents, docs)];
  for (const mode of modes) rows.push(await measureSearch(both, mode, questions));
  const shape = { seconds: number("--seconds", 2), connections: number("--connections", 16) };
  rows.push(await measureReads(both, rounds, shape));
  rows.push(await measureReads(both, rounds, { ...shape, connections: 1 }));
  const header = ["measure", "embedded", "postgres", "ratio", "difference"];
  const shown = rows.map((row) => header.map((name) => String(row[name] ?? "")));
  process.stdout.write(`${alignRows([header, ...shown], true).join("\n")}\n`);
  process.stdout.write(
    `load average of the machine: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(" ")}\n`,
  );
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("store-cost", rows)}\n`);
}

/** Memories per second. The first documents warm the servers up. Each round changes which of the two is first. */
async function measureIngest(both: Both, documents: readonly Document[], docs: number): Promise<Row> {
  const warmUp = documents.slice(0, docs);
  for (const server of [both.embedded, both.postgres]) await ingestSeconds(server, warmUp);
  const rates: { readonly embedded: number; readonly postgres: number }[] = [];
  for (let first = docs; first < documents.length; first += docs) {
    const part = documents.slice(first, first + docs);
    rates.push(
      await inTurn(both, (first / docs) % 2, async (server) => part.length / (await ingestSeconds(server, part))),
    );
  }
  return rowOf("ingest, memories/s", rates);
}

/** Milliseconds from the request to the answer. */
async function measureSearch(both: Both, mode: ModeName, questions: readonly string[]): Promise<Row> {
  const clients = new Map([both.embedded, both.postgres].map((server) => [server, new Client(server.url, server.key)]));
  const ask = async (server: RunningServer, query: string) => {
    const startedAt = performance.now();
    await clients.get(server)?.send("POST", "/v1/memories/search", { query, mode });
    return performance.now() - startedAt;
  };
  const times: { readonly embedded: number; readonly postgres: number }[] = [];
  for (const [at, query] of [...questions.slice(0, WARM_UP_QUESTIONS), ...questions].entries()) {
    const took = await inTurn(both, at % 2, (server) => ask(server, query));
    if (at >= WARM_UP_QUESTIONS) times.push(took);
  }
  return rowOf(`${mode} search, p50 ms`, times);
}

/** Requests per second. */
async function measureReads(
  both: Both,
  rounds: number,
  shape: { readonly seconds: number; readonly connections: number },
): Promise<Row> {
  const read = async (server: RunningServer, seconds: number) => {
    const { body } = await server.call("GET", "/v1/memories?status=completed&limit=100");
    const { data } = body as { readonly data: readonly { readonly id: string }[] };
    const paths = data.map(({ id }) => `/v1/memories/${id}`);
    const authorization = { authorization: `Bearer ${server.key}` };
    const { requestsPerSecond, others } = await load(Number(new URL(server.url).port), paths, authorization, {
      ...shape,
      seconds,
    });
    if (others > 0) throw new Error(`${others} answers did not have status 200`);
    return requestsPerSecond;
  };
  await inTurn(both, 0, (server) => read(server, WARM_UP_SECONDS));
  const rates: { readonly embedded: number; readonly postgres: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    rates.push(await inTurn(both, round % 2, (server) => read(server, shape.seconds)));
  }
  return rowOf(`GET by id, ${shape.connections} connections, requests/s`, rates);
}

/** Measures both servers, one after the other; `first` is 0 if the embedded store goes first, otherwise 1. */
async function inTurn(
  { embedded, postgres }: Both,
  first: number,
  measure: (server: RunningServer) => Promise<number>,
) {
  if (first === 0) return { embedded: await measure(embedded), postgres: await measure(postgres) };
  const later = await measure(postgres);
  return { embedded: await measure(embedded), postgres: later };
}

function rowOf(measure: string, pairs: readonly { readonly embedded: number; readonly postgres: number }[]): Row {
  const median = (value: (pair: (typeof pairs)[number]) => number) => rounded(percentile(0.5, pairs.map(value)), 3);
  return {
    measure,
    embedded: median(({ embedded }) => embedded),
    postgres: median(({ postgres }) => postgres),
    ratio: median(({ embedded, postgres }) => postgres / embedded),
    difference: median(({ embedded, postgres }) => postgres - embedded),
  };
}

await runMain(HELP, main);
