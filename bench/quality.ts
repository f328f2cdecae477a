// How good are the answers? Ingests judged collections through the public interface, asks their test questions in each
// mode with and without the graph, and prints nDCG and recall with 95 % intervals, what simpler searches reach on the same
// server, and the latencies of each stage. `bun bench/quality.ts --help` names the flags.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { Progress } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { isoTime, systemClock } from "../src/kit/clock.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { type Asked, ask, missedReranker, type Search } from "./lib/ask.ts";
import { type Answers, BASELINES, type Baseline, baselineRankings, missingByWords } from "./lib/baselines.ts";
import {
  COLLECTIONS,
  collectionNames,
  collectionsFolder,
  type JudgedQuery,
  readJudgedQueries,
} from "./lib/collection.ts";
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
import { scoresOf } from "./lib/scores.ts";
import { collectionHolding, documentNames, serve } from "./lib/served-collection.ts";
import { Timings } from "./lib/timings.ts";

const HELP = `bun bench/quality.ts [flags]
  --set NAMES    collections, by comma (all under ${COLLECTIONS})
  --from FOLDER  where the collections are
  --data FOLDER  keep each server's data directory here, so that the next run needs no ingest
  --mode NAMES   modes, by comma (${MODE_NAMES.join(",")}); such figures are not recorded
  --graph WHAT   off, on or both: whether searches ask for the graph (both)
  --queries N    only the first N questions of each collection; such figures are not recorded
  --chart FILE   write the chart of this run's figures there, recorded or not
  --url URL      ask this server, which holds the collection already (with --key), instead of own ones

Baselines come from the same server: vectors alone are fast's order, which is theirs; words alone and equal reciprocal
rank fusion are put together from the scores that precise shows of its 100 results, out of a pool that holds the 200 best
by words. Where one of the ten best by words is missing, it is asked again for the memories that it did not return; what is
missing then is printed. All modes are asked for 100 results.`;

/** Every mode is asked these first, unmeasured, so that caches and lanes are warm. */
const WARM_UP_QUERIES = 10;
/** Beyond, a mode's row is not recorded. An answer moves its nDCG by 1 at most, so these move the mean by precise's floor at most. */
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

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--data": "value",
    "--mode": "value",
    "--graph": "value",
    "--queries": "value",
    "--chart": "value",
    "--url": "value",
    "--key": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
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
    await using server = await serve(await collectionHolding(set, folder), data);
    measured.push(await measureSet(set, folder, plan, new Client(server.url, server.key)));
  }

  // rows from before there was a choice were asked without the graph
  const before = lastRows("quality").map((row): Row => ({ graph: "off", ...row }));
  const rows = measured.flatMap(rowsOf);
  process.stdout.write(`${scoreTable(rows, before)}\n\nms, p50/p95\n${timeTable(measured)}\n\n${words(measured)}\n`);
  const today = isoTime(systemClock.now()).slice(0, 10);
  const chart = flags.get("--chart");
  if (chart !== undefined) writeFileSync(chart, qualityChart(rows, today));
  if (Number.isFinite(plan.queriesMax) || flags.has("--mode")) return;
  const sound = rows.filter(
    ({ unreranked = 0, queries }) => Number(unreranked) <= UNRERANKED_SHARE_MAX * Number(queries),
  );
  const kept = before.filter((row) => sameRow(sound, row, ROW_KEYS) === undefined);
  const all = [...kept, ...sound].sort((left, right) => String(left.set).localeCompare(String(right.set)));
  const written = [writeRows("quality", all), writeText("quality.svg", qualityChart(all, today))];
  process.stdout.write(`written to ${written.join(" and ")}\n`);
}

async function measureSet(set: string, folder: string, plan: Plan, client: Client): Promise<MeasuredSet> {
  const queries = (await readJudgedQueries(folder, "test")).slice(0, plan.queriesMax);
  const documentOf = await documentNames(client, folder);
  const modes: MeasuredMode[] = [];
  const withoutGraph = new Map<ModeName, readonly Asked[]>();
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
  fast: Asked | undefined,
  precise: Asked | undefined,
  again: (search: Search) => Promise<Asked>,
): Promise<Answers> {
  const poolSize = precise?.stages.find(({ name }) => name === "fuse")?.candidates ?? 0;
  const first = { fast: fast?.passages ?? [], precise: precise?.passages ?? [], poolSize, further: [] };
  if (missingByWords(first) === 0) return first;
  const search = searchOf(query);
  const filters = { memory_id: { $nin: [...new Set(first.precise.map(({ memoryId }) => memoryId))] } };
  const { passages } = await again({ ...search, mode: "precise", within: { ...search.within, filters } });
  return { ...first, further: passages };
}

async function askAll(
  label: string,
  queries: readonly JudgedQuery[],
  one: (query: JudgedQuery) => Promise<Asked>,
): Promise<readonly Asked[]> {
  const progress = new Progress(`${label}:`);
  for (const query of queries.slice(0, WARM_UP_QUERIES)) await one(query);
  const asked: Asked[] = [];
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
    wordsMissing: answers.reduce((sum, answer) => sum + missingByWords(answer), 0),
  };
}

// What the floors say, and how far the words baseline is to be believed.
function words(measured: readonly MeasuredSet[]): string {
  const lines = measured.flatMap(({ set, queries, modes, baselines, wordsMissing }) => [
    ...GRAPH_SIDES.flatMap(({ graph, suffix }) => {
      const judged = new Map(modes.filter((each) => each.graph === graph).map(({ mode, scores }) => [mode, scores]));
      return floorsOf({ set: `${set}${suffix}`, modes: judged, baselines }).map(({ sentence }) => sentence);
    }),
    ...(baselines.size === 0
      ? [`${set} has no baselines: they need fast and precise without the graph`]
      : [`BM25 alone on ${set} goes without ${wordsMissing} of the ten best passages of ${queries} questions`]),
    ...modes.flatMap(({ mode, graph, unreranked }) => {
      const verdict = unreranked > UNRERANKED_SHARE_MAX * queries ? ": not recorded, the machine was too busy" : "";
      if (unreranked === 0) return [];
      return `${unreranked} answers of ${mode} on ${set} (graph ${graph}) came without the reranker${verdict}`;
    }),
  ]);
  return lines.join("\n");
}

const GRAPH_SIDES: readonly { readonly graph: GraphChoice; readonly suffix: string }[] = [
  { graph: "off", suffix: "" },
  { graph: "on", suffix: " with graph" },
];

await main();
