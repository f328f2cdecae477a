// Speed and recall of vector search, by exact scan and by HNSW, at several selectivities. Run: bun bench/vectors.ts
// [--count 132000] [--queries 200] [--file vectors.f32]; it prints one table and writes no file.
//
// The file has float32 rows of 384 components; its last rows are the queries. Without a file, the vectors are
// synthetic. They are drawn in a latent space of 32 dimensions: 2,000 cluster centres, and points around them
// (deviation .7 of the centres'). A random matrix maps them to 384 dimensions; then 10 % noise is added and they are
// scaled to unit length. The queries are drawn from the same clusters. 32 is about the intrinsic dimension that the
// literature reports for sentence embeddings.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
/** Maximum milliseconds for building and calibrating the HNSW graph. */
const GRAPH_DEADLINE_MS = 600_000;

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "132000" },
    queries: { type: "string", default: "200" },
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
  const length = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));
  for (let at = 0; at < row.length; at++) row[at] = (row[at] ?? 0) / length;
}

/** Synthetic vectors, `[rows, 384]`, as described in the file header. */
function synthetic(rows: number, seed: number): Float32Array {
  const chance = generator(seed);
  const gaussians = (count: number) => Float32Array.from({ length: count }, () => chance.gaussian());
  const map = gaussians(LATENT_DIMENSIONS * DIMENSIONS);
  const centres = gaussians(CLUSTERS * LATENT_DIMENSIONS);
  const all = new Float32Array(rows * DIMENSIONS);
  const noise = 0.1 * Math.sqrt(LATENT_DIMENSIONS * 1.49);
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
}

/** Finds the exact nearest rows among those that `isIn` accepts. The vectors are float32. */
function truth(rows: Float32Array, query: Float32Array, isIn: (row: number) => boolean): Set<number> {
  const best: { row: number; score: number }[] = [];
  for (let row = 0; row < rows.length / DIMENSIONS; row++) {
    if (!isIn(row)) continue;
    let score = 0;
    const start = row * DIMENSIONS;
    for (let at = 0; at < DIMENSIONS; at++) score += (rows[start + at] ?? 0) * (query[at] ?? 0);
    if (best.length === HITS && score <= (best[HITS - 1]?.score ?? 0)) continue;
    best.push({ row, score });
    best.sort((a, b) => b.score - a.score);
    best.length = Math.min(best.length, HITS);
  }
  return new Set(best.map((hit) => hit.row));
}

function percentile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const queryCount = Number(options.queries);
const loaded = options.file === undefined ? undefined : new Float32Array(readFileSync(options.file).buffer);
const everything = loaded ?? synthetic(Number(options.count) + queryCount, Number(options.seed));
const count = everything.length / DIMENSIONS - queryCount;
const vectors = everything.subarray(0, count * DIMENSIONS);
const queries = Array.from({ length: queryCount }, (_, at) =>
  everything.slice((count + at) * DIMENSIONS, (count + at + 1) * DIMENSIONS),
);
console.log(
  `${count} vectors (${options.file ?? `synthetic, seed ${options.seed}`}), ${queryCount} queries, recall@${HITS}`,
);

/**
 * The user of each row, drawn at random: users 1, 2, … with the probabilities in `SHARES`, and 0 for the remaining
 * rows.
 */
const chance = generator(7);
const users = Uint8Array.from({ length: count }, () => {
  const drawn = chance.uniform();
  let upTo = 0;
  for (const [at, share] of SHARES.entries()) {
    upTo += share;
    if (drawn < upTo) return at + 1;
  }
  return 0;
});
const scopes = [null, ...SHARES.map((_, at) => at + 1)];
const truths = scopes.map((user) =>
  queries.map((query) => truth(vectors, query, (row) => user === null || users[row] === user)),
);

async function fill(index: ProjectIndex): Promise<void> {
  for (let start = 0; start < count; start += ROUND) {
    const rows = Array.from({ length: Math.min(ROUND, count - start) }, (_, at) => start + at);
    const keys = BigUint64Array.from(rows, (row) => BigInt(row + 1));
    const chunks = rows.map((row): PublishChunk => {
      const key = BigInt(row + 1);
      return {
        chunkKey: key,
        memoryKey: key,
        own: `w${row % 97}`,
        context: null,
        language: "und",
        passage: "",
        place: "",
      };
    });
    const slice = vectors.subarray(start * DIMENSIONS, (start + rows.length) * DIMENSIONS);
    await index.publish(keys, chunks, [{ fingerprint: "bench", vectors: slice }]);
    index.show(
      keys,
      BigUint64Array.from(rows, (row) => BigInt(users[row] ?? 0)),
      new Float64Array(rows.length),
    );
  }
}

async function measure(index: ProjectIndex, path: string): Promise<void> {
  for (const [at, user] of scopes.entries()) {
    const within = index.admit(user === null ? null : BigInt(user), 0);
    const tookMs: number[] = [];
    let found = 0;
    let wanted = 0;
    for (const [number, query] of queries.entries()) {
      const started = performance.now();
      const hits = await index.searchVectors("bench", query, within, HITS);
      tookMs.push(performance.now() - started);
      const expected = truths[at]?.[number] ?? new Set<number>();
      wanted += expected.size;
      found += [...hits.chunkKeys].filter((key) => expected.has(Number(key) - 1)).length;
    }
    tookMs.sort((a, b) => a - b);
    const share = user === null ? 1 : (SHARES[user - 1] ?? 0);
    const row = [
      path,
      `${share * 100} %`,
      within.memories,
      percentile(tookMs, 0.5).toFixed(2),
      percentile(tookMs, 0.95).toFixed(2),
    ];
    console.log(`| ${row.join(" | ")} | ${(found / wanted).toFixed(4)} |`);
  }
}

const directory = mkdtempSync(join(tmpdir(), "mneme-bench-vectors-"));
try {
  console.log("| path by rule | admissible | memories | p50 ms | p95 ms | recall |\n|---|---|---|---|---|---|");
  const startedMs = performance.now();
  const exact = (
    await ProjectIndex.open({
      directory,
      newModel: { dimensions: DIMENSIONS, fingerprint: "bench" },
      hnswMinChunks: count,
    })
  ).index;
  await fill(exact);
  const filledMs = performance.now();
  await measure(exact, "exact");
  await exact.close();

  const reopeningMs = performance.now();
  const graphOptions = { directory, newModel: { dimensions: DIMENSIONS, fingerprint: "bench" }, hnswMinChunks: 10_000 };
  const withGraph = (await ProjectIndex.open(graphOptions)).index;
  const openedMs = performance.now();
  const keys = BigUint64Array.from({ length: count }, (_, row) => BigInt(row + 1));
  withGraph.show(
    keys,
    BigUint64Array.from(users, (user) => BigInt(user)),
    new Float64Array(count),
  );
  while (!withGraph.stats().hnswReady) {
    if (performance.now() - openedMs > GRAPH_DEADLINE_MS)
      throw new Error("the HNSW graph was not ready in time: its calibration failed or was too slow");
    await Bun.sleep(200);
  }
  const readyMs = performance.now();
  await measure(withGraph, "HNSW from 30 %");
  await withGraph.close();
  console.log(
    `publishing ${Math.round(count / ((filledMs - startedMs) / 1000))} chunks/s; ` +
      `opening ${Math.round(openedMs - reopeningMs)} ms; graph ready after ${Math.round((readyMs - openedMs) / 1000)} s; ` +
      `resident ${Math.round(process.memoryUsage.rss() / 1e6)} MB (with the bench's own copy of the vectors)`,
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}
