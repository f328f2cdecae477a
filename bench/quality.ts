// How good are the answers? Ingests judged collections through the public interface, asks their test questions in each
// mode, and prints nDCG and recall with the latencies. `bun bench/quality.ts --help` names the flags.

import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Client, isRecord } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { startServer } from "../test/support/server.ts";
import { corpusFile, type JudgedQuery, readJudgedQueries } from "./lib/collection.ts";
import { mean, ndcgAt, percentile, recallAt } from "./lib/metrics.ts";
import { lastRows, type Row, sameRow, writeRows } from "./lib/record.ts";
import { type DocumentOf, documentNames, ingestCollection } from "./lib/served-collection.ts";

const COLLECTIONS = resolve(import.meta.dir, "../../shared/data/ir");
const MODES = ["fast", "balanced", "precise"];
const HELP = `bun bench/quality.ts [flags]
  --set NAMES    collections, by comma (all under ${COLLECTIONS})
  --from FOLDER  where the collections are
  --mode NAMES   modes, by comma (${MODES.join(",")})
  --queries N    only the first N questions of each collection; such figures are not recorded
  --url URL      ask this server, which holds the collection already (with --key), instead of own ones`;

/** Every mode is asked these first, unmeasured, so that caches and lanes are warm. */
const WARM_UP_QUERIES = 10;

interface Asked {
  readonly url: string;
  readonly key: string;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--mode": "value",
    "--queries": "value",
    "--url": "value",
    "--key": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const from = flags.get("--from") ?? COLLECTIONS;
  if (!existsSync(from)) throw new UsageError(`No collections at ${from}; name their folder with --from.`);
  const sets =
    flags.get("--set")?.split(",") ?? readdirSync(from).filter((name) => existsSync(corpusFile(join(from, name))));
  const modes = flags.get("--mode")?.split(",") ?? MODES;
  const queriesMax = Number(flags.get("--queries") ?? Number.POSITIVE_INFINITY);
  const url = flags.get("--url");

  const before = lastRows("quality");
  const rows: Row[] = [];
  for (const set of sets) {
    const folder = join(from, set);
    const queries = (await readJudgedQueries(folder, "test")).slice(0, queriesMax);
    if (url !== undefined) {
      rows.push(...(await measure(set, folder, modes, queries, { url, key: flags.get("--key") ?? "" })));
      continue;
    }
    await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "warn" } });
    await ingestCollection(server, set, folder);
    rows.push(...(await measure(set, folder, modes, queries, server)));
  }
  print(rows, before);
  const isWhole = Number.isFinite(queriesMax) === false && flags.get("--mode") === undefined;
  if (isWhole) {
    const kept = before.filter((row) => sameRow(rows, row, ["set", "mode"]) === undefined);
    process.stdout.write(`written to ${writeRows("quality", [...kept, ...rows])}\n`);
  }
}

async function measure(
  set: string,
  folder: string,
  modes: readonly string[],
  queries: readonly JudgedQuery[],
  asked: Asked,
): Promise<Row[]> {
  const client = new Client(asked.url, asked.key);
  const documents = await documentNames(client, folder);
  const rows: Row[] = [];
  for (const mode of modes) {
    const progress = new Progress(`${set} ${mode}:`);
    for (const query of queries.slice(0, WARM_UP_QUERIES)) await ask(client, mode, query, documents);
    const latenciesMs: number[] = [];
    const rankings: (readonly [JudgedQuery, readonly string[]])[] = [];
    for (const [at, query] of queries.entries()) {
      const startedAt = performance.now();
      const ranking = await ask(client, mode, query, documents);
      latenciesMs.push(performance.now() - startedAt);
      rankings.push([query, ranking]);
      progress.show(at / queries.length, `${at} of ${queries.length} questions`);
    }
    progress.finish(`${set} ${mode}: ${queries.length} questions`);
    const average = (score: (ranking: readonly string[], query: JudgedQuery) => number) =>
      rounded(mean(rankings.map(([query, ranking]) => score(ranking, query))), 4);
    rows.push({
      set,
      mode,
      queries: queries.length,
      "nDCG@10": average((ranking, query) => ndcgAt(10, ranking, query.judgements)),
      "R@5": average((ranking, query) => recallAt(5, ranking, query.judgements)),
      "R@10": average((ranking, query) => recallAt(10, ranking, query.judgements)),
      "R@100": average((ranking, query) => recallAt(100, ranking, query.judgements)),
      p50Ms: rounded(percentile(0.5, latenciesMs), 1),
      p95Ms: rounded(percentile(0.95, latenciesMs), 1),
    });
  }
  return rows;
}

// Documents, best first; a document with several passages stands where its best one does.
async function ask(
  client: Client,
  mode: string,
  query: JudgedQuery,
  documents: DocumentOf,
): Promise<readonly string[]> {
  const answer = await client.send("POST", "/v1/memories/search", {
    query: query.text,
    mode,
    limit: LIMITS.searchResults,
    ...(query.userId === null ? {} : { userId: query.userId }),
  });
  const ranking = new Set<string>();
  for (const result of Array.isArray(answer.results) ? answer.results : []) {
    if (isRecord(result)) ranking.add(documents(result));
  }
  return [...ranking];
}

function print(rows: readonly Row[], before: readonly Row[]): void {
  const columns = ["set", "mode", "queries", "nDCG@10", "R@5", "R@10", "R@100", "p50Ms", "p95Ms"];
  const body = rows.map((row) => {
    const last = sameRow(before, row, ["set", "mode"]);
    const change = last === undefined ? "" : signed(Number(row["nDCG@10"]) - Number(last["nDCG@10"]));
    return [...columns.map((column) => shown(column, row[column])), change];
  });
  process.stdout.write(`${alignRows([[...columns, "change of nDCG"], ...body], true).join("\n")}\n`);
}

// Scores with four digits, milliseconds with one.
function shown(column: string, value: string | number | undefined): string {
  if (typeof value !== "number") return value ?? "";
  if (column === "queries") return String(value);
  return value.toFixed(column.endsWith("Ms") ? 1 : 4);
}

function signed(difference: number): string {
  return `${difference < 0 ? "-" : "+"}${Math.abs(difference).toFixed(4)}`;
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

await main();
