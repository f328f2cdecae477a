// How a rerank is split into pieces, with and without early exit.

import { describe, expect, test } from "bun:test";
import { gpuRerankPieces, rerankPieces } from "../../src/adapters/inference/rerank-pieces.ts";
import { seeded } from "../support/seeded.ts";

describe("a rerank on GPUs", () => {
  test("is one piece, unless it has more than 8,192 tokens; a piece has padding for its longest passage", () => {
    expect(gpuRerankPieces([100, 300, 200])).toEqual([{ indices: [0, 2, 1], tokens: 600, earlyExit: null }]);
    expect(gpuRerankPieces([])).toEqual([]);
    const pieces = gpuRerankPieces(Array<number>(33).fill(256));
    expect(pieces.map(({ tokens }) => tokens)).toEqual([8192, 256]);
    expect(pieces.flatMap(({ indices }) => indices).sort((a, b) => a - b)).toEqual([...Array(33).keys()]);
  });
});

describe("a rerank without early exit", () => {
  const share = (tokens: readonly number[], lanes: number) =>
    rerankPieces(tokens, lanes, null).map(({ indices }) => indices);

  test("has large pieces first, none above one batch, and single passages last", () => {
    const sizes = (count: number) => share(Array<number>(count).fill(128), 2).map((piece) => piece.length);
    expect(sizes(10)).toEqual([3, 2, 2, 1, 1, 1]);
    expect(sizes(30)).toEqual([4, 4, 4, 4, 4, 3, 2, 2, 1, 1, 1]);
    expect(sizes(1)).toEqual([1]);
    expect(sizes(0)).toEqual([]);
  });

  test("lets lanes of different speed finish within one passage of each other", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = seeded(seed);
      const tokens = Array.from({ length: 1 + Math.floor(random() * 50) }, () => 5 + Math.floor(random() * 124));
      const [fast, slow] = [
        { doneAt: 0, speed: 1 },
        { doneAt: 0, speed: 0.5 + random() / 2 },
      ];
      for (const piece of share(tokens, 2)) {
        const lane = fast.doneAt <= slow.doneAt ? fast : slow;
        lane.doneAt += piece.reduce((sum, index) => sum + (tokens[index] ?? 0), 0) / lane.speed;
      }
      const passage = 128 / slow.speed;
      expect(Math.abs(fast.doneAt - slow.doneAt), `seed ${seed}`).toBeLessThanOrEqual(passage);
    }
  });

  test("puts each passage into exactly one piece, long passages first", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const random = seeded(seed);
      const tokens = Array.from({ length: 1 + Math.floor(random() * 50) }, () => 5 + Math.floor(random() * 124));
      const pieces = share(tokens, 1 + Math.floor(random() * 4));
      expect(
        pieces.flat().toSorted((a, b) => a - b),
        `seed ${seed}`,
      ).toEqual(tokens.map((_, index) => index));
      const lengths = pieces.flat().map((index) => tokens[index] ?? 0);
      expect(lengths, `seed ${seed}`).toEqual(lengths.toSorted((a, b) => b - a));
    }
  });
});

describe("a rerank with early exit", () => {
  const priors = (count: number) => Array.from({ length: count }, (_, index) => 100 - index);
  const split = (count: number, lanes = 2, fullTokensMax = 100) =>
    rerankPieces(Array<number>(count).fill(128), lanes, { priorScores: priors(count), fullTokensMax });
  const sizes = (pieces: ReturnType<typeof split>) => pieces.map(({ indices }) => indices.length);

  test("deals passages to the pieces in turn; each piece has their prior scores and its share of the full tokens", () => {
    expect(split(5)).toEqual([
      { indices: [0, 2, 4], tokens: 384, earlyExit: { priorScores: [100, 98, 96], fullTokensMax: 60 } },
      { indices: [1, 3], tokens: 256, earlyExit: { priorScores: [99, 97], fullTokensMax: 40 } },
    ]);
    expect(split(1)).toEqual([{ indices: [0], tokens: 128, earlyExit: { priorScores: [100], fullTokensMax: 100 } }]);
  });

  test("has no piece above 1,024 tokens", () => {
    expect(sizes(split(16))).toEqual([8, 8]);
    expect(sizes(split(17))).toEqual([5, 4, 4, 4]);
    expect(sizes(split(16, 1))).toEqual([8, 8]);
  });

  test("does not exit early if all tokens fit into the limit", () => {
    const exitsEarly = (pieces: ReturnType<typeof split>) => pieces.some(({ earlyExit }) => earlyExit !== null);
    expect(exitsEarly(split(10, 2, 1_279))).toBe(true);
    expect(exitsEarly(split(10, 2, 1_280))).toBe(false);
    expect(split(0)).toEqual([]);
  });
});
