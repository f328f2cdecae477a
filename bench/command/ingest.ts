// `mneme bench ingest`: how many chunks per second become searchable, beside those that the embedder computes without a
// server ("bare"), and how long a single memory takes from the response until it is searchable.

import { barChart } from "../lib/chart.ts";
import { generatedPassage } from "../lib/generated-corpus.ts";
import { mean } from "../lib/metrics.ts";
import type { Passage } from "../lib/passages.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn, ratio } from "./result.ts";
import { BackgroundIngest, bareIngestRate, LIMIT_COLUMNS, PERCENTILE_COLUMNS, percentiles, type Run } from "./run.ts";

const ROUNDS = 3;
/**
 * Maximum number of single memories whose time until searchable is measured, on an idle server and again while others
 * are ingested.
 */
const SINGLES_MAX = 40;
/** Interval between two looks at a single memory: the resolution of its time. */
const SINGLE_POLL_MS = 2;
/** Number of chunks that are embedded before the first measurement, to warm the models up. */
const WARM_UP_CHUNKS = 128;

type Row = Readonly<Record<string, Cell>>;

/** Measures ingestion on an empty server. */
export async function benchIngest(run: Run): Promise<Findings> {
  const { bare, target, workload, progress } = run;
  const perRound = Math.max(1, Math.floor(workload.passages.length / ROUNDS));
  const throughput: Row[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const passages = workload.passages.slice((round - 1) * perRound, round * perRound);
    if (passages.length === 0) break;
    const label = `round ${round} of ${ROUNDS}`;
    progress(label, 0, "bare embedder");
    const chunks = (await bare.chunkTexts(passages)).flat();
    if (round === 1) await bareIngestRate(bare, chunks.slice(0, WARM_UP_CHUNKS));
    // The embedder is measured before and after the server, so that a machine whose speed drifts favours neither.
    const before = await bareIngestRate(bare, chunks);
    const ms = await target.fill(
      passages.length,
      (n) => passages[n] as Passage,
      (share, note) => progress(label, share, note),
    );
    progress(label, 0.99, "bare embedder");
    const limit = figure(mean([before, await bareIngestRate(bare, chunks)]));
    const stored = figure((chunks.length / ms) * 1_000);
    throughput.push({ round, chunks: chunks.length, stored, limit, share: ratio(stored, limit) });
    progress(label, 1, `${stored} chunks/s, bare embedder ${limit}`);
  }
  const singlesCount = Math.min(SINGLES_MAX, perRound);
  const idle = await singles(run, "idle", singlesCount);
  const background = new BackgroundIngest(run);
  const busy = await singles(run, "under ingestion", singlesCount);
  await background.stop();
  return {
    tables: [
      {
        name: "throughput",
        title: "Throughput",
        columns: [
          ...[keyColumn("round"), figureColumn("chunks", "chunks", "", null)],
          figureColumn("stored", "searchable", "chunks/s", "higher"),
          figureColumn("limit", "limit", "chunks/s", null),
          figureColumn("share", "searchable / limit", "", "higher"),
        ],
        rows: throughput,
      },
      {
        name: "searchable",
        title: "Time of a single memory from its 202 until it is searchable",
        columns: [
          ...[keyColumn("load"), figureColumn("memories", "memories", "", null)],
          ...PERCENTILE_COLUMNS,
          ...LIMIT_COLUMNS,
        ],
        rows: [idle, busy],
      },
    ],
    chart: barChart({
      title: "Chunks per second",
      unit: "1/s",
      bars: throughput.flatMap(({ round, stored, limit }) => [
        { name: `round ${round}`, series: "searchable", value: Number(stored) },
        { name: `round ${round}`, series: "bare embedder", value: Number(limit) },
      ]),
    }),
    notes: [
      "Throughput counts from the first request until all memories are searchable. Its limit is the bare embedder on the same chunks, measured before and after.",
      `The time of a single memory has a resolution of ${SINGLE_POLL_MS} ms. Its limit is the bare embedder on its chunks, idle.`,
    ],
  };
}

async function singles({ target, bare, seed, progress }: Run, load: string, count: number): Promise<Row> {
  const times: number[] = [];
  const limits: number[] = [];
  for (let n = 0; n < count; n++) {
    const passage = { ...generatedPassage(seed + 2, n), id: `single-${load}-${n}` };
    const [id = ""] = await target.store([passage]);
    const acceptedAt = performance.now();
    await target.untilSearchable(id, SINGLE_POLL_MS);
    times.push(performance.now() - acceptedAt);
    progress(`single memories, ${load}`, n / count, `${n} of ${count}`);
    if (load !== "idle") continue;
    const [chunks = []] = await bare.chunkTexts([passage]);
    const startedAt = performance.now();
    await bare.embedChunks(chunks);
    limits.push(performance.now() - startedAt);
  }
  const found = percentiles(times);
  const limit = percentiles(limits).p50;
  const limited = typeof limit === "number" ? limit : null;
  return {
    ...{ load, memories: times.length, ...found },
    ...{ limit_p50: limited, ratio_p50: ratio(typeof found.p50 === "number" ? found.p50 : null, limited) },
  };
}
