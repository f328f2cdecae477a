// `mneme bench quality`: how good the rankings of each mode are on judged questions, with 95 % intervals.

import type { ModeName } from "../../src/domain/ranking.ts";
import { barChart } from "../lib/chart.ts";
import { meanInterval } from "../lib/intervals.ts";
import { mean, ndcgAt, recallAt, reciprocalRank } from "../lib/metrics.ts";
import type { Question } from "../lib/passages.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn } from "./result.ts";
import { percentiles, type Run } from "./run.ts";

/** Results per search: enough that ten different memories are among them. */
const RESULTS = 30;
const DEPTH = 10;

/** Measures rankings on the judged questions of a server that has the passages. */
export async function benchQuality(run: Run): Promise<Findings> {
  const judged = run.workload.questions.filter(({ judgements }) => judgements.size > 0);
  const rows: Readonly<Record<string, Cell>>[] = [];
  for (const mode of run.modes) {
    const { rankings, times } = await rank(run, mode, judged);
    rows.push({ mode, questions: judged.length, ...rankingFigures(judged, rankings), ...percentiles(times) });
    run.progress(mode, 1, `nDCG@10 ${rows.at(-1)?.ndcg}`);
  }
  return {
    tables: [
      {
        name: "quality",
        title: "Quality of the rankings",
        columns: [
          ...[keyColumn("mode"), figureColumn("questions", "questions", "", null)],
          figureColumn("ndcg", "nDCG@10", "", "higher"),
          figureColumn("low", "from", "", null),
          figureColumn("high", "to", "", null),
          figureColumn("recall_5", "R@5", "", "higher"),
          figureColumn("recall_10", "R@10", "", "higher"),
          figureColumn("mrr", "MRR", "", "higher"),
          figureColumn("p50", "p50", "ms", "lower"),
          figureColumn("p95", "p95", "ms", "lower"),
        ],
        rows,
      },
    ],
    chart: barChart({
      title: `Quality on ${run.workload.name}`,
      unit: "",
      bars: rows.flatMap(({ mode, ndcg, recall_10 }) => [
        { name: String(mode), series: "nDCG@10", value: Number(ndcg) },
        { name: String(mode), series: "R@10", value: Number(recall_10) },
      ]),
    }),
    notes: [
      "A memory has the rank of its best passage. nDCG has linear gains and log2 discounts, as in trec_eval and BEIR; `from` and `to` are its 95 % bootstrap interval. All figures are means over the questions; 1 is the limit.",
    ],
  };
}

/**
 * Means over the questions: nDCG@10 with its interval, R@5, R@10, and MRR of the first ten.
 * @param rankings one ranking per question, in the same order
 */
export function rankingFigures(
  questions: readonly Question[],
  rankings: readonly (readonly string[])[],
): Readonly<Record<string, Cell>> {
  const each = (score: (ranking: readonly string[], judgements: Question["judgements"]) => number) =>
    questions.map(({ judgements }, at) => score(rankings[at] ?? [], judgements));
  const ndcg = each((ranking, judgements) => ndcgAt(DEPTH, ranking, judgements));
  const { low, high } = meanInterval(ndcg);
  return {
    ...{ ndcg: figure(mean(ndcg)), low: figure(low), high: figure(high) },
    recall_5: figure(mean(each((ranking, judgements) => recallAt(5, ranking, judgements)))),
    recall_10: figure(mean(each((ranking, judgements) => recallAt(DEPTH, ranking, judgements)))),
    mrr: figure(mean(each((ranking, judgements) => reciprocalRank(ranking.slice(0, DEPTH), judgements)))),
  };
}

async function rank({ target, progress }: Run, mode: ModeName, questions: readonly Question[]) {
  const rankings: string[][] = [];
  const times: number[] = [];
  for (const [at, question] of questions.entries()) {
    const { hits, ms, status } = await target.ask(question, { mode, limit: RESULTS });
    if (status !== 200) throw new Error(`The server answered ${status} to question ${question.id}.`);
    rankings.push([...new Set(hits.map(({ document }) => document))]);
    times.push(ms);
    progress(mode, at / questions.length, `${at} of ${questions.length} questions`);
  }
  return { rankings, times };
}
