// Formatting for the terminal: aligned rows, readable durations, and suggestions for misspelled names.

import { describe, expect, test } from "bun:test";
import { alignRows, readableBytes, readableDuration } from "../../src/cli/terminal.ts";
import { didYouMean, nearestName } from "../../src/kit/nearest.ts";

describe("rows", () => {
  test("are aligned by column, without trailing spaces", () => {
    expect(
      alignRows([
        ["a", "first"],
        ["long", "x"],
        ["b", ""],
      ]),
    ).toEqual(["a     first", "long  x", "b"]);
  });
  test("of figures are right-aligned, except for their names", () => {
    expect(
      alignRows(
        [
          ["set", "ms"],
          ["a", "7"],
          ["b", "123"],
        ],
        true,
      ),
    ).toEqual(["set   ms", "a      7", "b    123"]);
  });
  test("may have different lengths, or be empty", () => {
    expect(alignRows([["a"], ["b", "c"]])).toEqual(["a", "b  c"]);
    expect(alignRows([])).toEqual([]);
  });
});

describe("a duration", () => {
  for (const [ms, text] of [
    [0, "0.0 s"],
    [640, "0.6 s"],
    [12_400, "12 s"],
    [60_000, "1 min 0 s"],
    [200_000, "3 min 20 s"],
    [7_500_000, "2 h 5 min"],
  ] as const) {
    test(`of ${ms} ms reads ${text}`, () => expect(readableDuration(ms)).toBe(text));
  }
});

test("a size is shown in units of 1,000", () => {
  const sizes = [0, 999, 1_000, 9_949, 10_400, 2_700_000, 63e9, 5e15];
  expect(sizes.map(readableBytes)).toEqual(["0 B", "999 B", "1.0 KB", "9.9 KB", "10 KB", "2.7 MB", "63 GB", "5000 TB"]);
});

describe("a suggestion", () => {
  const known = ["port", "host", "data_dir", "userId"];
  test("is found despite typos, swaps, case and separators", () => {
    expect(nearestName("prot", known)).toBe("port");
    expect(nearestName("dataDir", known)).toBe("data_dir");
    expect(nearestName("user_id", known)).toBe("userId");
    expect(nearestName("hosts", known)).toBe("host");
  });
  test("is not made if no known name is similar", () => {
    expect(nearestName("temperature", known)).toBeNull();
    expect(nearestName("", known)).toBeNull();
    expect(didYouMean("temperature", known)).toBe("");
  });
});
