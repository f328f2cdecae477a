// Assignment of pages, slides, sheets and cells to chunks.

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

test("a chunk of a sheet gets the range of all of its cells, also of a row that began before it", () => {
  const rows = [
    { at: 0, place: { sheet: "Costs" } },
    { at: 10, place: { cells: "B2:D2" } },
    { at: 30, place: { cells: "C3" } },
    { at: 50, place: { cells: "A4:AB4" } },
    { at: 70, place: { sheet: "Next" } },
    { at: 75, place: { cells: "Z9" } },
  ];
  const cellsOf = (start: number, end: number) => {
    const [chunk] = placedChunks([{ ...chunkAt(start), end }], rows);
    return [chunk?.sheet, chunk?.cells];
  };
  expect(cellsOf(0, 10)).toEqual(["Costs", undefined]);
  expect(cellsOf(0, 50)).toEqual(["Costs", "B2:D3"]);
  expect(cellsOf(20, 31)).toEqual(["Costs", "B2:D3"]);
  expect(cellsOf(30, 50)).toEqual(["Costs", "C3"]);
  expect(cellsOf(40, 99)).toEqual(["Costs", "A3:AB4"]);
  expect(cellsOf(70, 99)).toEqual(["Next", "Z9"]);
});

test("chunks that overlap get all of their cells", () => {
  const rows = [
    { at: 0, place: { sheet: "S", cells: "A1" } },
    { at: 10, place: { cells: "A2" } },
    { at: 20, place: { cells: "A3" } },
  ];
  const chunks = [
    { ...chunkAt(0), end: 25 },
    { ...chunkAt(10), end: 30 },
  ];
  expect(placedChunks(chunks, rows).map(({ sheet, cells }) => `${sheet} ${cells}`)).toEqual(["S A1:A3", "S A2:A3"]);
});
