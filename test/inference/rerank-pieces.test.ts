// Which passages of a rerank go together, and what each piece with early exit reads by all layers.

import { describe, expect, test } from "bun:test";
import { rerankPieces } from "../../src/adapters/inference/rerank-pieces.ts";
import { seeded } from "../support/seeded.ts";

describe("a rerank of which all is read to the end", () => {
  const share = (tokens: readonly number[], lanes: number) =>
    rerankPieces(tokens, lanes, null).map(({ indices }) => indices);

  test("the first pieces are large, and none above one run; the last are single passages", () => {
    const sizes = (count: number) => share(Array<number>(count).fill(128), 2).map((piece) => piece.length);
    expect(sizes(10)).toEqual([3, 2, 2, 1, 1, 1]);
    expect(sizes(30)).toEqual([4, 4, 4, 4, 4, 3, 2, 2, 1, 1, 1]);
    expect(sizes(1)).toEqual([1]);
    expect(sizes(0)).toEqual([]);
  });

  test("lanes of different speed are done within one passage of each other", () => {
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

  test("every passage is in one piece, the long ones first", () => {
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

describe("a contest", () => {
  const starts = (count: number) => Array.from({ length: count }, (_, index) => 100 - index);
  const hold = (count: number, lanes = 2, fullTokensMax = 100) =>
    rerankPieces(Array<number>(count).fill(128), lanes, { priorScores: starts(count), fullTokensMax });
  const sizes = (pieces: ReturnType<typeof hold>) => pieces.map(({ indices }) => indices.length);

  test("is dealt out in turns, each piece with its head starts and its share of what is read to the end", () => {
    expect(hold(5)).toEqual([
      { indices: [0, 2, 4], tokens: 384, earlyExit: { priorScores: [100, 98, 96], fullTokensMax: 60 } },
      { indices: [1, 3], tokens: 256, earlyExit: { priorScores: [99, 97], fullTokensMax: 40 } },
    ]);
    expect(hold(1)).toEqual([{ indices: [0], tokens: 128, earlyExit: { priorScores: [100], fullTokensMax: 100 } }]);
  });

  test("has no piece above 1,024 tokens", () => {
    expect(sizes(hold(16))).toEqual([8, 8]);
    expect(sizes(hold(17))).toEqual([5, 4, 4, 4]);
    expect(sizes(hold(16, 1))).toEqual([8, 8]);
  });

  test("is none where all may be read to the end", () => {
    const isHeld = (pieces: ReturnType<typeof hold>) => pieces.some(({ earlyExit }) => earlyExit !== null);
    expect(isHeld(hold(10, 2, 1_279))).toBe(true);
    expect(isHeld(hold(10, 2, 1_280))).toBe(false);
    expect(hold(0)).toEqual([]);
  });
});
