// The arithmetic of ranking: cases calculated by hand, and properties that hold for any input.

import { describe, expect, test } from "bun:test";
import type { ChunkKey, MemoryKey } from "../../src/domain/ids.ts";
import { MODE_NAMES } from "../../src/domain/ranking.ts";
import type { Pool } from "../../src/ports/chunk-index.ts";
import { type Candidate, ranksOf } from "../../src/retrieval/candidate.ts";
import { boostSiblings, fuse } from "../../src/retrieval/fuse.ts";
import type { GraphScores } from "../../src/retrieval/graph-walk.ts";
import {
  calibrationCurve,
  forUnsupportedLanguage,
  modeFor,
  NEIGHBOUR_CANDIDATES,
  NEIGHBOURS,
  RERANKED_TOKENS_MAX,
} from "../../src/retrieval/modes.ts";
import { comparedCandidates, preferNeighbours, withNeighbours } from "../../src/retrieval/neighbours.ts";
import { blendRerank, earlyExitFor, rerankedCount, squashLogit } from "../../src/retrieval/rerank.ts";
import { calibrate } from "../../src/retrieval/results.ts";
import { seeded } from "../support/seeded.ts";
import { ENGLISH_TUNING } from "../support/shipped-models.ts";

const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
const ROUNDS = 300;
const tuning = ENGLISH_TUNING;
const fast = modeFor("fast", tuning);
const balanced = modeFor("balanced", tuning);
const precise = modeFor("precise", tuning);

/**
 * A pool of passages with these cosines and BM25 scores. Chunk keys start at `firstKey`; each memory key is 100 greater
 * than the chunk key.
 */
function hits(
  cosines: readonly number[],
  textScores: ArrayLike<number> | null = null,
  firstKey = 1,
): Omit<Pool, "graph"> {
  return {
    chunkKeys: BigUint64Array.from(cosines, (_, at) => BigInt(at + firstKey)),
    memoryKeys: BigUint64Array.from(cosines, (_, at) => BigInt(at + firstKey + 100)),
    cosines: Float32Array.from(cosines),
    textScores: textScores === null ? null : Float32Array.from(textScores),
  };
}

const keys = (candidates: readonly Candidate[]) => candidates.map(({ chunkKey }) => Number(chunkKey));

/** A candidate with this hybrid and final score. */
function candidate(at: number, score: number): Candidate {
  return {
    chunkKey: BigInt(at) as ChunkKey,
    memoryKey: BigInt(at) as MemoryKey,
    signals: { vector: { rank: at, score } },
    hybridScore: score,
    finalScore: score,
  };
}

describe("rerankedCount", () => {
  const long = "x".repeat(8 * RERANKED_TOKENS_MAX);
  const short = "x".repeat(36); // with the question of 4 characters 10 tokens

  test("counts the texts that fit into the budget", () => {
    const texts = new Array<string>(12).fill(short);
    for (const [tokensMax, count] of [
      [120, 12],
      [119, 11],
      [20, 2],
      [19, 1],
    ] as const) {
      expect(rerankedCount("kite", texts, tokensMax)).toBe(count);
    }
  });

  test("counts a long text only up to the token limit of a pair", () => {
    expect(rerankedCount("kite", [long, long, long], 2 * RERANKED_TOKENS_MAX)).toBe(2);
    expect(rerankedCount(long, [short, short, short], 2 * RERANKED_TOKENS_MAX)).toBe(2);
  });

  test("is at least one, and 0 without texts", () => {
    expect(rerankedCount("kite", [long, long], 0)).toBe(1);
    expect(rerankedCount("kite", [], 100)).toBe(0);
  });
});

describe("boostSiblings", () => {
  const of = (...memories: readonly number[]) => memories.map((key) => BigInt(key) as MemoryKey);

  test("adds the share of the distance to the memory's best passage; nothing for a single passage", () => {
    const boosted = boostSiblings(of(1, 2, 1, 1), [0.9, 0.8, 0.4, -0.1], 0.2);
    expect([...boosted]).toEqual([0.9, 0.8, expect.closeTo(0.5), expect.closeTo(0.1)]);
  });

  test("keeps the order within a memory and lowers no score, in any list", () => {
    const random = seeded(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const count = Math.floor(random() * 30);
      const passages = of(...Array.from({ length: count }, () => Math.floor(random() * 6)));
      const scores = passages.map(() => random() * 4 - 2);
      const boosted = boostSiblings(passages, scores, random());
      for (const [at, memoryKey] of passages.entries()) {
        expect(boosted[at]).toBeGreaterThanOrEqual((scores[at] ?? 0) - 1e-12);
        for (const [other, key] of passages.entries()) {
          if (key !== memoryKey || (scores[other] ?? 0) < (scores[at] ?? 0)) continue;
          expect(boosted[other]).toBeGreaterThanOrEqual((boosted[at] ?? 0) - 1e-12);
        }
      }
    }
  });

  test("can lift a passage above another memory's, in the hybrid score and after the reranker", () => {
    const pool: Omit<Pool, "graph"> = {
      chunkKeys: BigUint64Array.of(1n, 2n, 3n),
      memoryKeys: BigUint64Array.of(101n, 102n, 101n),
      cosines: Float32Array.of(0.9, 0.5, 0.45),
      textScores: null,
    };
    const stage = fuse(pool, balanced);
    expect(keys(stage)).toEqual([1, 3, 2]);
    expect(stage[1]?.finalScore).toBeCloseTo(0.45 + balanced.siblingBoost * 0.45);
    // Without the second boost, the third passage would now be last: .54 - .4 * .25 is less than the .5 of the second
    // passage.
    const blended = blendRerank(stage, Float32Array.of(8, -2, 0), balanced);
    expect(keys(blended)).toEqual([1, 3, 2]);
    expect(blended[1]?.finalScore).toBeCloseTo(0.44 + balanced.siblingBoost * (1.3 - 0.44));
  });
});

describe("neighbour boost", () => {
  const share = precise.neighbourBoost / NEIGHBOURS;
  const listOf = (...scores: readonly number[]) => scores.map((score, at) => candidate(at + 1, score));
  /** Similarities between `count` passages, row-major. */
  const similar = (count: number, of: (one: number, other: number) => number) =>
    Float32Array.from({ length: count * count }, (_, at) => of(Math.floor(at / count), at % count));
  const boosted = (listed: readonly Candidate[], similarities: Float32Array, ...graph: [GraphScores?]) =>
    preferNeighbours(withNeighbours(listed, similarities, precise), precise, ...graph);
  const finals = (candidates: readonly Candidate[]) => candidates.map(({ finalScore }) => finalScore);
  // the passages 1, 2, 3 and 5 resemble each other, and so do 4, 6, 7 and 8
  const GROUPS = [0, 0, 0, 1, 0, 1, 1, 1];
  const grouped = similar(8, (one, other) => (GROUPS[one] === GROUPS[other] ? 0.9 : 0.2));

  test("adds the share of the mean distance to the nearest passages, and orders again", () => {
    const found = boosted(listOf(0.9, 0.8, 0.7, 0.52, 0.5, 0.4, 0.3, 0.2), grouped);
    const expected = [0.9, 0.8 + share * 0.1, 0.7 + share * 0.3, 0.5 + share * 0.9, 0.52];
    expect(keys(found).slice(0, 5)).toEqual([1, 2, 3, 5, 4]);
    expect(finals(found).slice(0, 5)).toEqual(expected.map((score) => expect.closeTo(score)));
    expect(found.map(({ hybridScore }) => hybridScore).slice(0, 5)).toEqual([0.9, 0.8, 0.7, 0.5, 0.52]);
    const signals = new Map(found.map(({ chunkKey, signals: { neighbours } }) => [Number(chunkKey), neighbours]));
    expect(signals.get(1)).toBeUndefined();
    expect(signals.get(4)).toBeUndefined();
    expect(signals.get(5)).toEqual({ rank: 1, score: expect.closeTo(share * 0.9) });
    expect(preferNeighbours(found, precise)).toEqual(found);
  });

  test("is computed again from the scores after the reranker, within the head", () => {
    const stage = withNeighbours(listOf(0.9, 0.8, 0.7, 0.52, 0.5, 0.4, 0.3, 0.2), grouped, precise);
    const found = blendRerank(stage, Float32Array.of(-8, 8, 0, 8, 0), precise);
    const weight = precise.rerankWeight;
    const [one, two, three, four, five] = [0.9 - weight, 0.8 + weight, 0.7, 0.52 + weight, 0.5];
    const leads = (own: number, ...others: readonly number[]) =>
      share * others.reduce((sum, other) => sum + Math.max(0, other - own), 0);
    expect(Object.fromEntries(found.slice(0, 5).map(({ chunkKey, finalScore }) => [chunkKey, finalScore]))).toEqual({
      1: expect.closeTo(one + leads(one, two, three, five)),
      2: expect.closeTo(two),
      3: expect.closeTo(three + leads(three, one, two, five)),
      4: expect.closeTo(four),
      5: expect.closeTo(five + leads(five, one, two, three)),
    });
    expect(keys(found)[0]).toBe(2);
    expect(found.find(({ chunkKey }) => chunkKey === 2n)?.signals.neighbours).toBeUndefined();
    expect(keys(found).slice(5)).toEqual([6, 7, 8]);
  });

  test("passages of the same memory are no neighbours, nor are those without a vector", () => {
    const listed = [candidate(1, 0.9), { ...candidate(2, 0.5), memoryKey: 1n as MemoryKey }, candidate(3, 0.4)];
    const missing = similar(3, (one, other) => (one === 2 || other === 2 ? Number.NaN : 0.9));
    expect(finals(boosted(listed, missing))).toEqual([0.9, 0.5, 0.4]);
    const all = similar(3, () => 0.9);
    expect(finals(boosted(listed, all))).toEqual([0.9, 0.5, expect.closeTo(0.4 + share * (0.5 + 0.1))]);
  });

  test("shrinks with graph certainty, and is absent from other modes and unsupported languages", () => {
    const listed = listOf(0.9, 0.6);
    const all = similar(2, () => 0.5);
    const gainAt = (certainty: number) => {
      const [, second] = boosted(listed, all, { certainty, signals: new Map() });
      return (second?.finalScore ?? 0) - 0.6;
    };
    expect(gainAt(0)).toBeCloseTo(share * 0.3);
    expect(gainAt(1)).toBeCloseTo(gainAt(0) * (1 - precise.graphCertaintyDamping));
    expect(comparedCandidates(listed, precise)).toHaveLength(2);
    expect(comparedCandidates(listed.slice(0, 1), precise)).toHaveLength(0);
    for (const mode of [fast, balanced, modeFor("hybrid", tuning), forUnsupportedLanguage(precise, tuning, true)]) {
      expect(comparedCandidates(listed, mode)).toHaveLength(0);
    }
  });

  test("keeps the first passage and lowers no score, in any list", () => {
    const random = seeded(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const count = 2 + Math.floor(random() * 1.5 * NEIGHBOUR_CANDIDATES);
      const listed = Array.from({ length: count }, (_, at) => ({
        ...candidate(at + 1, random() * 4 - 2),
        memoryKey: BigInt(Math.floor(random() * 40)) as MemoryKey,
      })).sort((left, right) => right.hybridScore - left.hybridScore);
      const compared = comparedCandidates(listed, precise).length;
      expect(compared).toBe(Math.min(count, NEIGHBOUR_CANDIDATES));
      const found = boosted(
        listed,
        similar(compared, () => random() * 2 - 1),
      );
      expect(found).toHaveLength(count);
      expect(found[0]?.chunkKey).toBe(listed[0]?.chunkKey as ChunkKey);
      expect(found[0]?.finalScore).toBe(listed[0]?.hybridScore ?? Number.NaN);
      const behind = new Set(listed.slice(compared).map(({ chunkKey }) => chunkKey));
      for (const { chunkKey, hybridScore, finalScore, neighbours } of found) {
        expect(finalScore).toBeGreaterThanOrEqual(hybridScore);
        if (behind.has(chunkKey)) expect([neighbours, finalScore]).toEqual([undefined, hybridScore]);
      }
      expect(finals(found)).toEqual(finals(found).sort((left, right) => right - left));
    }
  });
});

describe("graph scores", () => {
  const graph = (certainty: number, ...scores: readonly (readonly [key: number, score: number])[]) => ({
    certainty,
    signals: new Map(scores.map(([key, score], at) => [BigInt(key), { rank: at + 1, score }])),
  });

  test("raise linked passages by the graph weight and add a signal; other passages keep their score", () => {
    const found = fuse(hits([0.6, 0.5]), balanced, graph(1, [2, 0.4]));
    expect(keys(found)).toEqual([2, 1]);
    expect(found[0]?.finalScore).toBeCloseTo(0.5 + balanced.graphWeight * 0.4);
    expect(found.map(({ signals }) => signals.graph)).toEqual([{ rank: 1, score: expect.closeTo(0.4) }, undefined]);
    expect(found[1]?.finalScore).toBeCloseTo(0.6);
  });

  test("reduce the text weight with graph certainty, except for unsupported languages", () => {
    const words = Float32Array.of(0.5);
    const finalAt = (certainty: number, mode = balanced) =>
      fuse(hits([0], words), mode, graph(certainty))[0]?.finalScore ?? 0;
    for (const certainty of [0, 0.5, 1]) {
      const share = 1 - balanced.graphCertaintyDamping * certainty;
      expect(finalAt(certainty)).toBeCloseTo(balanced.textWeight * 0.5 * share);
      expect(finalAt(certainty, forUnsupportedLanguage(balanced, tuning, true))).toBeCloseTo(balanced.textWeight * 0.5);
    }
  });

  test("reduce the rerank weight with graph certainty", () => {
    const weightAt = (certainty: number) =>
      blendRerank([candidate(1, 0)], Float32Array.of(8), balanced, graph(certainty))[0]?.finalScore ?? 0;
    expect(weightAt(0)).toBeCloseTo(balanced.rerankWeight);
    expect(weightAt(1)).toBeCloseTo(balanced.rerankWeight * 0.3);
    expect(weightAt(0.5)).toBeCloseTo(balanced.rerankWeight * 0.65);
  });
});

describe("squashLogit", () => {
  test("is linear within its bounds, constant beyond, and -1 for NaN", () => {
    const cases: [logit: number, squashed: number][] = [
      ...([
        [0, 0],
        [4, 0.5],
        [-4, -0.5],
        [8, 1],
        [-8, -1],
      ] as [number, number][]),
      ...([
        [80, 1],
        [-80, -1],
        [Infinity, 1],
        [-Infinity, -1],
        [NaN, -1],
      ] as [number, number][]),
    ];
    for (const [logit, squashed] of cases) expect(squashLogit(logit)).toBe(squashed);
  });
});

describe("ranksOf", () => {
  test("ranks from 1, best first; equal scores keep their order", () => {
    expect([...ranksOf([0.1, 0.9, 0.5])]).toEqual([3, 1, 2]);
    expect([...ranksOf([5, 5, 7, 5])]).toEqual([2, 3, 1, 4]);
    expect([...ranksOf([])]).toEqual([]);
  });

  test("ranks NaN last", () => {
    expect([...ranksOf([Number.NaN, -1, Number.NaN, 0])]).toEqual([3, 2, 4, 1]);
    expect([...ranksOf([Number.NEGATIVE_INFINITY, Number.NaN, Number.POSITIVE_INFINITY])]).toEqual([2, 3, 1]);
  });

  test("counts the better scores, and the equal ones before, in any list", () => {
    const random = seeded(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const scores = Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() * 9) / 4 - 1);
      const expected = scores.map(
        (score, at) => 1 + scores.filter((other, before) => other > score || (other === score && before < at)).length,
      );
      expect([...ranksOf(scores)]).toEqual(expected);
      expect([...ranksOf(Float32Array.from(scores))]).toEqual(expected);
    }
  });
});

describe("fuse", () => {
  test("without full text, the score is the cosine, and the only signal is vector", () => {
    const found = fuse(hits([0.9, 0.4]), fast);
    expect(keys(found)).toEqual([1, 2]);
    expect(found[0]?.signals).toEqual({ vector: { rank: 1, score: expect.closeTo(0.9) } });
    expect(found[0]?.finalScore).toBeCloseTo(0.9);
  });

  test("a BM25 score raises a passage by the text weight", () => {
    const found = fuse(hits([0.6, 0.5, 0.4], [0, 0, 0.2]), balanced);
    expect(keys(found)).toEqual([3, 1, 2]);
    expect(found.map(({ finalScore }) => finalScore)).toEqual(
      [0.4 + balanced.textWeight * 0.2, 0.6, 0.5].map((score) => expect.closeTo(score)),
    );
    expect(found[0]?.signals).toEqual({
      vector: { rank: 3, score: expect.closeTo(0.4) },
      text: { rank: 1, score: expect.closeTo(0.2) },
    });
  });

  test("equal scores are ordered by vector rank", () => {
    expect(keys(fuse(hits([0.5, 0.5, 0.5], [0.1, 0.1, 0.1]), balanced))).toEqual([1, 2, 3]);
  });

  test("a passage without a cosine has its BM25 part only, and no vector signal", () => {
    const found = fuse(hits([Number.NaN, 0.2, 0.6], [0.2, 0, 0]), balanced);
    expect(keys(found)).toEqual([3, 1, 2]);
    expect(found[1]?.finalScore).toBeCloseTo(balanced.textWeight * 0.2);
    expect(found.map(({ signals }) => signals.vector?.rank)).toEqual([1, undefined, 2]);
  });

  test("in an unsupported script, BM25 decides and the cosine breaks ties", () => {
    const unread = forUnsupportedLanguage(precise, tuning, false);
    const ranked = fuse(hits([0.9, 0.1, 0.5], [0, 0.5, 0.5]), unread);
    expect(keys(ranked)).toEqual([3, 2, 1]);
    // Most of the real cosine is replaced by the typical one, so the score keeps its magnitude.
    expect(ranked[0]?.finalScore).toBeCloseTo(0.5 + unread.textWeight * 0.5, 3);
    const read = fuse(hits([0.9, 0.1, 0.5], [0, 0.3, 0.3]), forUnsupportedLanguage(precise, tuning, true));
    expect(keys(read)).toEqual([3, 1, 2]);
  });

  test("of equal scores, the one without a cosine comes last", () => {
    expect(keys(fuse(hits([Number.NaN, 0, Number.NaN], [0, 0, 0]), balanced))).toEqual([2, 1, 3]);
  });

  test("returns the best of the pool with the same ranks if only some are asked for", () => {
    const random = seeded(SEED);
    for (let round = 0; round < ROUNDS; round++) {
      const cosines = Array.from({ length: Math.floor(random() * 40) }, () =>
        random() < 0.1 ? Number.NaN : Math.floor(random() * 9) / 8,
      );
      const words = Float32Array.from(cosines, () => Math.floor(random() * 3) / 4);
      const pool = {
        ...hits(cosines, words),
        memoryKeys: BigUint64Array.from(cosines, () => BigInt(Math.floor(random() * 9))),
      };
      const all = fuse(pool, balanced);
      const count = Math.floor(random() * 42);
      expect(fuse(pool, balanced, undefined, count)).toEqual(all.slice(0, count));
    }
  });

  test("keeps memories apart whose keys differ only in the upper half", () => {
    const pool = { ...hits([0.9, 0.5]), memoryKeys: BigUint64Array.of(7n, 7n + 2n ** 32n) };
    expect(fuse(pool, fast)[1]?.finalScore).toBeCloseTo(0.5);
  });

  test("an empty pool gives an empty list", () => expect(fuse(hits([], []), balanced)).toEqual([]));
});

describe("blendRerank", () => {
  const falling = [0.9, 0.8, 0.7, 0.6].map((score, at) => candidate(at + 1, score));

  test("adds .4 times the squashed logit to the head, and leaves the tail unchanged", () => {
    const blended = blendRerank(falling, Float32Array.from([-8, 8]), balanced);
    expect(keys(blended)).toEqual([2, 1, 3, 4]);
    expect(blended[0]).toMatchObject({ finalScore: expect.closeTo(1.2), signals: { rerank: { rank: 1, score: 1 } } });
    expect(blended[1]).toMatchObject({ finalScore: expect.closeTo(0.5), signals: { rerank: { rank: 2, score: -1 } } });
    expect(blended[2]).toBe(falling[2] as Candidate);
  });

  test("the tail stays behind the head, even if its scores are higher", () => {
    const blended = blendRerank(falling, Float32Array.from([-8, -8]), balanced);
    expect(keys(blended)).toEqual([1, 2, 3, 4]);
    expect(blended[1]?.finalScore).toBeLessThan(blended[2]?.finalScore ?? 0);
  });

  test("a candidate that was not read gets the median of the others, and no rerank signal", () => {
    const blended = blendRerank(falling, [-8, null, 8, 4], balanced);
    expect(keys(blended)).toEqual([3, 2, 4, 1]);
    expect(blended[1]).toMatchObject({ finalScore: expect.closeTo(0.8 + 0.4 * 0.5) });
    expect(blended[1]?.signals.rerank).toBeUndefined();
    expect(blended.map(({ signals }) => signals.rerank?.rank)).toEqual([1, undefined, 2, 3]);
  });

  test("a candidate that was not read gets the same score in a longer head", () => {
    const candidates = Array.from({ length: 30 }, (_, at) => candidate(at + 1, 1 - at / 100));
    const logits = candidates.map((_, at) => (at === 2 ? null : 8 - at / 2));
    const finals = [20, 30].map((depth) => {
      const blended = blendRerank(candidates, logits.slice(0, depth), balanced);
      return blended.find(({ chunkKey }) => chunkKey === candidates[2]?.chunkKey)?.finalScore;
    });
    expect(finals[0]).toBe(finals[1] as number);
    // the median of the ten nearest logits: those of the candidates 0 to 10
    expect(finals[0]).toBeCloseTo(0.98 + 0.4 * ((8 - 5.5 / 2) / 8), 1);
  });

  test("if no candidate was read, the order stays", () =>
    expect(keys(blendRerank(falling, [null, null], balanced))).toEqual([1, 2, 3, 4]));

  test("no logits change nothing", () => expect(blendRerank(falling, new Float32Array(), balanced)).toEqual(falling));

  test("there is no early exit if the reranker has no weight", () => {
    expect(earlyExitFor(falling, { ...balanced, rerankWeight: 0 })).toBeUndefined();
  });

  test.each([0, 0.5, 1])("prior scores plus logits give its order (certainty %d)", (certainty) => {
    const graph = { certainty, signals: new Map() };
    const logits = Float32Array.of(-6, 1.5, -0.5, 4);
    const { priorScores } = earlyExitFor(falling, balanced, graph) ?? { priorScores: [] };
    const sums = falling.map(({ chunkKey }, at) => ({
      key: Number(chunkKey),
      sum: (priorScores[at] ?? 0) + (logits[at] ?? 0),
    }));
    const expected = sums.sort((left, right) => right.sum - left.sum).map(({ key }) => key);
    expect(keys(blendRerank(falling, logits, balanced, graph))).toEqual(expected);
  });
});

describe("calibrate", () => {
  test("is the sigmoid of the curve", () => {
    const curve = { slope: 2, gapSlope: 0, sizeSlope: 0, offset: -1 };
    expect(calibrate([candidate(1, 0.5)], curve, 1)).toEqual([0.5]);
    expect(calibrate([candidate(1, 1)], curve, 1)[0]).toBeCloseTo(1 / (1 + Math.exp(-1)));
  });

  test("adds the slope for the distance to the best", () => {
    const curve = { slope: 2, gapSlope: 3, sizeSlope: 0, offset: -1 };
    const [best, next] = calibrate([candidate(1, 1), candidate(2, 0.5)], curve, 1);
    expect(best).toBeCloseTo(1 / (1 + Math.exp(-1)));
    expect(next).toBeCloseTo(1 / (1 + Math.exp(1.5)));
  });

  test("counts no distance for a score above that of the first", () => {
    const curve = { slope: 2, gapSlope: 3, sizeSlope: 0, offset: -1 };
    const [first = Number.NaN] = calibrate([candidate(1, 0.1)], curve, 1);
    expect(calibrate([candidate(1, 0.1), candidate(2, 0.9)], curve, 1)).toEqual([first, first]);
  });

  test("falls with the number of memories that the search could find", () => {
    const curve = { slope: 2, gapSlope: 3, sizeSlope: 0.5, offset: -1 };
    const at = (memories: number) => calibrate([candidate(1, 1), candidate(2, 0.5)], curve, memories);
    expect(at(1)).toEqual(calibrate([candidate(1, 1), candidate(2, 0.5)], { ...curve, sizeSlope: 0 }, 1));
    expect(at(1_000)[0]).toBeCloseTo(1 / (1 + Math.exp(-1 + 0.5 * Math.log(1_000))));
    expect(at(1_000)[1]).toBeCloseTo(1 / (1 + Math.exp(1.5 + 0.5 * Math.log(1_000))));
  });

  test("never rises down the list, even if the scores do", () => {
    const curve = calibrationCurve(new Set(["text", "rerank"]), tuning);
    const [first = Number.NaN] = calibrate([candidate(1, 0.1)], curve, 1);
    expect(calibrate([candidate(1, 0.1), candidate(2, 0.9)], curve, 1)).toEqual([first, first]);
  });
});

describe(`for any scores and logits (seed ${SEED})`, () => {
  const chance = seeded(SEED);
  const below = (count: number) => Math.floor(chance() * count);
  const drawnCurve = () => ({
    ...calibrationCurve(new Set((["text", "graph", "rerank"] as const).filter(() => chance() < 0.5)), tuning),
    gapSlope: 4 * below(3),
    sizeSlope: below(3) / 4,
  });
  // Few distinct values, so that equal scores are common.
  const cosine = () => below(9) / 4 - 1;
  const pool = () => {
    const cosines = Array.from({ length: below(40) }, cosine).sort((left, right) => right - left);
    const words = Float32Array.from(cosines, () => below(5) / 4);
    const logits = Float32Array.from({ length: Math.min(cosines.length, below(25)) }, () =>
      chance() < 0.05 ? Number.NaN : (chance() - 0.5) * 40,
    );
    return { cosines, words, logits };
  };

  test("the stages neither lose nor invent candidates, and each signal's ranks are 1..n", () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { cosines, words, logits } = pool();
      const fused = fuse(hits(cosines, words), balanced);
      const blended = blendRerank(fused, logits, balanced);
      const all = cosines.map((_, at) => at + 1);
      for (const list of [fused, blended]) expect(keys(list).sort((left, right) => left - right)).toEqual(all);
      for (const signal of ["vector", "text"] as const) {
        const ranks = blended.map(({ signals }) => signals[signal]?.rank ?? 0);
        expect(ranks.sort((left, right) => left - right)).toEqual(all);
      }
      expect(keys(blended).slice(logits.length)).toEqual(keys(fused).slice(logits.length));
    }
  });

  test("hybrid scores and the reranked head are sorted, with ties by vector rank", () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { cosines, words, logits } = pool();
      const fused = fuse(hits(cosines, words), balanced);
      const head = blendRerank(fused, logits, balanced).slice(0, logits.length);
      for (const list of [fused, head]) {
        for (const [at, { finalScore, signals }] of list.entries()) {
          const before = list[at - 1];
          if (before === undefined) continue;
          expect(before.finalScore).toBeGreaterThanOrEqual(finalScore);
          if (before.finalScore === finalScore) {
            expect(before.signals.vector?.rank).toBeLessThan(signals.vector?.rank ?? Number.NaN);
          }
        }
      }
    }
  });

  test("calibrated scores are in 0..1 and never rise, with every curve", () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { cosines, words, logits } = pool();
      for (const mode of MODE_NAMES.map((name) => modeFor(name, tuning))) {
        const scores = calibrate(
          blendRerank(fuse(hits(cosines, words), mode), logits, mode),
          drawnCurve(),
          1 + below(1_000),
        );
        for (const [at, score] of scores.entries()) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(scores[at - 1] ?? 1);
        }
      }
    }
  });
});
