// Assignment of pages, slides and sheets to chunks.

import { expect, test } from "bun:test";
import type { Chunk } from "../../src/domain/chunk.ts";
import { placedChunks } from "../../src/ingest/places.ts";

const chunkAt = (start: number): Chunk => ({ ordinal: 0, start, end: start + 10, tokens: 1, headings: [] });
const pagesOf = (starts: readonly number[], marks: Parameters<typeof placedChunks>[1]) =>
  placedChunks(starts.map(chunkAt), marks).map(({ page, slide, sheet }) => page ?? slide ?? sheet ?? null);

test("a chunk gets the place on which it begins; if several begin there, the last", () => {
  const marks = [
    { at: 0, place: { page: 1 } },
    { at: 20, place: { page: 2 } },
    { at: 20, place: { page: 3 } },
    { at: 50, place: { sheet: "Costs" } },
  ];
  expect(pagesOf([0, 19, 20, 21, 49, 50, 99], marks)).toEqual([1, 1, 3, 3, 3, "Costs", "Costs"]);
});

test("the other fields of a chunk do not change", () => {
  const chunk: Chunk = { ...chunkAt(3), headings: ["Costs"], tokens: 7 };
  expect(placedChunks([chunk], [{ at: 0, place: { page: 1 } }])).toEqual([{ ...chunk, page: 1 }]);
});

test("a chunk before the first mark has no place, and without marks no chunk has one", () => {
  expect(pagesOf([0, 5, 9], [{ at: 5, place: { slide: 7 } }])).toEqual([null, 7, 7]);
  expect(pagesOf([0, 5], [])).toEqual([null, null]);
});
