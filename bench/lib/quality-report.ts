// The report of bench/quality.ts: tables for the terminal, rows for the JSON file, and the chart.

import { alignRows } from "../../src/cli/terminal.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { BASELINES, type Baseline } from "./baselines.ts";
import { type Chart, chartSvg, type Panel } from "./chart.ts";
import { bestOf } from "./floors.ts";
import { pairedDifference } from "./intervals.ts";
import { type Row, sameRow } from "./record.ts";
import { rounded, type Scores, scoreColumns, signed } from "./scores.ts";
import type { StageTimes } from "./timings.ts";

/** Whether the searches used `includeGraph`. */
export type GraphChoice = "off" | "on";

/** Results of one mode on a collection. */
export interface MeasuredMode {
  readonly mode: string;
  readonly graph: GraphChoice;
  readonly scores: Scores;
  /**
   * Number of searches whose reranking timed out. If there are many, the figures depend on the speed of the machine.
   */
  readonly unreranked: number;
  readonly times: readonly StageTimes[];
}

/** Results of one collection. */
export interface MeasuredSet {
  readonly set: string;
  readonly queries: number;
  readonly modes: readonly MeasuredMode[];
  /** Scores of the baselines. Empty unless both fast and precise were measured without the graph. */
  readonly baselines: ReadonlyMap<Baseline, Scores>;
  /** Number of top-ten BM25 passages that no search returned, over all questions. */
  readonly wordsMissing: number;
}

/** Columns that identify a row of `quality.json`. */
export const ROW_KEYS = ["set", "mode", "graph"] as const;

const SCORE_COLUMNS = ["nDCG@10", "low", "high", "R@2", "R@5", "R@10", "R@100"];

/** The rows of one collection: its modes, then its baselines, whose column `graph` is `-`. */
export function rowsOf({ set, queries, modes, baselines, wordsMissing }: MeasuredSet): readonly Row[] {
  const best = bestOf(baselines);
  const modeRows = modes.map(({ mode, graph, scores, unreranked, times }) => {
    const gain = best === null ? null : pairedDifference(scores.ndcg, best.scores.ndcg);
    const gainColumns: Row =
      best === null || gain === null
        ? {}
        : {
            best: best.name,
            gain: rounded(gain.mean, 4),
            gainLow: rounded(gain.low, 4),
            gainHigh: rounded(gain.high, 4),
          };
    return { set, mode, graph, queries, ...scoreColumns(scores), ...gainColumns, unreranked, ...timeColumns(times) };
  });
  const baselineRows = [...baselines].map(([mode, scores]) => ({
    set,
    mode,
    graph: "-",
    queries,
    ...scoreColumns(scores),
    ...(mode === "BM25 alone" ? { wordsMissing } : {}),
  }));
  return [...modeRows, ...baselineRows];
}

/** The table of scores, with the change since the last run. */
export function scoreTable(rows: readonly Row[], before: readonly Row[]): string {
  const header = ["set", "mode", "graph", "queries", ...SCORE_COLUMNS, "over the best baseline", "since last run"];
  const body = rows.map((row) => {
    const last = sameRow(before, row, [...ROW_KEYS, "queries"]); // runs with another number of questions are not comparable
    return [
      ...["set", "mode", "graph", "queries"].map((column) => String(row[column])),
      ...SCORE_COLUMNS.map((column) => Number(row[column]).toFixed(4)),
      row.gain === undefined
        ? ""
        : `${signed(Number(row.gain))} (${signed(Number(row.gainLow))} to ${signed(Number(row.gainHigh))})`,
      last === undefined ? "" : signed(Number(row["nDCG@10"]) - Number(last["nDCG@10"]), 4),
    ];
  });
  return alignRows([header, ...body], true).join("\n");
}

/** The table of latencies by stage, `p50/p95` in milliseconds. */
export function timeTable(measured: readonly MeasuredSet[]): string {
  const stages = [
    ...new Set(measured.flatMap(({ modes }) => modes.flatMap(({ times }) => times.map(({ stage }) => stage)))),
  ];
  const body = measured.flatMap(({ set, modes }) =>
    modes.map(({ mode, graph, times }) => [
      set,
      mode,
      graph,
      ...stages.map((stage) => {
        const time = times.find((each) => each.stage === stage);
        return time === undefined ? "" : `${time.p50Ms.toFixed(1)}/${time.p95Ms.toFixed(1)}`;
      }),
    ]),
  );
  return alignRows([["set", "mode", "graph", ...stages], ...body], true).join("\n");
}

/** The chart of `rows`, which may come from several runs. */
export function qualityChart(rows: readonly Row[], date: string): string {
  const [modes, sets] = [CHARTED.filter(({ isOf }) => rows.some(isOf)), new Set(rows.map(({ set }) => String(set)))];
  const chart: Chart = {
    kind: "dots",
    title: "nDCG@10 by collection and mode",
    rows: modes,
    panels: [...sets].map((set): Panel => {
      const found = modes.map(({ isOf }) => rows.find((row) => row.set === set && isOf(row)));
      const figures = (column: string) => found.map((row) => Number(row?.[column] ?? row?.["nDCG@10"] ?? Number.NaN));
      const [means, lows, highs] = [figures("nDCG@10"), figures("low"), figures("high")];
      return {
        ...{
          title: `${set} (${found.find((row) => row !== undefined)?.queries})`,
          unit: "",
          isLogarithmic: false,
          decimals: 3,
        },
        points: means.map((mean) => [mean]),
        intervals: lows.map((low, at) => [low, highs[at] ?? low] as const),
      };
    }),
  };
  return chartSvg(chart, [
    `Through HTTP, test questions (their number next to the name), 95 % bootstrap intervals; ${date}`,
  ]);
}

/** The rows of the chart, from the simplest search on. */
const CHARTED = [
  ...BASELINES.map((name) => ({ name, series: "baseline", isOf: (row: Row) => row.mode === name })),
  ...(["off", "on"] as const).flatMap((graph) =>
    MODE_NAMES.map((mode) => ({
      name: graph === "off" ? mode : `${mode} with graph`,
      series: graph === "off" ? "mode" : "mode with graph",
      isOf: (row: Row) => row.mode === mode && row.graph === graph,
    })),
  ),
];

function timeColumns(times: readonly StageTimes[]): Row {
  return Object.fromEntries(
    times.flatMap(({ stage, p50Ms, p95Ms }) => {
      const name = stage === "whole" ? "" : `${stage} `;
      return [
        [`${name}p50Ms`, p50Ms],
        [`${name}p95Ms`, p95Ms],
      ];
    }),
  );
}
