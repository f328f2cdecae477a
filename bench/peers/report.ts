// The figures of the comparison from the results of its steps: rows, Markdown tables and the chart. Pure.

import type { JsonRecord } from "../../src/kit/record.ts";
import type { JudgedQuery } from "../lib/beir.ts";
import { type Chart, chartSvg, type Panel } from "../lib/chart.ts";
import type { Machine, Versions } from "../lib/machine.ts";
import { mean, ndcgAt, percentile, recallAt } from "../lib/metrics.ts";
import { rounded } from "../lib/scores.ts";
import type { EngineName } from "./engines.ts";

/** Result of a build step, as step.py writes it. */
export interface Build {
  readonly version: string;
  readonly setting: string;
  readonly modes: readonly string[];
  readonly uses_vectors: boolean;
  readonly seconds: number;
  readonly disk_bytes: number;
}

/** Result of an ask step, as step.py writes it. */
export interface Asked {
  readonly open_seconds: number;
  /** Ids of the found documents by question. */
  readonly found: readonly (readonly string[])[];
  readonly times_ms: readonly number[];
  readonly clients: number;
  readonly concurrent_seconds: number;
  readonly concurrent_times_ms: readonly number[];
  readonly memory_bytes: number;
}

/** Everything that was measured of an engine. */
export interface Measured {
  readonly engine: EngineName;
  readonly build: Build;
  /** Rounds by mode. */
  readonly asked: ReadonlyMap<string, readonly Asked[]>;
}

/**
 * Figures of an engine in a mode: medians of the rounds, and means of them for nDCG and recall. Disk and build times
 * are measured once.
 */
export interface PeerRow {
  readonly engine: string;
  readonly kind: EngineName["kind"];
  readonly version: string;
  readonly mode: string;
  readonly rounds: number;
  /** null if the collection has no judgements. */
  readonly ndcg_10: number | null;
  readonly recall_5: number | null;
  /** With one client. */
  readonly p50_ms: number;
  readonly p95_ms: number;
  /** With several clients. */
  readonly per_second: number;
  readonly concurrent_p50_ms: number;
  readonly concurrent_p95_ms: number;
  readonly memory_mib: number;
  readonly disk_mib: number;
  /** Indexing, without embedding if the engine gets the vectors. */
  readonly index_s: number;
  /** Indexing and embedding. */
  readonly build_s: number;
}

/** What was compared, and how. */
export interface Conditions {
  readonly collection: string;
  readonly passages: number;
  readonly questions: number;
  readonly isJudged: boolean;
  readonly clients: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly date: string;
  readonly machine: Machine;
  readonly versions: Versions;
}

/** The comparison, as the JSON file has it. */
export interface Comparison extends Conditions {
  readonly embedding_seconds: number;
  readonly rows: readonly PeerRow[];
  /** How each engine is set. */
  readonly settings: Readonly<Record<string, string>>;
  /** What could not be measured, and why. */
  readonly failures: Readonly<Record<string, string>>;
}

const MIB = 2 ** 20;
const COLUMNS_MAX = 120;

/** Reads the result of a build step. */
export function buildOf(result: JsonRecord): Build {
  return result as unknown as Build;
}

/** Reads the result of an ask step. */
export function askedOf(result: JsonRecord): Asked {
  return result as unknown as Asked;
}

/** The row of each mode of an engine that was measured. @param questions in the order in which they were asked */
export function rowsOf(
  { engine, build, asked }: Measured,
  questions: readonly Pick<JudgedQuery, "judgements">[],
  isJudged: boolean,
  embeddingSeconds: number,
): readonly PeerRow[] {
  return [...asked].flatMap(([mode, rounds]) => {
    if (rounds.length === 0) return [];
    const over = (figure: (round: Asked) => number) => median(rounds.map(figure));
    const quality = (metric: typeof ndcgAt, depth: number) =>
      isJudged
        ? rounded(
            mean(
              rounds.map(({ found }) =>
                mean(questions.map(({ judgements }, at) => metric(depth, found[at] ?? [], judgements))),
              ),
            ),
            4,
          )
        : null;
    return {
      engine: engine.title,
      kind: engine.kind,
      version: build.version,
      mode,
      rounds: rounds.length,
      ndcg_10: quality(ndcgAt, 10),
      recall_5: quality(recallAt, 5),
      p50_ms: rounded(
        over(({ times_ms }) => percentile(0.5, times_ms)),
        2,
      ),
      p95_ms: rounded(
        over(({ times_ms }) => percentile(0.95, times_ms)),
        2,
      ),
      per_second: rounded(
        over(({ concurrent_times_ms: times, concurrent_seconds: s }) => times.length / s),
        1,
      ),
      concurrent_p50_ms: rounded(
        over(({ concurrent_times_ms }) => percentile(0.5, concurrent_times_ms)),
        2,
      ),
      concurrent_p95_ms: rounded(
        over(({ concurrent_times_ms }) => percentile(0.95, concurrent_times_ms)),
        2,
      ),
      memory_mib: Math.round(over(({ memory_bytes }) => memory_bytes) / MIB),
      disk_mib: rounded(build.disk_bytes / MIB, 1),
      index_s: rounded(build.seconds, 1),
      build_s: rounded(build.seconds + (build.uses_vectors ? embeddingSeconds : 0), 1),
    };
  });
}

/** The page in Markdown. @param chartFile name of the chart's file, next to the page */
export function markdownOf(comparison: Comparison, chartFile: string): string {
  const { machine, versions } = comparison;
  const failures = Object.entries(comparison.failures).map(([name, why]) => `- ${name}: ${why}`);
  const commit = versions.commit === null ? "" : ` (${versions.commit})`;
  const settings = Object.entries(comparison.settings).map(([name, setting]) => `- **${name}**: ${setting}`);
  return [
    `# Mneme and other engines: ${comparison.collection}`,
    "",
    ...[
      `- ${conditionsText(comparison)}`,
      `- Date: ${comparison.date.slice(0, 10)}. Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, ${machine.os}`,
      `- Mneme ${versions.mneme}${commit}, Bun ${versions.bun}`,
      `- Embedding all passages once for the peers took ${comparison.embedding_seconds} s; it is part of the build times of the engines that use vectors.`,
    ].flatMap(wrapped),
    "",
    `![${comparison.collection}](${chartFile})`,
    "",
    ...tableLines(comparison),
    "",
    "## How each engine is set",
    "",
    ...settings.flatMap(wrapped),
    ...(failures.length === 0 ? [] : ["", "## Not measured", "", ...failures.flatMap(wrapped)]),
    "",
  ].join("\n");
}

// Wraps an item of a list to the line width of pages.
function wrapped(item: string): readonly string[] {
  const lines: string[] = [];
  for (const word of item.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= COLUMNS_MAX) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `  ${word}`);
  }
  return lines;
}

/**
 * The table in Markdown: first Mneme, then the others. Engines are sorted by their best nDCG, or by throughput without
 * judgements.
 */
export function tableLines({ rows, clients, isJudged }: Pick<Comparison, "rows" | "clients" | "isJudged">): string[] {
  const quality = isJudged ? ["nDCG@10", "R@5"] : [];
  const head = [
    ...["engine", "mode", ...quality, "p50 ms", "p95 ms", `${clients} clients: questions/s`, "p95 ms"],
    ...["memory MiB", "disk MiB", "build s"],
  ];
  const lines = sortedRows(rows).map((row) => [
    ...[row.engine, row.mode],
    ...(isJudged ? [share(row.ndcg_10), share(row.recall_5)] : []),
    ...[figure(row.p50_ms), figure(row.p95_ms), figure(row.per_second), figure(row.concurrent_p95_ms)],
    ...[String(row.memory_mib), figure(row.disk_mib), figure(row.build_s)],
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, at) => (at < 2 ? "---" : "---:"))), ...lines.map(line)];
}

/** The chart as SVG: quality, latency of one client, throughput of several. */
export function comparisonChart(comparison: Comparison): string {
  const rows = sortedRows(comparison.rows);
  const names = rows.map(({ engine, mode }) => `${engine}: ${mode}`);
  const panels: Panel[] = [
    {
      title: "1 client: p50 to p95, ms (less is better)",
      unit: "",
      isLogarithmic: true,
      points: rows.map(({ p50_ms, p95_ms }) => [p50_ms, p95_ms]),
    },
    {
      title: `${comparison.clients} clients: questions/s (more is better)`,
      unit: "",
      isLogarithmic: true,
      points: rows.map(({ per_second }) => [per_second]),
    },
  ];
  if (comparison.isJudged) {
    panels.unshift({
      title: "nDCG@10 (more is better)",
      unit: "",
      isLogarithmic: false,
      decimals: 3,
      points: rows.map(({ ndcg_10 }) => (ndcg_10 === null ? [] : [ndcg_10])),
    });
  }
  const { machine, date } = comparison;
  const chart: Chart = {
    kind: "dots",
    title: `Mneme and other engines: ${comparison.collection}`,
    rows: rows.map(({ kind }, at) => ({
      name: names[at] ?? "",
      series: kind === "peer" ? "other engines" : kind === "mneme" ? "Mneme, same model" : "Mneme, its default model",
    })),
    panels,
  };
  return chartSvg(chart, [conditionsText(comparison), `${machine.cpu}, ${machine.cores} cores, ${date.slice(0, 10)}`]);
}

function conditionsText({ passages, questions, rounds, clients, seconds }: Conditions): string {
  return (
    `${passages.toLocaleString("en")} passages, ${questions} questions, 10 results; ${rounds === 1 ? "1 round" : `median of ${rounds} rounds`}; ` +
    `${clients} clients ask for ${seconds} s`
  );
}

// Mneme first, then Mneme with another model, then peers; the modes of an engine stay together.
function sortedRows(rows: readonly PeerRow[]): readonly PeerRow[] {
  const order: readonly EngineName["kind"][] = ["mneme", "mneme with another model", "peer"];
  const rank = ({ ndcg_10, per_second }: PeerRow) => ndcg_10 ?? per_second;
  const best = new Map<string, number>();
  for (const row of rows) best.set(row.engine, Math.max(best.get(row.engine) ?? 0, rank(row)));
  return rows.toSorted((left, right) => {
    if (left.kind !== right.kind) return order.indexOf(left.kind) - order.indexOf(right.kind);
    if (left.engine === right.engine) return left.kind === "peer" ? rank(right) - rank(left) : 0;
    return (best.get(right.engine) ?? 0) - (best.get(left.engine) ?? 0);
  });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = [Math.floor((sorted.length - 1) / 2), Math.ceil((sorted.length - 1) / 2)];
  return mean(middle.map((at) => sorted[at] ?? Number.NaN));
}

function share(value: number | null): string {
  return value === null ? "–" : value.toFixed(3).replace(/^0/, "");
}

function figure(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
