// `mneme bench scale`: what grows with the number of memories: latency, memory, disk, and the time of a start.

import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { systemClock } from "../../src/kit/clock.ts";
import { rangeChart } from "../lib/chart.ts";
import { diskBytes } from "../lib/disk.ts";
import { importDrawnProject } from "../lib/drawn-project.ts";
import { vectorSource } from "../lib/drawn-vectors.ts";
import { generatedPassage } from "../lib/generated-corpus.ts";
import { percentile } from "../lib/metrics.ts";
import type { Passage } from "../lib/passages.ts";
import { processTree } from "../lib/processes.ts";
import { type Cell, type Findings, figure, figureColumn, keyColumn, ratio, type Table } from "./result.ts";
import { askBare, bareQuestions, LIMIT_COLUMNS, PERCENTILE_COLUMNS, percentiles, type Run } from "./run.ts";
import { copiedCorpus, drawnCorpus } from "./vector-corpus.ts";
import { type BenchIndex, benchVectors } from "./vector-scale.ts";

/** The figures are taken at these shares of the corpus. */
const SHARES = [0.1, 1];
const MIB = 2 ** 20;

const DRAWN_NOTE =
  "The vectors of the memories are drawn in 2,000 clusters, and imported with their texts. No model computed them, so the ranking means nothing. `stored` is the rate from the end of the import until all memories are searchable.";
const VECTORS_NOTE =
  "The vector index alone has no texts. It runs in the process of the benchmark; its memory is what opening it and showing its memories adds. Recall is the share of the true nearest by the vectors before they are rounded.";
const DRAWN_VECTORS_NOTE =
  "No model computed its vectors: they are drawn in 2,000 clusters, and so are the queries: those of the same field in the same clusters, those of the other field in others, in another subspace.";
const COPIES_NOTE =
  "Its vectors are those of the passages, and copies in random directions with cosines of 0.80 ± 0.05 to their originals. Questions of the same field are the openings of passages that are not stored; those of the other field are about the generated corpus.";

type Row = Readonly<Record<string, Cell>>;

/** Sizes and options of the benchmark. */
export interface ScaleSize {
  /** Number of memories. */
  readonly count: number;
  /**
   * Number of vectors of a separate index without texts and without a server; null: none is measured. The vectors are
   * pseudo-random unless `vectorTexts` is given.
   */
  readonly vectors: number | null;
  /** How the separate index is searched: by the scan of all vectors, or by the scan and then by the graph. */
  readonly index: BenchIndex;
  /** Whether the memories are imported with pseudo-random vectors. Then there is only one step. */
  readonly areVectorsDrawn: boolean;
  /**
   * File of passages. The separate index gets their vectors, and randomly varied copies of these; absent: pseudo-random
   * vectors.
   */
  readonly vectorTexts?: string;
  /** Folder in which the separate index is kept; absent: it is removed. */
  readonly vectorFolder?: string;
}

/** Stores generated passages in steps, and measures after each. Then measures the separate vector index, if any. */
export async function benchScale(run: Run, size: ScaleSize): Promise<Findings> {
  const { count, vectors, index, areVectorsDrawn, vectorTexts, vectorFolder } = size;
  const [sizes, latency]: [Row[], Row[]] = [[], []];
  let stored = 0;
  let textBytes = 0;
  const shares = areVectorsDrawn ? [1] : SHARES;
  for (const memories of shares.map((share) => Math.max(1, Math.round(share * count)))) {
    if (memories <= stored) continue;
    const first = stored;
    const passageAt = (n: number) => {
      const passage = generatedPassage(run.seed, first + n);
      textBytes += Buffer.byteLength(passage.content) + Buffer.byteLength(passage.title ?? "");
      return passage;
    };
    const added = memories - first;
    const label = `storing ${added} memories`;
    const onProgress = (share: number, note: string) => run.progress(label, share, note);
    const ms = areVectorsDrawn
      ? await fillDrawn(run, added, passageAt, onProgress)
      : await run.target.fill(added, passageAt, onProgress);
    stored = memories;
    // A restart also brings the memory of the processes down to what the data takes.
    run.progress("restarting", 0, "");
    const server = await run.restart();
    const rows = await latencies(run, memories);
    latency.push(...rows);
    const rss =
      process.platform === "linux" ? processTree(server.pid).reduce((sum, { rssBytes }) => sum + rssBytes, 0) : null;
    const dataMib = (textBytes + memories * run.bare.embedder.dimensions) / MIB;
    const diskMib = figure(diskBytes(run.dataDir) / MIB);
    sizes.push({
      ...{ memories, ingest_rate: figure((added / ms) * 1_000), start_s: figure(server.startMs / 1_000) },
      ...{ memory: rss === null ? null : figure(rss / MIB), disk: diskMib, data: figure(dataMib) },
      disk_ratio: ratio(diskMib, figure(dataMib)),
    });
    run.progress(`${memories} memories`, 1, `p50 ${rows[0]?.p50} ms in ${rows[0]?.mode}`);
  }
  const { dimensions } = run.bare.embedder;
  const vectorTables: Table[] = [];
  if (vectors !== null) {
    const folder = resolve(vectorFolder ?? join(dirname(run.dataDir), "vectors"));
    mkdirSync(folder, { recursive: true });
    const corpus =
      vectorTexts === undefined
        ? drawnCorpus(run.seed, dimensions)
        : await copiedCorpus({ ...run, file: vectorTexts, folder, otherQuestions: questionsOf(run) });
    const isKept = vectorFolder !== undefined;
    const vectorRun = { folder, isKept, dimensions, corpus, progress: run.progress, index };
    vectorTables.push(...(await benchVectors(vectorRun, vectors)));
  }
  return {
    tables: [
      {
        name: "size",
        title: "Size and start",
        columns: [
          keyColumn("memories"),
          figureColumn("ingest_rate", "stored", "memories/s", "higher"),
          figureColumn("start_s", "start", "s", "lower"),
          figureColumn("memory", "memory", "MiB", "lower"),
          figureColumn("disk", "disk", "MiB", "lower"),
          figureColumn("data", "limit", "MiB", null),
          figureColumn("disk_ratio", "disk / limit", "", "lower"),
        ],
        rows: sizes,
      },
      {
        name: "latency",
        title: "Latency of a search",
        columns: [...[keyColumn("memories"), keyColumn("mode")], ...PERCENTILE_COLUMNS, ...LIMIT_COLUMNS],
        rows: latency,
      },
      ...vectorTables,
    ],
    chart: rangeChart({
      title: "Latency of a search by number of memories",
      unit: "ms",
      rows: latency.map((row) => ({
        name: `${row.mode}, ${Number(row.memories).toLocaleString("en")}`,
        points: [row.p50, row.p95, row.p99].map(Number),
        limit: Number(row.limit_p50),
      })),
      legend: ["p50", "p95", "p99"],
      limitName: "models alone, p50",
    }),
    notes: [
      "Memory is that of the server and its child processes after a start and the searches, models included (Linux only). Disk is the data directory without reserved space. Start is the time from the start of the process until `/ready`.",
      "The limit of a size is the UTF-8 texts and one byte per component of each vector. The limit of a latency is that of the models alone for the same questions and passages.",
      ...(areVectorsDrawn ? [DRAWN_NOTE] : []),
      ...(vectors === null ? [] : [VECTORS_NOTE, vectorTexts === undefined ? DRAWN_VECTORS_NOTE : COPIES_NOTE]),
    ],
  };
}

/**
 * Imports passages with drawn vectors as a project of their own, which is the target from then on. Returns the time
 * from the end of the import until all are searchable, in milliseconds.
 */
async function fillDrawn(
  { bare, dataDir, seed, target }: Run,
  count: number,
  passageAt: (n: number) => Passage,
  onProgress: (share: number, note: string) => void,
): Promise<number> {
  const { fingerprint, dimensions } = bare.embedder;
  function* passages(): Generator<Passage> {
    for (let n = 0; n < count; n += 1) yield passageAt(n);
  }
  const { projectId } = await importDrawnProject(dataDir, {
    name: "generated",
    createdAt: systemClock.now(),
    passages: passages(),
    chunkTexts: bare.chunkTexts,
    inputsSha256: bare.inputsSha256,
    ...{ fingerprint, dimensions },
    draw: vectorSource(seed, dimensions),
    onProgress: (made) => onProgress((0.5 * made) / count, `${made} of ${count} imported`),
  });
  const startedAt = performance.now();
  await target.useProject(projectId);
  await target.untilSettled((left) => onProgress(1 - (0.5 * left) / count, `${count - left} of ${count} searchable`));
  return performance.now() - startedAt;
}

function questionsOf({ workload }: Run): readonly string[] {
  return workload.questions.map(({ text }) => text);
}

async function latencies(run: Run, memories: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const { questions } = run.workload;
  for (const mode of run.modes) {
    const bareOnes = await bareQuestions(run, mode);
    const times: number[] = [];
    for (const [at, question] of questions.entries()) {
      const { ms, status } = await run.target.ask(question, { mode });
      if (status !== 200) throw new Error(`The server answered ${status} to question ${question.id}.`);
      times.push(ms);
      run.progress(`${mode}, ${memories} memories`, at / questions.length, `${at} of ${questions.length} questions`);
    }
    const limits: number[] = [];
    for (const question of bareOnes) limits.push((await askBare(run.bare, mode, question)).ms);
    const found = percentiles(times);
    const limit = figure(percentile(0.5, limits));
    rows.push({ memories, mode, ...found, limit_p50: limit, ratio_p50: ratio(Number(found.p50), limit) });
  }
  return rows;
}
