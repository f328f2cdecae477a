// `mneme bench load`: how many questions per second each mode answers, and how long they take at a given load.

import type { ModeName } from "../../src/domain/ranking.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { isRecord } from "../../src/kit/record.ts";
import { lineChart } from "../lib/chart.ts";
import { arrivalTimes, closedLoop, type LoadClock, type LoadResult, openLoop } from "./load-loops.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn, ratio } from "./result.ts";
import { askBare, bareQuestions, PERCENTILE_COLUMNS, percentiles, type Run } from "./run.ts";

const CLIENTS = [1, 4, 16, 64];
/**
 * Rates at which the open loop sends questions, as shares of the mode's capacity: its best throughput with clients that
 * wait for each answer (closed loop).
 */
const SHARES = [0.25, 0.5, 0.75, 0.9, 1, 1.1, 2];
/** Bounds of p95 in milliseconds for which the throughput is given. */
const BOUNDS_MS = [100, 300, 800];
/** Number of concurrent callers of the models without a server: the embedder, and in some modes the reranker. */
const BARE_CALLERS = 16;

type Row = Readonly<Record<string, Cell>>;

/** One measurement under load. `bestWithin` takes the best throughput with p95 within a bound from several. */
interface Point {
  readonly perSecond: number;
  /** In milliseconds; NaN without answers. */
  readonly p95: number;
  readonly failed: number;
}

const CLOCK: LoadClock = { now: () => performance.now(), sleep: (ms) => systemClock.sleep(ms) };

/**
 * Measures a server that has the passages, with clients that wait for each answer (closed loop) and with questions at
 * fixed times (open loop), and the models without a server.
 */
export async function benchLoad(run: Run): Promise<Findings> {
  const [closed, open, capacities]: [Row[], Row[], Row[]] = [[], [], []];
  const lines: { name: string; points: [number, number][] }[] = [];
  for (const mode of run.modes) {
    const questions = await bareQuestions(run, mode);
    const points: Point[] = [];
    for (const clients of CLIENTS) {
      run.progress(`${mode}, closed loop`, clients / 100, `${clients} clients`);
      const result = await closedLoop({ clients, seconds: run.seconds }, sender(run, mode), CLOCK);
      closed.push({ mode, clients, ...figuresOf(result) });
      points.push(pointOf(result));
    }
    const capacity = Math.max(...points.map(({ perSecond }) => perSecond));
    run.progress(`${mode}, bare models`, 0, `${BARE_CALLERS} callers`);
    const bare = await closedLoop(
      { clients: BARE_CALLERS, seconds: run.seconds },
      async (n) => {
        const question = questions[n % questions.length];
        if (question !== undefined) await askBare(run.bare, mode, question);
        return { isAnswered: true };
      },
      CLOCK,
    );
    const line: [number, number][] = [];
    for (const share of SHARES) {
      const rate = capacity * share;
      run.progress(`${mode}, open loop`, share / 2, `${Math.round(share * 100)} % of ${figure(capacity)} per second`);
      const result = await openLoop(arrivalTimes(rate, run.seconds), sender(run, mode), CLOCK);
      open.push({ mode, load: Math.round(share * 100), offered: figure(rate), ...figuresOf(result) });
      points.push(pointOf(result));
      line.push([Math.round(share * 100), pointOf(result).p95]);
    }
    lines.push({ name: mode, points: line });
    const within = BOUNDS_MS.map((bound) => [`within_${bound}`, bestWithin(points, bound)]);
    const limit = figure(bare.perSecond);
    capacities.push({
      ...{ mode, capacity: figure(capacity), limit, share: ratio(figure(capacity), limit) },
      ...Object.fromEntries(within),
    });
    run.progress(`${mode}`, 1, `${figure(capacity)} questions per second, models alone ${limit}`);
  }
  return {
    tables: [
      {
        name: "capacity",
        title: "Questions per second",
        columns: [
          keyColumn("mode"),
          figureColumn("capacity", "capacity", "1/s", "higher"),
          figureColumn("limit", "limit", "1/s", null),
          figureColumn("share", "capacity / limit", "", null),
          ...BOUNDS_MS.map((bound) => figureColumn(`within_${bound}`, `at p95 ≤ ${bound} ms`, "1/s", "higher")),
        ],
        rows: capacities,
      },
      {
        name: "closed",
        title: "Closed loop: clients that wait for each answer",
        columns: [keyColumn("mode"), keyColumn("clients"), ...RESULT_COLUMNS],
        rows: closed,
      },
      {
        name: "open",
        title: "Open loop: questions at fixed times",
        columns: [
          ...[keyColumn("mode"), keyColumn("load", "load %"), figureColumn("offered", "offered", "1/s", null)],
          ...RESULT_COLUMNS,
        ],
        rows: open,
      },
    ],
    chart: lineChart({ title: "p95 under load", unit: "ms", xTitle: "load in % of the mode's capacity", lines }),
    notes: [
      "Capacity is the highest throughput of the closed loops. The limit is that of the embedder, and in balanced and precise the reranker, for the same questions and passages without a server.",
      "In the open loop, a latency counts from the time at which the question should have been sent, so questions that wait because the server stalls count in full. Above 100 % the queue grows as long as the measurement lasts.",
      "`failed` counts questions that were not answered with 200, such as those refused as `overloaded`.",
    ],
  };
}

const RESULT_COLUMNS = [
  figureColumn("per_second", "answered", "1/s", "higher"),
  ...PERCENTILE_COLUMNS,
  figureColumn("answers", "answers", "", null),
  figureColumn("failed", "failed", "", "lower"),
];

function sender({ target, workload }: Run, mode: ModeName) {
  return async (n: number) => {
    const question = workload.questions[n % workload.questions.length];
    if (question === undefined) return { isAnswered: false };
    const { userId, text } = question;
    const body = { query: text, mode, limit: 10, ...(userId === null ? {} : { userId }) };
    const { status, body: answer } = await target.call("POST", "/v1/memories/search", body);
    const error = isRecord(answer.error) ? answer.error : {};
    return { isAnswered: status === 200, retryAfterMs: 1_000 * Number(error.retry_after_seconds ?? 0) };
  };
}

/** The highest throughput with p95 within the bound and without failures; null if there is none. */
export function bestWithin(points: readonly Point[], boundMs: number): number | null {
  const good = points.filter(({ p95, failed }) => failed === 0 && p95 <= boundMs).map(({ perSecond }) => perSecond);
  return good.length === 0 ? null : figure(Math.max(...good));
}

function pointOf({ latencies, perSecond, failed }: LoadResult): Point {
  return { perSecond, failed, p95: Number(percentiles(latencies).p95 ?? Number.NaN) };
}

function figuresOf({ latencies, failed, perSecond }: LoadResult): Row {
  return { per_second: figure(perSecond), ...percentiles(latencies), answers: latencies.length, failed };
}
