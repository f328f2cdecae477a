// The part of `mneme bench scale` with pseudo-random vectors: the vector index alone, without texts and models, so that
// millions of chunks can be measured in minutes.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { diskBytes } from "../lib/disk.ts";
import { dot } from "../lib/dot.ts";
import { vectorSource } from "../lib/drawn-vectors.ts";
import type { BareIndex } from "./bare-index.ts";
import { figure, figureColumn, keyColumn, type Table } from "./result.ts";
import { PERCENTILE_COLUMNS, percentiles, type ShowProgress } from "./run.ts";

const QUERIES = 50;
const HITS = 10;
/** Chunks per publication. */
const ROUND = 4_000;
/** One memory in this many belongs to the user whose memories are searched, by user. The whole project is user null. */
const USERS: readonly (readonly [user: number | null, share: number])[] = [
  [null, 1],
  [1, 0.1],
  [2, 0.01],
];
const MIB = 2 ** 20;

/** What a run needs. */
export interface VectorRun {
  /** Folder for the index; it is removed afterwards. */
  readonly folder: string;
  readonly dimensions: number;
  readonly seed: number;
  readonly progress: ShowProgress;
}

/** Fills an index with `count` pseudo-random vectors, and measures it filled and opened again. */
export async function benchVectors(run: VectorRun, count: number): Promise<readonly Table[]> {
  const directory = join(run.folder, "vectors");
  mkdirSync(directory, { recursive: true });
  try {
    const draw = vectorSource(run.seed, run.dimensions);
    const queries = draw(QUERIES);
    const queryAt = (at: number) => queries.subarray(at * run.dimensions, (at + 1) * run.dimensions);
    const { truths, publishedMs } = await fill(run, directory, count, draw, queryAt);
    const [openingMs, residentBefore] = [performance.now(), residentBytes()];
    const index = await openIndex(directory, run.dimensions);
    const openedMs = performance.now() - openingMs;
    index.show(count, userOf);
    const memoryBytes = residentBytes() - residentBefore;
    const latency = [];
    for (const [user, share] of USERS) {
      run.progress(`${count} vectors`, share, `searching ${share * 100} %`);
      latency.push({ chunks: count, share, ...(await measure(index, user, queryAt, truths.get(user) ?? [])) });
    }
    await index.close();
    run.progress(`${count} vectors`, 1, `p50 ${latency[0]?.p50} ms`);
    const diskMib = diskBytes(directory) / MIB;
    return [
      {
        name: "vectors",
        title: "Vector index with pseudo-random vectors",
        columns: [
          keyColumn("chunks"),
          figureColumn("rate", "published", "chunks/s", "higher"),
          figureColumn("open_s", "open", "s", "lower"),
          figureColumn("memory", "memory", "MiB", "lower"),
          figureColumn("memory_chunk", "per chunk", "bytes", "lower"),
          figureColumn("disk", "disk", "MiB", "lower"),
          figureColumn("disk_chunk", "per chunk on disk", "bytes", "lower"),
        ],
        rows: [
          {
            ...{ chunks: count, rate: figure((count / publishedMs) * 1_000), open_s: figure(openedMs / 1_000) },
            ...{ memory: figure(memoryBytes / MIB), memory_chunk: figure(memoryBytes / count) },
            ...{ disk: figure(diskMib), disk_chunk: figure((diskMib * MIB) / count) },
          },
        ],
      },
      {
        name: "vector_latency",
        title: `Vector search of ${HITS} among pseudo-random vectors`,
        columns: [
          ...[keyColumn("chunks"), keyColumn("share", "admissible")],
          ...PERCENTILE_COLUMNS,
          figureColumn("recall", `recall@${HITS}`, "", "higher"),
        ],
        rows: latency,
      },
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

// Imported late, because the single binary must unpack the native core first.
async function openIndex(directory: string, dimensions: number): Promise<BareIndex> {
  const { openBareIndex } = await import("./bare-index.ts");
  return openBareIndex(directory, dimensions);
}

/** The true nearest memories of each query, for each user. */
type Truths = ReadonlyMap<number | null, readonly (readonly Neighbour[])[]>;

interface Neighbour {
  readonly memory: number;
  readonly score: number;
}

async function fill(
  { dimensions, progress }: VectorRun,
  directory: string,
  count: number,
  draw: (rows: number) => Float32Array,
  queryAt: (at: number) => Float32Array,
): Promise<{ truths: Truths; publishedMs: number }> {
  const truths = new Map(USERS.map(([user]) => [user, Array.from({ length: QUERIES }, (): Neighbour[] => [])]));
  const index = await openIndex(directory, dimensions);
  let publishedMs = 0;
  for (let first = 0; first < count; first += ROUND) {
    const vectors = draw(Math.min(ROUND, count - first));
    for (let at = 0; at < vectors.length / dimensions; at += 1) {
      const [memory, user] = [first + at, userOf(first + at)];
      const vector = vectors.subarray(at * dimensions, (at + 1) * dimensions);
      for (let query = 0; query < QUERIES; query += 1) {
        const score = dot(vector, queryAt(query));
        keepBest(truths.get(null)?.[query], { memory, score });
        if (user > 0) keepBest(truths.get(user)?.[query], { memory, score });
      }
    }
    const startedAt = performance.now();
    await index.add(first, vectors, userOf);
    publishedMs += performance.now() - startedAt;
    progress(`publishing ${count} vectors`, first / count, `${first} of ${count}`);
  }
  await index.close();
  Bun.gc(true);
  return { truths, publishedMs };
}

async function measure(
  index: BareIndex,
  user: number | null,
  queryAt: (at: number) => Float32Array,
  truths: readonly (readonly Neighbour[])[],
) {
  const times: number[] = [];
  let [found, wanted] = [0, 0];
  for (const [at, truth] of truths.entries()) {
    const startedAt = performance.now();
    const memories = await index.nearest(queryAt(at), user, HITS);
    times.push(performance.now() - startedAt);
    wanted += truth.length;
    found += truth.filter(({ memory }) => memories.includes(memory)).length;
  }
  return { ...percentiles(times), recall: figure(found / wanted) };
}

/** User of a memory: 1 for one in ten, 2 for one in a hundred, 0 for the others. */
function userOf(memory: number): number {
  if (memory % 100 === 50) return 2;
  return memory % 10 === 3 ? 1 : 0;
}

function keepBest(best: Neighbour[] | undefined, found: Neighbour): void {
  if (best === undefined || (best.length === HITS && found.score <= (best[HITS - 1]?.score ?? 0))) return;
  best.push(found);
  best.sort((a, b) => b.score - a.score);
  best.length = Math.min(best.length, HITS);
}

function residentBytes(): number {
  return process.memoryUsage.rss();
}
