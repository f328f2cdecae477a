// Speed, recall and memory of vector search at several selectivities, also while vectors are published, and after
// opening. Run: bun bench/vectors.ts [--count 132000] [--queries 100] [--file vectors.f32]; it prints tables and writes
// no file. It takes a core for about a minute per 100,000 vectors and 100 queries, most of it for the true neighbours.
//
// The file has float32 rows of 384 components; its last rows are the queries. Without a file, the vectors are
// synthetic. They are drawn in a latent space of 32 dimensions: 2,000 cluster centres, and points around them
// (deviation .7 of the centres'). A random matrix maps them to 384 dimensions; then 10 % noise is added and they are
// scaled to unit length. The queries are drawn from the same clusters. 32 is about the intrinsic dimension that the
// literature reports for sentence embeddings. Vectors are made, compared and published in rounds, so that millions of
// them fit into memory.

import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ProjectIndex, type PublishChunk } from "../src/adapters/native/core.ts";

const DIMENSIONS = 384;
const LATENT_DIMENSIONS = 32;
const CLUSTERS = 2_000;
const HITS = 10;
/** Number of chunks per publish call. */
const ROUND = 4_000;
/** Shares of the memories that the users own, one per user. The whole project is searched too. */
const SHARES = [0.3, 0.1, 0.01, 0.001];
const MODEL = { dimensions: DIMENSIONS, fingerprint: "bench" };
const ROW_BYTES = DIMENSIONS * Float32Array.BYTES_PER_ELEMENT;

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "132000" },
    queries: { type: "string", default: "100" },
    file: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});

/** Seeded 32-bit generator (similar to SplitMix), so that figures can be reproduced. */
function generator(seed: number): { uniform(): number; gaussian(): number } {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32;
  };
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, gaussian };
}

function normalise(row: Float32Array): void {
  let square = 0;
  for (let at = 0; at < row.length; at++) square += (row[at] ?? 0) ** 2;
  const length = Math.sqrt(square);
  for (let at = 0; at < row.length; at++) row[at] = (row[at] ?? 0) / length;
}

/** A source of vectors: each call returns the next `rows`, `[rows, 384]`. */
type Source = (rows: number) => Float32Array;

/** Synthetic vectors, as described in the file header. */
function synthetic(seed: number): Source {
  const chance = generator(seed);
  const gaussians = (count: number) => Float32Array.from({ length: count }, () => chance.gaussian());
  const map = gaussians(LATENT_DIMENSIONS * DIMENSIONS);
  const centres = gaussians(CLUSTERS * LATENT_DIMENSIONS);
  const noise = 0.1 * Math.sqrt(LATENT_DIMENSIONS * 1.49);
  return (rows) => {
    const all = new Float32Array(rows * DIMENSIONS);
    for (let row = 0; row < rows; row++) {
      const centre = Math.floor(chance.uniform() * CLUSTERS) * LATENT_DIMENSIONS;
      const target = all.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
      for (let latent = 0; latent < LATENT_DIMENSIONS; latent++) {
        const component = (centres[centre + latent] ?? 0) + 0.7 * chance.gaussian();
        const from = map.subarray(latent * DIMENSIONS, (latent + 1) * DIMENSIONS);
        for (let at = 0; at < DIMENSIONS; at++) target[at] = (target[at] ?? 0) + component * (from[at] ?? 0);
      }
      for (let at = 0; at < DIMENSIONS; at++) target[at] = (target[at] ?? 0) + noise * (chance.uniform() * 3.46 - 1.73);
      normalise(target);
    }
    return all;
  };
}

/** The rows of a file, from the given one on. */
function rowsOfFile(path: string, first: number): Source {
  let next = first;
  return (rows) => {
    const all = new Float32Array(rows * DIMENSIONS);
    const file = openSync(path, "r");
    readSync(file, new Uint8Array(all.buffer), 0, all.byteLength, next * ROW_BYTES);
    closeSync(file);
    next += rows;
    return all;
  };
}

/** The best rows so far of a query within a scope, best first. */
type Best = { row: number; score: number }[];

function offer(best: Best, row: number, score: number): void {
  if (best.length === HITS && score <= (best[HITS - 1]?.score ?? 0)) return;
  best.push({ row, score });
  best.sort((a, b) => b.score - a.score);
  best.length = Math.min(best.length, HITS);
}

function dot(left: Float32Array, right: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let at = 0; at < DIMENSIONS; at += 4) {
    a += (left[at] ?? 0) * (right[at] ?? 0);
    b += (left[at + 1] ?? 0) * (right[at + 1] ?? 0);
    c += (left[at + 2] ?? 0) * (right[at + 2] ?? 0);
    d += (left[at + 3] ?? 0) * (right[at + 3] ?? 0);
  }
  return a + b + c + d;
}

function percentile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function rowAt(vectors: Float32Array, row: number): Float32Array {
  return vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
}

const queryCount = Number(options.queries);
const count = options.file === undefined ? Number(options.count) : statSync(options.file).size / ROW_BYTES - queryCount;
const drawn = synthetic(Number(options.seed));
const allQueries = options.file === undefined ? drawn(queryCount) : rowsOfFile(options.file, count)(queryCount);
const queries = Array.from({ length: queryCount }, (_, at) => rowAt(allQueries, at));
const next = options.file === undefined ? drawn : rowsOfFile(options.file, 0);
console.log(
  `${count} vectors (${options.file ?? `synthetic, seed ${options.seed}`}), ${queryCount} queries, recall@${HITS}`,
);

/**
 * The user of each row, drawn at random: users 1, 2, … with the probabilities in `SHARES`, and 0 for the remaining
 * rows.
 */
const chance = generator(7);
const users = Uint8Array.from({ length: count }, () => {
  const at = chance.uniform();
  let upTo = 0;
  for (const [user, share] of SHARES.entries()) {
    upTo += share;
    if (at < upTo) return user + 1;
  }
  return 0;
});
const scopes = [null, ...SHARES.map((_, at) => at + 1)];
const truths: Best[][] = scopes.map(() => queries.map(() => []));

/** Publishes rows as memories of one chunk each, and shows them. */
async function publish(index: ProjectIndex, first: number, vectors: Float32Array): Promise<void> {
  const rows = Array.from({ length: vectors.length / DIMENSIONS }, (_, at) => first + at);
  const keys = BigUint64Array.from(rows, (row) => BigInt(row + 1));
  const chunks = rows.map((row): PublishChunk => {
    const key = BigInt(row + 1);
    return {
      ...{ chunkKey: key, memoryKey: key, own: `w${row % 97}`, context: null },
      ...{ language: "und", passage: "", place: "" },
    };
  });
  await index.publish(keys, chunks, [{ fingerprint: MODEL.fingerprint, vectors }]);
  index.show(
    keys,
    BigUint64Array.from(rows, (row) => BigInt(users[row] ?? 0)),
    new Float64Array(rows.length),
  );
}

/** Makes and publishes all vectors, and finds the true neighbours meanwhile. Returns the milliseconds of publishing. */
async function fill(index: ProjectIndex): Promise<number> {
  let publishedMs = 0;
  for (let first = 0; first < count; first += ROUND) {
    const vectors = next(Math.min(ROUND, count - first));
    for (let row = 0; row < vectors.length / DIMENSIONS; row++) {
      const vector = rowAt(vectors, row);
      const user = users[first + row] ?? 0;
      for (const [at, query] of queries.entries()) {
        const score = dot(vector, query);
        offer(truths[0]?.[at] ?? [], first + row, score);
        if (user > 0) offer(truths[user]?.[at] ?? [], first + row, score);
      }
    }
    const startedMs = performance.now();
    await publish(index, first, vectors);
    publishedMs += performance.now() - startedMs;
  }
  return publishedMs;
}

async function measure(index: ProjectIndex, state: string, measuredScopes: readonly (number | null)[]): Promise<void> {
  for (const user of measuredScopes) {
    const within = index.admit(user === null ? null : BigInt(user), 0);
    const tookMs: number[] = [];
    let [found, wanted] = [0, 0];
    for (const [number, query] of queries.entries()) {
      const startedMs = performance.now();
      const hits = await index.searchVectors(MODEL.fingerprint, query, within, HITS);
      tookMs.push(performance.now() - startedMs);
      const expected = new Set(truths[user ?? 0]?.[number]?.map((best) => best.row));
      wanted += expected.size;
      found += [...hits.chunkKeys].filter((key) => expected.has(Number(key) - 1)).length;
    }
    tookMs.sort((a, b) => a - b);
    const share = user === null ? 1 : (SHARES[user - 1] ?? 0);
    const figures = [percentile(tookMs, 0.5), percentile(tookMs, 0.95)].map((ms) => ms.toFixed(2));
    console.log(
      `| ${[state, `${share * 100} %`, within.memories, ...figures, (found / wanted).toFixed(4)].join(" | ")} |`,
    );
  }
}

/** Measures while rounds of vectors that are in the index already are published again, one after the other. */
async function measureWhilePublishing(index: ProjectIndex): Promise<number> {
  const again = options.file === undefined ? synthetic(Number(options.seed)) : rowsOfFile(options.file, 0);
  if (options.file === undefined) again(queryCount);
  const [first, rows] = [0, Math.min(ROUND, count)];
  const vectors = again(rows);
  let rounds = 0;
  let isMeasuring = true;
  const publishing = (async () => {
    while (isMeasuring) {
      await publish(index, first, vectors);
      rounds += 1;
    }
  })();
  await measure(index, "while publishing", [null]);
  isMeasuring = false;
  await publishing;
  return rounds;
}

const residentMb = () => Math.round(process.memoryUsage.rss() / 1e6);
const directory = mkdtempSync(join(tmpdir(), "mneme-bench-vectors-"));
try {
  const { index: filled } = await ProjectIndex.open({ directory, newModel: MODEL });
  const publishedMs = await fill(filled);
  console.log(`published ${Math.round(count / (publishedMs / 1000))} chunks/s`);
  console.log("\n| state | admissible | memories | p50 ms | p95 ms | recall |\n|---|---|---|---|---|---|");
  await measure(filled, "idle", scopes);
  const rounds = await measureWhilePublishing(filled);
  await filled.close();
  console.log(`\n${rounds} rounds of ${Math.min(ROUND, count)} chunks were published meanwhile`);

  Bun.gc(true);
  const [openingMs, residentBeforeMb] = [performance.now(), residentMb()];
  const { index: reopened } = await ProjectIndex.open({ directory, newModel: MODEL });
  const openedMs = performance.now();
  const { chunks, logBytes } = reopened.stats();
  console.log(
    `opened ${chunks} chunks in ${Math.round(openedMs - openingMs)} ms (vectors and full text); ` +
      `${Math.round(logBytes / chunks)} bytes of log per chunk; ` +
      `resident ${residentMb()} MB, ${residentBeforeMb} MB before`,
  );
  await reopened.close();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
