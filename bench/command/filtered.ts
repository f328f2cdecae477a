// `mneme bench filtered`: searches within a filter that admits a share of the memories. Latency, and how many of the
// exact nearest memories inside the filter a search finds.

import type { ModeName } from "../../src/domain/ranking.ts";
import { dot } from "../../src/kit/dot.ts";
import { rangeChart } from "../lib/chart.ts";
import { GENERATED_PARTS } from "../lib/generated-corpus.ts";
import { mean } from "../lib/metrics.ts";
import type { Passage, Question } from "../lib/passages.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn, ratio } from "./result.ts";
import { bareQuestions, LIMIT_COLUMNS, PERCENTILE_COLUMNS, percentiles, type Run } from "./run.ts";

/** Shares of the memories that the filters admit. */
const SHARES = [1, 0.1, 0.01, 0.001];
const DEPTH = 10;
/** Number of passages that are embedded at once for the exact search. */
const BATCH = 200;

type Row = Readonly<Record<string, Cell>>;

/** Vectors of all chunks, for an exact search. */
interface ChunkVectors {
  readonly vectors: readonly Float32Array[];
  /** Position of the passage of each chunk. */
  readonly passageOf: readonly number[];
}

/** Measures filtered searches of a server that is filled with a generated corpus. */
export async function benchFiltered(run: Run): Promise<Findings> {
  const { passages, questions } = run.workload;
  const chunks = await embedPassages(run, passages);
  const vectors = await questionVectors(run, questions);
  const rows: Row[] = [];
  for (const mode of run.modes) {
    await bareQuestions(run, mode); // warms the mode up
    const measured = await measureShares(run, mode, chunks, vectors);
    const unfilteredP50 = percentiles(measured[0]?.times ?? []).p50;
    for (const { share, memories, times, recalls, outside } of measured) {
      const found = percentiles(times);
      rows.push({
        ...{ mode, share, memories, ...found },
        ...{ limit_p50: unfilteredP50, ratio_p50: ratio(Number(found.p50), Number(unfilteredP50)) },
        ...{ recall: recalls.length === 0 ? null : figure(mean(recalls)), outside },
      });
      run.progress(`${mode}, ${share * 100} %`, 1, `p50 ${found.p50} ms`);
    }
  }
  return {
    tables: [
      {
        name: "filtered",
        title: "Searches within a filter",
        columns: [
          ...[keyColumn("mode"), keyColumn("share", "admitted")],
          figureColumn("memories", "memories", "", null),
          ...PERCENTILE_COLUMNS,
          ...LIMIT_COLUMNS,
          figureColumn("recall", "recall@10 of the nearest", "", "higher"),
          figureColumn("outside", "outside the filter", "", "lower"),
        ],
        rows,
      },
    ],
    chart: rangeChart({
      title: "Latency of a search within a filter",
      unit: "ms",
      rows: rows.map((row) => ({
        name: `${row.mode}, ${Number(row.share) * 100} % admitted`,
        points: [row.p50, row.p95, row.p99].map(Number),
        limit: Number(row.limit_p50 ?? Number.NaN),
      })),
      legend: ["p50", "p95", "p99"],
      limitName: "without a filter, p50",
    }),
    notes: [
      "The filter is `metadata.part` below a number. The limit is the same search without a filter.",
      "The nearest memories are found exactly: all cosines between the bare embedder's vectors of the question and of the admitted chunks. The recall is given for fast, which ranks by vectors alone; the other modes have other signals too.",
      "`outside the filter` counts results that the filter does not admit. It must be 0.",
    ],
  };
}

/** The searches of one mode with one filter. */
interface ShareTimes {
  readonly share: number;
  /** Number of memories that the filter admits. */
  readonly memories: number;
  readonly times: number[];
  readonly recalls: number[];
  outside: number;
}

// All filters are measured for one question before the next, so that a machine whose speed drifts favours none.
async function measureShares(
  { target, workload, progress }: Run,
  mode: ModeName,
  chunks: ChunkVectors,
  questionVectors: readonly Float32Array[],
): Promise<readonly ShareTimes[]> {
  const { passages, questions } = workload;
  const shares = SHARES.map((share) => {
    const partsMax = Math.round(share * GENERATED_PARTS);
    const admitted = new Set(passages.filter(({ metadata }) => Number(metadata.part) < partsMax).map(({ id }) => id));
    const filters = share === 1 ? {} : { filters: { "metadata.part": { $lt: partsMax } } };
    const measured: ShareTimes = { share, memories: admitted.size, times: [], recalls: [], outside: 0 };
    return { admitted, filters, measured };
  });
  for (const [at, question] of questions.entries()) {
    progress(mode, at / questions.length, `${at} of ${questions.length} questions`);
    for (const { admitted, filters, measured } of shares) {
      const { ms, status, hits } = await target.ask(question, { mode, ...filters });
      if (status !== 200) throw new Error(`The server answered ${status} to question ${question.id}.`);
      measured.times.push(ms);
      measured.outside += hits.filter(({ document }) => !admitted.has(document)).length;
      const vector = questionVectors[at];
      if (mode !== "fast" || vector === undefined || admitted.size === 0) continue;
      const nearest = nearestPassages(chunks, vector, (position) => admitted.has(passages[position]?.id ?? ""));
      const found = new Set(hits.map(({ document }) => document));
      measured.recalls.push(
        nearest.filter((position) => found.has(passages[position]?.id ?? "")).length / nearest.length,
      );
    }
  }
  return shares.map(({ measured }) => measured);
}

/** Positions of the passages with the nearest chunks, best first; at most ten. */
export function nearestPassages(
  { vectors, passageOf }: ChunkVectors,
  question: Float32Array,
  isAdmitted: (position: number) => boolean,
): readonly number[] {
  const best = new Map<number, number>();
  for (const [at, vector] of vectors.entries()) {
    const position = passageOf[at] ?? 0;
    if (!isAdmitted(position)) continue;
    best.set(position, Math.max(dot(vector, question), best.get(position) ?? Number.NEGATIVE_INFINITY));
  }
  const ranked = [...best].sort(([, left], [, right]) => right - left);
  return ranked.slice(0, DEPTH).map(([position]) => position);
}

async function embedPassages({ bare, progress }: Run, passages: readonly Passage[]): Promise<ChunkVectors> {
  const vectors: Float32Array[] = [];
  const passageOf: number[] = [];
  for (let first = 0; first < passages.length; first += BATCH) {
    progress("exact vectors", first / passages.length, `${first} of ${passages.length} passages`);
    const lists = await bare.chunkTexts(passages.slice(first, first + BATCH));
    const texts = lists.flat();
    passageOf.push(...lists.flatMap((list, at) => list.map(() => first + at)));
    const found = await bare.embedChunks(texts);
    const { dimensions } = bare.embedder;
    for (let at = 0; at < texts.length; at++) vectors.push(found.slice(at * dimensions, (at + 1) * dimensions));
  }
  return { vectors, passageOf };
}

async function questionVectors({ bare }: Run, questions: readonly Question[]): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const { text } of questions) vectors.push(await bare.embedQuestion(text));
  return vectors;
}
