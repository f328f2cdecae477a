// Loss of search quality in a large project: runs the same test questions on a collection alone and on the collection
// mixed with many unrelated book passages, and prints the difference. `bun bench/haystack.ts --help` lists the flags.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { ask, missedReranker, type Search, type SearchReply } from "./lib/ask.ts";
import { COLLECTIONS, collectionsFolder, type JudgedQuery, readJudgedQueries, spread } from "./lib/collection.ts";
import { haystackContent, PASSAGES_FILE, passagesContent } from "./lib/haystack.ts";
import { pairedDifference } from "./lib/intervals.ts";
import { modesOf } from "./lib/modes.ts";
import { lastRows, type Row, sameRow, writeRows } from "./lib/record.ts";
import { rounded, type Scores, scoresOf, signed } from "./lib/scores.ts";
import { collectionContent, documentNames, type ServerContent, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/haystack.ts [flags]

Measures how much nDCG@10 drops when a collection is mixed with unrelated passages. Writes bench/results/haystack.json.

  --set NAMES     collections, separated by commas (default: scifact,locomo)
  --from FOLDER   folder of the collections (default: ${COLLECTIONS})
  --passages FILE unrelated passages (default: ${PASSAGES_FILE})
  --count N       use only the first N passages (default: all; not recorded if given)
  --data FOLDER   keep each server's data directory here. The passages are then embedded once for all collections and for
                  bench/search.ts, and the collections once for this bench and for bench/quality.ts
  --mode NAMES    modes, separated by commas (default: ${MODE_NAMES.join(",")})
  --queries N     use at most N questions of each collection, evenly spread

The passages belong to no user. In collections with users, a question searches its user's memories and the passages.`;

/** Maximum acceptable loss of nDCG@10. */
const LOSS_MAX = 0.03;

interface Judged {
  readonly scores: Scores;
  readonly admissible: number;
  readonly unreranked: number;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--passages": "value",
    "--count": "value",
    "--data": "value",
    "--mode": "value",
    "--queries": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const from = collectionsFolder(flags.get("--from"));
  const modes = modesOf(flags.get("--mode"));
  const queriesMax = Number(flags.get("--queries") ?? Number.POSITIVE_INFINITY);
  const count = Number(flags.get("--count") ?? Number.POSITIVE_INFINITY);
  const hay = await passagesContent(flags.get("--passages") ?? PASSAGES_FILE, count);
  const kept = flags.get("--data");
  const data = kept ?? mkdtempSync(join(tmpdir(), "mneme-haystack-"));

  const rows: Row[] = [];
  try {
    for (const set of (flags.get("--set") ?? "scifact,locomo").split(",")) {
      const folder = join(from, set);
      const queries = spread(await readJudgedQueries(folder, "test"), queriesMax);
      const alone = await judge(await collectionContent(set, folder), data, folder, modes, queries, scopeAlone);
      const holding = await haystackContent(set, folder, hay, data);
      const hidden = await judge(holding, data, folder, modes, queries, scopeAmongPassages);
      for (const mode of modes) rows.push(rowOf(set, mode, queries.length, alone.get(mode), hidden.get(mode)));
    }
  } finally {
    if (kept === undefined) rmSync(data, { recursive: true, force: true });
  }
  const before = lastRows("haystack");
  print(rows, before);
  if (Number.isFinite(count)) return;
  const others = before.filter((row) => sameRow(rows, row, ["set", "mode"]) === undefined);
  process.stdout.write(`written to ${writeRows("haystack", [...others, ...rows])}\n`);
}

function scopeAlone({ userId }: JudgedQuery): Search["within"] {
  return userId === null ? {} : { userId };
}

function scopeAmongPassages({ userId }: JudgedQuery): Search["within"] {
  return userId === null ? {} : { filters: { $or: [{ userId }, { userId: null }] } };
}

async function judge(
  holding: ServerContent,
  data: string,
  folder: string,
  modes: readonly ModeName[],
  queries: readonly JudgedQuery[],
  scopeOf: (query: JudgedQuery) => Search["within"],
): Promise<ReadonlyMap<ModeName, Judged>> {
  await using server = await serve(holding, data);
  const client = new Client(server.url, server.key);
  const documentOf = await documentNames(client, folder);
  const judged = new Map<ModeName, Judged>();
  for (const mode of modes) {
    const progress = new Progress(`${holding.name} ${mode}:`);
    const asked: SearchReply[] = [];
    for (const [at, query] of queries.entries()) {
      const within = scopeOf(query) ?? {};
      asked.push(await ask(client, { query: query.text, mode, limit: LIMITS.searchResults, within }, documentOf));
      progress.show(at / queries.length, `${at} of ${queries.length} questions`);
    }
    progress.finish(`${holding.name} ${mode}: ${queries.length} questions`);
    const rankings = asked.map(({ documents }) => documents);
    judged.set(mode, {
      scores: scoresOf(queries, rankings),
      admissible: Math.max(0, ...asked.map(({ admissible }) => admissible)),
      unreranked: asked.filter(missedReranker).length,
    });
  }
  return judged;
}

function rowOf(set: string, mode: string, queries: number, alone?: Judged, hidden?: Judged): Row {
  if (alone === undefined || hidden === undefined) throw new Error(`${set} was not measured in ${mode}`);
  const { mean, low, high } = pairedDifference(hidden.scores.ndcg, alone.scores.ndcg);
  const figures = {
    alone: alone.scores.mean,
    hidden: hidden.scores.mean,
    change: mean,
    low,
    high,
    "alone R@10": alone.scores.recalls["R@10"] ?? 0,
    "hidden R@10": hidden.scores.recalls["R@10"] ?? 0,
  };
  return {
    set,
    mode,
    queries,
    memories: hidden.admissible,
    ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, rounded(value, 4)])),
    unreranked: alone.unreranked + hidden.unreranked,
  };
}

function print(rows: readonly Row[], before: readonly Row[]): void {
  const header = [
    "set",
    "mode",
    "queries",
    "memories",
    "alone",
    "hidden",
    "change of nDCG@10",
    "R@10",
    "without reranker",
  ];
  const body = rows.map((row) => {
    const last = sameRow(before, row, ["set", "mode", "queries", "memories"]);
    const digits = (name: string) => Number(row[name]).toFixed(4);
    return [
      ...["set", "mode", "queries", "memories"].map((name) => String(row[name])),
      digits("alone"),
      digits("hidden"),
      `${signed(Number(row.change))} (${signed(Number(row.low))} to ${signed(Number(row.high))})` +
        (last === undefined ? "" : `, last ${signed(Number(last.change))}`),
      `${digits("alone R@10")} to ${digits("hidden R@10")}`,
      String(row.unreranked),
    ];
  });
  process.stdout.write(`${alignRows([header, ...body], true).join("\n")}\n\n`);
  for (const { set, mode, change } of rows) {
    const isWithin = Number(change) >= -LOSS_MAX;
    process.stdout.write(
      `${mode} on ${set} ${Number(change) < 0 ? "loses" : "changes by"} ${Math.abs(Number(change) * 100).toFixed(1)} points` +
        `${isWithin ? "" : `: more than the limit of ${LOSS_MAX * 100}`}\n`,
    );
  }
}

await main();
