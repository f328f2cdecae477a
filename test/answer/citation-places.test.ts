// Finding the citations of a complete answer, for annotations.

import { describe, expect, test } from "bun:test";
import { citationPlaces } from "../../src/answer/citation-places.ts";

/** The marks at the places that were found. */
function marksIn(text: string, sources: number, hasCode = true): readonly string[] {
  return citationPlaces(text, sources, { hasCode }).map(({ start, end }) => [...text].slice(start, end).join(""));
}

describe("citationPlaces", () => {
  test("finds each mark with its number, in the order of the text", () => {
    expect(citationPlaces("Red [1]. Blue [2][1].", 2, { hasCode: true })).toEqual([
      { number: 1, start: 4, end: 7 },
      { number: 2, start: 14, end: 17 },
      { number: 1, start: 17, end: 20 },
    ]);
  });

  test("counts code points, not UTF-16 units", () => {
    expect(citationPlaces("🙂🙂 [1] 👩‍🚀 [1]", 1, { hasCode: true }).map(({ start }) => start)).toEqual([3, 11]);
    expect(marksIn("🙂🙂 [1] 👩‍🚀 [1]", 1)).toEqual(["[1]", "[1]"]);
  });

  test("numbers without a source are no citations", () => {
    expect(marksIn("a [0] b [3] c [2] d [1000] e [x]", 2)).toEqual(["[2]"]);
    expect(marksIn("a [1]", 0)).toEqual([]);
  });

  test("nothing in code is a citation, if the text may have code", () => {
    const fenced = "See [1].\n```ts\nconst a = b[1];\n```\nThen [2].\n~~~\nx[1]\n~~~~\n";
    expect(marksIn(fenced, 2)).toEqual(["[1]", "[2]"]);
    expect(marksIn("`a[1]` and ``b`[2]`` differ [1].", 2)).toEqual(["[1]"]);
    expect(citationPlaces("`a[1]` [1]", 1, { hasCode: true })).toEqual([{ number: 1, start: 7, end: 10 }]);
    expect(marksIn("It`s red [1], isn`t it", 1, false)).toEqual(["[1]"]);
    expect(marksIn("an open fence\n```\nx[1]", 1)).toEqual([]);
  });

  test("is linear in hostile texts", () => {
    for (const text of ["`".repeat(100_000), "` ".repeat(50_000), "[1]".repeat(30_000), "[".repeat(100_000)]) {
      expect(marksIn(text, 1).length).toBeLessThanOrEqual(30_000);
    }
  });
});
