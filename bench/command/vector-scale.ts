// The part of `mneme bench scale` that measures a vector index without texts and without a server, so that millions of
// chunks can be measured. An interrupted run goes on if its folder is kept.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diskBytes } from "../lib/disk.ts";
import type { BareIndex } from "./bare-index.ts";
import { type Cell, figure, figureColumn, keyColumn, type Table } from "./result.ts";
import { PERCENTILE_COLUMNS, percentiles, type ShowProgress } from "./run.ts";
import type { Truth } from "./true-neighbours.ts";
import type { VectorCorpus } from "./vector-corpus.ts";

const HITS = 10;
/** Chunks per publication. */
const ROUND = 4_000;
/** Folder of the index, and the file that says how far it is filled. */
const [INDEX_FOLDER, NOTE_FILE] = ["index", "filled.json"];
/**
 * The users whose memories are searched, with the share of all memories that each has (`userOf`). User null stands for
 * the whole project.
 */
const USERS: readonly (readonly [user: number | null, share: number])[] = [
  [null, 1],
  [1, 0.1],
  [2, 0.01],
];
/** End of the names of files with graphs. */
const GRAPH_EXTENSION = ".hnsw";
const MIB = 2 ** 20;

/** What a run needs. */
export interface VectorRun {
  /** Folder for the index. */
  readonly folder: string;
  /** Whether the folder stays, so that a run that was interrupted goes on from there. */
  readonly isKept: boolean;
  readonly dimensions: number;
  readonly corpus: VectorCorpus;
  readonly progress: ShowProgress;
  /** What searches are measured with: the scan alone, or the scan and then the graph. */
  readonly index: BenchIndex;
}

/** What `mneme bench scale --index` can name. */
export const BENCH_INDEXES = ["scan", "hnsw"] as const;
/** One of `BENCH_INDEXES`. */
export type BenchIndex = (typeof BENCH_INDEXES)[number];

type Row = Readonly<Record<string, Cell>>;

/**
 * Fills an index with `count` vectors, opens it again, and measures memory, disk and searches; then the same with the
 * graph if `run.index` is `hnsw`. Removes the index unless `run.isKept`.
 */
export async function benchVectors(run: VectorRun, count: number): Promise<readonly Table[]> {
  const directory = join(run.folder, INDEX_FOLDER);
  mkdirSync(directory, { recursive: true });
  try {
    const { dimensions, progress } = run;
    const { fields } = run.corpus;
    const { truths, publishedMs } = await fill(run, directory, count);
    const [openingMs, residentBefore] = [performance.now(), residentBytes()];
    let index = await openIndex(directory, dimensions);
    const openedMs = performance.now() - openingMs;
    index.show(count, userOf);
    const memoryBytes = residentBytes() - residentBefore;
    const latency: Row[] = [];
    const measureAll = async (name: string) => {
      for (const [at, field] of fields.entries()) {
        for (const [user, share] of USERS) {
          progress(`${count} vectors`, share, `searching ${share * 100} % by ${name}`);
          const truth = truths[at]?.[USERS.findIndex(([of]) => of === user)] ?? [];
          const queryAt = (n: number) => field.queries.subarray(n * dimensions, (n + 1) * dimensions);
          const measured = await measure(index, user, queryAt, truth);
          latency.push({ chunks: count, index: name, questions: field.questions, share, ...measured });
        }
      }
    };
    const diskMib = (diskBytes(directory) - graphBytesOf(directory)) / MIB;
    await measureAll("scan");
    const tables: Table[] = [];
    if (run.index === "hnsw") {
      const [buildingMs, before] = [performance.now(), residentBytes()];
      await index.useGraph((share) => progress(`${count} vectors`, share, "building the graph"));
      const builtMs = performance.now() - buildingMs;
      const graphBytes = residentBytes() - before;
      await index.close();
      index = await openIndex(directory, dimensions);
      index.show(count, userOf);
      const loadingMs = performance.now();
      await index.useGraph((share) => progress(`${count} vectors`, share, "loading the graph"));
      const loadedMs = performance.now() - loadingMs;
      tables.push(graphTable({ chunks: count, builtMs, loadedMs, memory: graphBytes, disk: graphBytesOf(directory) }));
      await measureAll("hnsw");
    }
    await index.close();
    progress(`${count} vectors`, 1, `p50 ${latency[0]?.p50} ms`);
    return [
      {
        name: "vectors",
        title: "Vector index alone",
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
      ...tables,
      {
        name: "vector_latency",
        title: `Search of ${HITS} in the vector index alone`,
        columns: [
          ...[keyColumn("chunks"), keyColumn("index"), keyColumn("questions"), keyColumn("share", "admissible")],
          ...PERCENTILE_COLUMNS,
          figureColumn("recall", `recall@${HITS}`, "", "higher"),
        ],
        rows: latency,
      },
    ];
  } finally {
    if (!run.isKept) rmSync(directory, { recursive: true, force: true });
  }
}

interface GraphCost {
  readonly chunks: number;
  readonly builtMs: number;
  readonly loadedMs: number;
  /** Memory that the graph takes, in bytes. */
  readonly memory: number;
  readonly disk: number;
}

/** What the graph costs in addition to the rest of the index. */
function graphTable({ chunks, builtMs, loadedMs, memory, disk }: GraphCost): Table {
  return {
    name: "vector_graph",
    title: "Graph (HNSW) of these vectors",
    columns: [
      keyColumn("chunks"),
      figureColumn("build_s", "built", "s", "lower"),
      figureColumn("load_s", "loaded", "s", "lower"),
      figureColumn("memory", "memory", "MiB", "lower"),
      figureColumn("memory_chunk", "per chunk", "bytes", "lower"),
      figureColumn("disk", "disk", "MiB", "lower"),
    ],
    rows: [
      {
        ...{ chunks, build_s: figure(builtMs / 1_000), load_s: figure(loadedMs / 1_000) },
        ...{ memory: figure(memory / MIB), memory_chunk: figure(memory / chunks), disk: figure(disk / MIB) },
      },
    ],
  };
}

/** Size of the files of graphs in a folder of an index. */
function graphBytesOf(directory: string): number {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  const graphs = names.filter((name) => name.endsWith(GRAPH_EXTENSION));
  return graphs.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

// Imported late, because it loads the native core.
async function openIndex(directory: string, dimensions: number): Promise<BareIndex> {
  const { openBareIndex } = await import("./bare-index.ts");
  return openBareIndex(directory, dimensions);
}

/** How far an index is filled, and the true nearest of its memories so far: by field, by user, by question. */
interface Filled {
  /** Name of the corpus, and number of vectors. Another corpus is another index. */
  readonly corpus: string;
  readonly count: number;
  readonly filled: number;
  readonly publishedMs: number;
  readonly truths: readonly (readonly Truth[])[];
}

/** Publishes the vectors, and collects the true nearest ones of each question. Goes on where an earlier run ended. */
async function fill({ dimensions, progress, folder, corpus }: VectorRun, directory: string, count: number) {
  const { TrueNeighbours } = await import("./true-neighbours.ts");
  const note = join(folder, NOTE_FILE);
  const known = filledUntil(note, corpus, count);
  if (known === null) {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
  }
  const neighbours = corpus.fields.map(({ queries }, field) =>
    USERS.map(([user], at) => ({
      user,
      nearest: new TrueNeighbours(queries, dimensions, HITS, known?.truths[field]?.[at]),
    })),
  );
  const truths = () => neighbours.map((users) => users.map(({ nearest }) => nearest.best));
  const index = await openIndex(directory, dimensions);
  let publishedMs = known?.publishedMs ?? 0;
  try {
    for (let first = known?.filled ?? 0; first < count; first += ROUND) {
      const vectors = corpus.draw(Math.min(ROUND, count - first), first / ROUND, first);
      for (const [user] of USERS) {
        const [own, memories] = ofUser(vectors, dimensions, first, user);
        const collected = neighbours.flat().filter((of) => of.user === user);
        if (memories.length > 0) for (const { nearest } of collected) await nearest.add(own, memories);
      }
      const startedAt = performance.now();
      await index.add(first, vectors, userOf);
      publishedMs += performance.now() - startedAt;
      const filled = Math.min(count, first + ROUND);
      const state: Filled = { corpus: corpus.name, count, filled, publishedMs, truths: truths() };
      writeFileSync(`${note}.new`, JSON.stringify(state));
      renameSync(`${note}.new`, note);
      progress(`publishing ${count} vectors`, first / count, `${first} of ${count}`);
    }
  } finally {
    await index.close();
  }
  Bun.gc(true);
  return { truths: truths(), publishedMs };
}

/** How far an earlier run has filled the index of the same vectors; null if none has. */
function filledUntil(note: string, { name }: VectorCorpus, count: number): Filled | null {
  if (!existsSync(note)) return null;
  const known = JSON.parse(readFileSync(note, "utf8")) as Filled;
  return known.corpus === name && known.count === count ? known : null;
}

/** The vectors of a user's memories among these, and the numbers of the memories. */
function ofUser(vectors: Float32Array, dimensions: number, first: number, user: number | null) {
  const all = Array.from({ length: vectors.length / dimensions }, (_, at) => first + at);
  if (user === null) return [vectors, all] as const;
  const memories = all.filter((memory) => userOf(memory) === user);
  const own = new Float32Array(memories.length * dimensions);
  for (const [at, memory] of memories.entries()) {
    const from = (memory - first) * dimensions;
    own.set(vectors.subarray(from, from + dimensions), at * dimensions);
  }
  return [own, memories] as const;
}

async function measure(index: BareIndex, user: number | null, queryAt: (at: number) => Float32Array, truths: Truth) {
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

function residentBytes(): number {
  return process.memoryUsage.rss();
}
