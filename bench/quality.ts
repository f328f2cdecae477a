// Quality of search: ingests judged collections through the public API and runs their test questions in each mode, with
// and without the graph. It prints nDCG with 95 % intervals, recall, the same figures of simpler searches on the same
// server, and the latency of each stage. `bun bench/quality.ts --help` lists the flags.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { Progress } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { isoTime, systemClock } from "../src/kit/clock.ts";
import { UsageError } from "../src/kit/flags.ts";
import { ask, missedReranker, type Search, type SearchReply } from "./lib/ask.ts";
import { type Answers, BASELINES, type Baseline, baselineRankings, missingByText } from "./lib/baselines.ts";
import { type JudgedQuery, readJudgedQueries } from "./lib/beir.ts";
import { COLLECTIONS, collectionNames, collectionsFolder } from "./lib/collection.ts";
import { floorsOf } from "./lib/floors.ts";
import { modesOf } from "./lib/modes.ts";
import {
  type GraphChoice,
  type MeasuredMode,
  type MeasuredSet,
  qualityChart,
  ROW_KEYS,
  rowsOf,
  scoreTable,
  timeTable,
} from "./lib/quality-report.ts";
import { lastRows, type Row, sameRow, writeRows, writeText } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { scoresOf } from "./lib/scores.ts";
import { collectionContent, documentNames, serve } from "./lib/served-collection.ts";
import { Timings } from "./lib/timings.ts";

const HELP = `bun bench/quality.ts [flags]

Measures nDCG@10, recall and latency of each mode on judged collections. Writes bench/results/quality.json and quality.svg,
unless a flag below says "not recorded".

  --set NAMES    collections, separated by commas (default: all in ${COLLECTIONS})
  --from FOLDER  folder of the collections
  --data FOLDER  keep each server's data directory here, so that the next run needs no ingest
  --mode NAMES   modes, separated by commas (default: ${MODE_NAMES.join(",")}; not recorded if given)
  --graph WHAT   whether searches ask for the graph: off, on or both (default: both)
  --queries N    use only the first N questions of each collection (not recorded)
  --chart FILE   also write the chart of this run to FILE
  --url URL      use this running server, which already has the collection, instead of starting servers
  --key KEY      API key for --url

All modes return 100 results. The baselines come from the same server. "vectors alone" is the ranking of fast. "BM25 alone"
and "equal RRF" (reciprocal rank fusion) are computed from the signals of precise's results, whose candidates include the
200 best by BM25. If one of the ten best by BM25 is not among the results, a second search asks for the other memories; the
bench prints how many are still missing.`;

/** Number of questions that are asked first in each mode, without measuring, to warm up caches and models. */
const WARM_UP_QUERIES = 10;
/**
 * Maximum share of searches whose reranking timed out. If a mode has more, its row is not recorded. The nDCG of one
 * search changes by 1 at most, so this share changes the mean by at most the tolerance of precise in lib/floors.ts.
 */
const UNRERANKED_SHARE_MAX = 0.005;
const GRAPH_CHOICES: Readonly<Record<string, readonly GraphChoice[]>> = {
  off: ["off"],
  on: ["on"],
  both: ["off", "on"],
};

interface Plan {
  readonly modes: readonly ModeName[];
  readonly graphs: readonly GraphChoice[];
  readonly queriesMax: number;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const from = collectionsFolder(flags.get("--from"));
  const sets = collectionNames(from, flags.get("--set"));
  const graphs = GRAPH_CHOICES[flags.get("--graph") ?? "both"];
  if (graphs === undefined) throw new UsageError("--graph must be off, on or both.");
  const plan: Plan = {
    modes: modesOf(flags.get("--mode")),
    graphs,
    queriesMax: Number(flags.get("--queries") ?? Number.POSITIVE_INFINITY),
  };

  const url = flags.get("--url");
  const data = flags.get("--data") ?? null;
  const measured: MeasuredSet[] = [];
  for (const set of sets) {
    const folder = join(from, set);
    if (url !== undefined) {
      measured.push(await measureSet(set, folder, plan, new Client(url, flags.get("--key") ?? "")));
      continue;
    }
    await using server = await serve(await collectionContent(set, folder), data);
    measured.push(await measureSet(set, folder, plan, new Client(server.url, server.key)));
  }

  // Rows of old runs have no `graph` column; they were measured without the graph.
  const before = lastRows("quality").map((row): Row => ({ graph: "off", ...row }));
  const rows = measured.flatMap(rowsOf);
  process.stdout.write(
    `${scoreTable(rows, before)}\n\nms, p50/p95\n${timeTable(measured)}\n\n${summarySentences(measured)}\n`,
  );
  const today = isoTime(systemClock.now()).slice(0, 10);
  const chart = flags.get("--chart");
  if (chart !== undefined) writeFileSync(chart, qualityChart(rows, today));
  if (Number.isFinite(plan.queriesMax) || flags.has("--mode")) return;
  const recorded = rows.filter(
    ({ unreranked = 0, queries }) => Number(unreranked) <= UNRERANKED_SHARE_MAX * Number(queries),
  );
  const kept = before.filter((row) => sameRow(recorded, row, ROW_KEYS) === undefined);
  const all = [...kept, ...recorded].sort((left, right) => String(left.set).localeCompare(String(right.set)));
  const written = [writeRows("quality", all), writeText("quality.svg", qualityChart(all, today))];
  process.stdout.write(`written to ${written.join(" and ")}\n`);
}

async function measureSet(set: string, folder: string, plan: Plan, client: Client): Promise<MeasuredSet> {
  const queries = (await readJudgedQueries(folder, "test")).slice(0, plan.queriesMax);
  const documentOf = await documentNames(client, folder);
  const modes: MeasuredMode[] = [];
  const withoutGraph = new Map<ModeName, readonly SearchReply[]>();
  for (const graph of plan.graphs) {
    for (const mode of plan.modes) {
      const label = `${set} ${mode}${graph === "on" ? " with graph" : ""}`;
      const includeGraph = graph === "on";
      const asked = await askAll(label, queries, (query) =>
        ask(client, { ...searchOf(query), mode, includeGraph }, documentOf),
      );
      const timings = new Timings();
      for (const each of asked) timings.add(each);
      const scores = scoresOf(
        queries,
        asked.map(({ documents }) => documents),
      );
      const unreranked = asked.filter(missedReranker).length;
      modes.push({ mode, graph, scores, unreranked, times: timings.summary() });
      if (graph === "off") withoutGraph.set(mode, asked);
    }
  }
  const [fast, precise] = [withoutGraph.get("fast"), withoutGraph.get("precise")];
  if (fast === undefined || precise === undefined) {
    return { set, queries: queries.length, modes, baselines: new Map(), wordsMissing: 0 };
  }
  const answers: Answers[] = [];
  for (const [at, query] of queries.entries()) {
    answers.push(await answersTo(query, fast[at], precise[at], (search) => ask(client, search, documentOf)));
  }
  return { set, queries: queries.length, modes, ...judgedBaselines(queries, answers) };
}

function searchOf({ text, userId }: JudgedQuery): Omit<Search, "mode"> {
  return { query: text, limit: LIMITS.searchResults, within: userId === null ? {} : { userId } };
}

async function answersTo(
  query: JudgedQuery,
  fast: SearchReply | undefined,
  precise: SearchReply | undefined,
  again: (search: Search) => Promise<SearchReply>,
): Promise<Answers> {
  const poolSize = precise?.stages.find(({ name }) => name === "fuse")?.candidates ?? 0;
  const first = { fast: fast?.passages ?? [], precise: precise?.passages ?? [], poolSize, further: [] };
  if (missingByText(first) === 0) return first;
  const search = searchOf(query);
  const filters = { memory_id: { $nin: [...new Set(first.precise.map(({ memoryId }) => memoryId))] } };
  const { passages } = await again({ ...search, mode: "precise", within: { ...search.within, filters } });
  return { ...first, further: passages };
}

async function askAll(
  label: string,
  queries: readonly JudgedQuery[],
  one: (query: JudgedQuery) => Promise<SearchReply>,
): Promise<readonly SearchReply[]> {
  const progress = new Progress(`${label}:`);
  for (const query of queries.slice(0, WARM_UP_QUERIES)) await one(query);
  const asked: SearchReply[] = [];
  for (const [at, query] of queries.entries()) {
    asked.push(await one(query));
    progress.show(at / queries.length, `${at} of ${queries.length} questions`);
  }
  progress.finish(`${label}: ${queries.length} questions`);
  return asked;
}

function judgedBaselines(
  queries: readonly JudgedQuery[],
  answers: readonly Answers[],
): Pick<MeasuredSet, "baselines" | "wordsMissing"> {
  const rankings = answers.map(baselineRankings);
  const judge = (name: Baseline) => {
    const rankingsOfName = rankings.map((ranking) => ranking[name]);
    return scoresOf(queries, rankingsOfName);
  };
  return {
    baselines: new Map(BASELINES.map((name) => [name, judge(name)])),
    wordsMissing: answers.reduce((sum, answer) => sum + missingByText(answer), 0),
  };
}

// Sentences that say whether the floors are kept, and whether the BM25 baseline lacks passages.
function summarySentences(measured: readonly MeasuredSet[]): string {
  const lines = measured.flatMap(({ set, queries, modes, baselines, wordsMissing }) => [
    ...GRAPH_SIDES.flatMap(({ graph, suffix }) => {
      const judged = new Map(modes.filter((each) => each.graph === graph).map(({ mode, scores }) => [mode, scores]));
      return floorsOf({ set: `${set}${suffix}`, modes: judged, baselines }).map(({ sentence }) => sentence);
    }),
    ...(baselines.size === 0
      ? [`${set} has no baselines, because they need fast and precise without the graph`]
      : [`BM25 alone on ${set} lacks ${wordsMissing} of the ten best passages, over ${queries} questions`]),
    ...modes.flatMap(({ mode, graph, unreranked }) => {
      const verdict =
        unreranked > UNRERANKED_SHARE_MAX * queries ? "; not recorded, because the machine was too busy" : "";
      if (unreranked === 0) return [];
      return `${unreranked} searches of ${mode} on ${set} (graph ${graph}) had no reranking${verdict}`;
    }),
  ]);
  return lines.join("\n");
}

const GRAPH_SIDES: readonly { readonly graph: GraphChoice; readonly suffix: string }[] = [
  { graph: "off", suffix: "" },
  { graph: "on", suffix: " with graph" },
];

await runMain(HELP, main);
