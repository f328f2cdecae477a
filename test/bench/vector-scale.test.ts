// The measurement of the vector index alone in `mneme bench scale`.

import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TrueNeighbours } from "../../bench/command/true-neighbours.ts";
import { drawnCorpus } from "../../bench/command/vector-corpus.ts";
import { benchVectors, type VectorRun } from "../../bench/command/vector-scale.ts";
import { copiedVectors } from "../../bench/lib/copied-vectors.ts";

import { vectorParts } from "../../bench/lib/drawn-vectors.ts";
import { dot } from "../../src/kit/dot.ts";

const DIMENSIONS = 64;
const folder = mkdtempSync(join(tmpdir(), "mneme-vector-scale-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowsOf = (vectors: Float32Array) =>
  Array.from({ length: vectors.length / DIMENSIONS }, (_, at) =>
    vectors.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS),
  );

test("true neighbours are those of all products, however many parts the vectors come in", async () => {
  const draw = vectorParts(3, DIMENSIONS);
  const [queries, vectors] = [draw(5, 99), draw(300, 0)];
  const truth = rowsOf(queries).map((query) =>
    rowsOf(vectors)
      .map((vector, at) => ({ memory: at + 7, score: dot(query, vector) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, 10),
  );
  for (const parts of [[300], [4, 196, 100]]) {
    const nearest = new TrueNeighbours(queries, DIMENSIONS, 10);
    let first = 0;
    for (const rows of parts) {
      const part = vectors.subarray(first * DIMENSIONS, (first + rows) * DIMENSIONS);
      await nearest.add(
        part,
        Array.from({ length: rows }, (_, at) => first + at + 7),
      );
      first += rows;
    }
    const memories = (all: typeof truth) => all.map((best) => best.map(({ memory }) => memory));
    expect(memories(nearest.best.map((best) => [...best]))).toEqual(memories(truth));
    expect(nearest.best[0]?.[0]?.score).toBeCloseTo(truth[0]?.[0]?.score ?? 0, 5);
  }
});

test("a part of drawn vectors can be drawn again, and differs from the other parts", () => {
  const draw = vectorParts(3, DIMENSIONS);
  expect(draw(20, 4)).toEqual(vectorParts(3, DIMENSIONS)(20, 4));
  expect(draw(20, 4)).not.toEqual(draw(20, 5));
  expect(draw(20, 4)).not.toEqual(vectorParts(4, DIMENSIONS)(20, 4));
  for (const vector of rowsOf(draw(20, 4))) expect(dot(vector, vector)).toBeCloseTo(1, 5);
});

test("copies have cosines of .80 ± .05 to an original, which comes first", () => {
  const originals = vectorParts(3, DIMENSIONS)(10, 0);
  const vectors = rowsOf(copiedVectors(originals, DIMENSIONS, 5)(400, 0, 0));
  const nearest = vectors.map((vector) => Math.max(...rowsOf(originals).map((original) => dot(original, vector))));
  for (const cosine of nearest.slice(0, 10)) expect(cosine).toBeCloseTo(1, 5);
  const copies = nearest.slice(10);
  const mean = copies.reduce((sum, cosine) => sum + cosine, 0) / copies.length;
  expect(mean).toBeGreaterThan(0.78);
  expect(mean).toBeLessThan(0.83);
  expect(Math.min(...copies)).toBeGreaterThan(0.64);
});

test("an interrupted run goes on where it ended, and finds what a run in one go finds", async () => {
  const run = (name: string, progress: VectorRun["progress"], isKept: boolean): VectorRun => ({
    ...{ folder: join(folder, name), isKept, dimensions: DIMENSIONS, index: "hnsw", progress },
    corpus: drawnCorpus(1, DIMENSIONS),
  });
  const count = 5_000; // two publications
  const published: string[] = [];
  const interrupted = run(
    "kept",
    (label) => {
      if (label.startsWith("publishing")) throw new Error("interrupted");
    },
    true,
  );
  await expect(benchVectors(interrupted, count)).rejects.toThrow("interrupted");
  const noted = (label: string, _: number, note: string) => {
    if (label.startsWith("publishing")) published.push(note);
  };
  const resumed = await benchVectors(run("kept", noted, true), count);
  expect(published).toEqual(["4000 of 5000"]);
  const [, graph, latency] = resumed;
  expect(graph?.rows[0]?.disk).toBeGreaterThan(0.5);
  expect(latency?.rows).toHaveLength(2 * 2 * 3);
  for (const { index, questions, share, recall } of latency?.rows ?? []) {
    expect({ index, questions, share, isGood: Number(recall) > 0.9 }).toEqual({
      index,
      questions,
      share,
      isGood: true,
    });
  }
  expect(existsSync(join(folder, "kept", "index"))).toBe(true);
});
