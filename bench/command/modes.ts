// `mneme bench modes`: latency of each search mode and of its stages, idle and while memories are ingested. Beside each
// figure stands what the models alone take for the same questions and passages.

import { type ModeName, STAGE_NAMES } from "../../src/domain/ranking.ts";
import { rangeChart } from "../lib/chart.ts";
import { percentile, sum } from "../lib/metrics.ts";
import type { Question } from "../lib/passages.ts";
import type { Asked } from "../lib/target.ts";
import { type Cell, type Column, type Findings, figure, figureColumn, keyColumn, ratio } from "./result.ts";
import {
  askBare,
  BackgroundIngest,
  type BareQuestion,
  bareIngestRate,
  bareQuestions,
  foundShare,
  LIMIT_COLUMNS,
  PERCENTILE_COLUMNS,
  percentiles,
  type Run,
  readTimes,
} from "./run.ts";

type Load = "idle" | "ingest";
type Row = Readonly<Record<string, Cell>>;

/** Times of the models alone, in milliseconds. */
interface BareTimes {
  readonly whole: readonly number[];
  readonly embed: readonly number[];
  readonly rerank: readonly number[];
}

interface Answer extends Asked {
  readonly question: Question;
}

const MODE_LIMIT_COLUMNS: readonly Column[] = LIMIT_COLUMNS.toSpliced(
  1,
  0,
  figureColumn("limit_p95", "limit p95", "ms", null),
);
const LATENCY_COLUMNS: readonly Column[] = [
  ...[keyColumn("mode"), keyColumn("load"), figureColumn("questions", "questions", "", null)],
  ...[...PERCENTILE_COLUMNS, ...MODE_LIMIT_COLUMNS],
  figureColumn("found", "found@10", "", "higher"),
  figureColumn("failed", "failed", "", "lower"),
  figureColumn("ingest_rate", "ingested", "chunks/s", "higher"),
];
const STAGE_COLUMNS: readonly Column[] = [
  ...[keyColumn("mode"), keyColumn("load"), keyColumn("stage")],
  ...[...PERCENTILE_COLUMNS, figureColumn("share", "of all time", "", null)],
  ...MODE_LIMIT_COLUMNS,
];

/** Measures all modes of a server that has the passages. */
export async function benchModes(run: Run): Promise<Findings> {
  const latency: Row[] = [];
  const stages: Row[] = [];
  const ofMode = new Map<ModeName, readonly BareQuestion[]>();
  for (const mode of run.modes) ofMode.set(mode, await bareQuestions(run, mode));
  const chunks = (await run.bare.chunkTexts(run.workload.passages.slice(0, 500))).flat();
  for (const load of ["idle", "ingest"] as const) {
    const read = await withIngest(run, load, () => readTimes(run, 100));
    for (const mode of run.modes) {
      const { value: answers, rate } = await withIngest(run, load, () => askAll(run, mode, load));
      const bare = await withBareIngest(run, load, chunks, () => askAllBare(run, mode, ofMode.get(mode) ?? []));
      const limit = percentiles(bare.whole);
      const times = percentiles(answers.map(({ ms }) => ms));
      latency.push({
        ...{ mode, load, questions: answers.length, ...times },
        ...limits(times.p50, bare.whole),
        found: foundShare(
          answers.map(({ question, hits }) => ({ question, found: hits.map(({ document }) => document) })),
        ),
        failed: answers.filter(({ status }) => status !== 200).length,
        ingest_rate: rate === null ? null : figure(rate),
      });
      stages.push(...stageRows(mode, load, answers, bare, read.value));
      run.progress(`${mode}, ${load}`, 1, `p50 ${times.p50} ms, limit ${limit.p50} ms`);
    }
  }
  return {
    tables: [
      { name: "latency", title: "Latency of a search", columns: LATENCY_COLUMNS, rows: latency },
      { name: "stages", title: "Stages of a search", columns: STAGE_COLUMNS, rows: stages },
    ],
    chart: rangeChart({
      title: "Latency of a search by mode",
      unit: "ms",
      rows: latency.map((row) => ({
        name: `${row.mode}, ${row.load === "idle" ? "idle" : "under ingestion"}`,
        points: [row.p50, row.p95, row.p99].map(Number),
        limit: Number(row.limit_p50),
      })),
      legend: ["p50", "p95", "p99"],
      limitName: "models alone, p50",
    }),
    notes: [
      "One caller asks one question after the other over HTTP, with `explain`, which the stages need.",
      "The limit is the time that the embedder, and in balanced and precise the reranker, take for the same questions and passages without a server. The limit of the stage `rest` (HTTP, authentication, checks, JSON) is reading a memory by its id.",
      "`ingest` means that memories are stored all the time; for the limit, the bare embedder embeds chunks meanwhile.",
      "`found@10` is the share of questions whose answer is among ten results.",
    ],
  };
}

async function askAll(run: Run, mode: ModeName, load: Load): Promise<readonly Answer[]> {
  const { questions } = run.workload;
  const answers: Answer[] = [];
  for (const [at, question] of questions.entries()) {
    answers.push({ ...(await run.target.ask(question, { mode })), question });
    run.progress(`${mode}, ${load}`, at / questions.length, `${at} of ${questions.length} questions`);
  }
  return answers;
}

async function askAllBare({ bare }: Run, mode: ModeName, questions: readonly BareQuestion[]): Promise<BareTimes> {
  const times = { whole: [] as number[], embed: [] as number[], rerank: [] as number[] };
  for (const question of questions) {
    const { ms, embedMs, rerankMs } = await askBare(bare, mode, question);
    times.whole.push(ms);
    times.embed.push(embedMs);
    if (question.passages.length > 0) times.rerank.push(rerankMs);
  }
  return times;
}

/** Runs a measurement; if `load` says so, while memories are ingested: `rate` is in chunks per second, null if idle. */
async function withIngest<Value>(
  run: Run,
  load: Load,
  measure: () => Promise<Value>,
): Promise<{ readonly value: Value; readonly rate: number | null }> {
  if (load === "idle") return { value: await measure(), rate: null };
  const ingest = new BackgroundIngest(run);
  try {
    return { value: await measure(), rate: await ingest.stop() };
  } finally {
    await ingest.stop();
  }
}

async function withBareIngest<Value>(
  { bare }: Run,
  load: Load,
  chunks: readonly string[],
  measure: () => Promise<Value>,
): Promise<Value> {
  if (load === "idle") return measure();
  let isMeasuring = true;
  const embedding = (async () => {
    while (isMeasuring) await bareIngestRate(bare, chunks, () => isMeasuring);
  })();
  try {
    return await measure();
  } finally {
    isMeasuring = false;
    await embedding;
  }
}

function stageRows(
  mode: ModeName,
  load: Load,
  answers: readonly Answer[],
  bare: BareTimes,
  read: readonly number[],
): readonly Row[] {
  const wholeMs = sum(answers.map(({ ms }) => ms));
  const rest = answers.map(({ ms, stages }) => ms - sum(stages.map((stage) => stage.ms)));
  const limitOf: Readonly<Record<string, readonly number[]>> = { embed: bare.embed, rerank: bare.rerank, rest: read };
  return [...STAGE_NAMES, "rest"].flatMap((stage) => {
    const named = answers.flatMap(({ stages }) => stages.filter(({ name }) => name === stage).map(({ ms }) => ms));
    const times = stage === "rest" ? rest : named;
    if (times.length === 0) return [];
    const found = percentiles(times);
    const share = figure(Math.round((sum(times) / wholeMs) * 1000) / 1000);
    return [{ mode, load, stage, ...found, share, ...limits(found.p50, limitOf[stage] ?? []) }];
  });
}

function limits(p50: Cell, times: readonly number[]): Row {
  const limit = figure(percentile(0.5, times));
  return {
    limit_p50: limit,
    limit_p95: figure(percentile(0.95, times)),
    ratio_p50: ratio(typeof p50 === "number" ? p50 : null, limit),
  };
}
