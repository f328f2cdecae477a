// Which source a citation of an answer means, also after a source was deleted.

import { describe, expect, test } from "bun:test";
import type { SearchResult } from "../../src/console/browser/core/calls.ts";
import { citationsOf } from "../../src/console/browser/views/ask/citations.ts";

function source(id: string, content: string, cited = true): SearchResult {
  return { id, content, ...(cited && { cited }) } as SearchResult;
}

/** A source as the server describes it, with the number of its citation. */
function numbered(cited: SearchResult, citation: number): SearchResult {
  return { ...cited, citation };
}

const DOOR = source("door", "The door code is 4711, and changes each month.");
const KEY = source("key", "The spare key lies under the blue pot.");
const CAT = source("cat", "The cat is fed at seven.", false);
const TEXT = "The door code is 4711 [1]. The spare key lies under the blue pot [2].";

function idsOf(text: string, sources: readonly SearchResult[]): unknown[] {
  return [...citationsOf(text, sources)].map(([number, found]) => [number, found?.id ?? null]);
}

describe("citations", () => {
  test("count the cited sources in their order, and leave out those that were only read", () => {
    expect(idsOf(TEXT, [DOOR, KEY, CAT])).toEqual([
      [1, "door"],
      [2, "key"],
    ]);
    expect(idsOf("Under the blue pot [2], and 4711 [1].", [DOOR, CAT, KEY])).toEqual([
      [1, "door"],
      [2, "key"],
    ]);
  });

  test("name cited sources without a number in the text, too", () => {
    expect(idsOf("Nobody knows.", [DOOR])).toEqual([[1, "door"]]);
    expect(idsOf("", [CAT])).toEqual([]);
  });

  test("keep their numbers when a source is gone", () => {
    const [first, second] = [numbered(DOOR, 1), numbered(KEY, 2)];
    expect(idsOf(TEXT, [first, second, CAT])).toEqual([
      [1, "door"],
      [2, "key"],
    ]);
    expect(idsOf(TEXT, [second, CAT])).toEqual([
      [1, null],
      [2, "key"],
    ]);
    expect(idsOf(TEXT, [first])).toEqual([
      [1, "door"],
      [2, null],
    ]);
  });

  test("mean nothing when their sources are gone, or cannot be told from others", () => {
    const nothing = [
      [1, null],
      [2, null],
    ];
    expect(idsOf(TEXT, [])).toEqual(nothing);
    // stored by an older version, without numbers
    expect(idsOf(TEXT, [KEY, CAT])).toEqual(nothing);
  });
});
