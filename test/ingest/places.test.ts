// Assignment of pages, slides, sheets and cells to chunks.

import { expect, test } from "bun:test";
import type { Chunk } from "../../src/domain/chunk.ts";
import { placedChunks } from "../../src/ingest/places.ts";

const chunkAt = (start: number): Chunk => ({ ordinal: 0, start, end: start + 10, tokens: 1, headings: [] });
const pagesOf = (starts: readonly number[], marks: Parameters<typeof placedChunks>[1]) =>
  placedChunks(starts.map(chunkAt), marks, []).map(({ page, slide, sheet }) => page ?? slide ?? sheet ?? null);

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
  expect(placedChunks([chunk], [{ at: 0, place: { page: 1 } }], [])).toEqual([{ ...chunk, page: 1 }]);
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
    const [chunk] = placedChunks([{ ...chunkAt(start), end }], rows, []);
    return [chunk?.sheet, chunk?.cells];
  };
  expect(cellsOf(0, 10)).toEqual(["Costs", undefined]);
  expect(cellsOf(0, 50)).toEqual(["Costs", "B2:D3"]);
  expect(cellsOf(20, 31)).toEqual(["Costs", "B2:D3"]);
  expect(cellsOf(30, 50)).toEqual(["Costs", "C3"]);
  expect(cellsOf(40, 99)).toEqual(["Costs", "A3:AB4"]);
  expect(cellsOf(70, 99)).toEqual(["Next", "Z9"]);
});

test("a chunk with text of pictures has the lowest of their confidences", () => {
  const marks = [
    { at: 0, place: { slide: 1 } },
    { at: 20, place: { slide: 1, ocrConfidence: 0.9 } },
    { at: 30, place: { slide: 1 } },
    { at: 40, place: { slide: 2, ocrConfidence: 0.7 } },
    { at: 50, place: {} },
  ];
  const confidences = (start: number, end: number) =>
    placedChunks([{ ...chunkAt(start), end }], marks, []).map(({ slide, ocrConfidence }) => [slide, ocrConfidence]);
  expect(confidences(0, 20)).toEqual([[1, undefined]]);
  expect(confidences(0, 21)).toEqual([[1, 0.9]]);
  expect(confidences(20, 25)).toEqual([[1, 0.9]]);
  expect(confidences(25, 45)).toEqual([[1, 0.7]]);
  expect(confidences(30, 40)).toEqual([[1, undefined]]);
  expect(confidences(50, 60)).toEqual([[undefined, undefined]]);
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
  expect(placedChunks(chunks, rows, []).map(({ sheet, cells }) => `${sheet} ${cells}`)).toEqual(["S A1:A3", "S A2:A3"]);
});

test("a chunk of a text file gets its lines in the file, counted from the marks before its ends", () => {
  const chunks = [chunkAt(0), chunkAt(20), chunkAt(40)];
  const lines = [1, 3, 3, 5, 6, 6];
  const linesBy = (marks: Parameters<typeof placedChunks>[1]) =>
    placedChunks(chunks, marks, lines).map(({ line, lineEnd, symbol }) => [line, lineEnd, symbol]);
  expect(linesBy([{ at: 0, place: { line: 1 } }])).toEqual([
    [1, 3, undefined],
    [3, 5, undefined],
    [6, 6, undefined],
  ]);
  const missing = [
    { at: 0, place: { line: 1 } },
    { at: 25, place: { line: 2 } },
    { at: 40, place: { symbol: "main" } },
  ];
  expect(linesBy(missing)).toEqual([
    [1, 3, undefined],
    [3, 6, undefined],
    [7, 7, "main"],
  ]);
  expect(linesBy([{ at: 0, place: { page: 1 } }])[0]).toEqual([undefined, undefined, undefined]);
});
