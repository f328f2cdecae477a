// What the console writes into its pictures and histories: labels that differ, names of regions, lines of charts, and
// changes word by word. Also tests which texts are short enough to leave room for the rest of a memory's page.

import { describe, expect, test } from "bun:test";
import { linesUpTo } from "../../src/console/browser/ui/chart-scale.ts";
import { distinctLabels } from "../../src/console/browser/ui/labels.ts";
import { regionsOf } from "../../src/console/browser/views/map/regions.ts";
import { isShort } from "../../src/console/browser/views/memory/short-text.ts";
import { wordChanges } from "../../src/console/browser/views/memory/word-changes.ts";

describe("labels", () => {
  test("are cut between words, and what fits stays as it is", () => {
    expect(distinctLabels(["Recipe: lemon cake", "A text that is longer than a label"], 20)).toEqual([
      "Recipe: lemon cake",
      "A text that is…",
    ]);
  });

  test("of texts with the same beginning show where these differ", () => {
    const [one = "", other = ""] = distinctLabels(
      ["The workshop with the harbour team moved to room 220", "The workshop with the harbour team begins at 10:30"],
      32,
    );
    expect([one, other]).toEqual(["The workshop… moved to room 220", "The workshop… begins at 10:30"]);
  });

  test("are cut in one place, and in two only where enough is left on both sides", () => {
    const texts = ["moved to room 220", "begins at 10:30 and ends when all questions are answered"].map(
      (end) => `The workshop with the harbour team ${end}`,
    );
    expect(distinctLabels(texts, 24)).toEqual(["", ""]);
    expect(distinctLabels(texts, 40)).toEqual([
      "The workshop… team moved to room 220",
      "The workshop with… team begins at 10:30…",
    ]);
  });

  test("are none where less than twelve characters of a text would be left", () => {
    expect(distinctLabels(["Checklist: before a trip", "The budget of the project"], 16)).toEqual([
      "",
      "The budget of…",
    ]);
  });

  test("of the same text are the same, and an empty one stays empty", () => {
    expect(distinctLabels(["Same", "Same", ""], 10)).toEqual(["Same", "Same", ""]);
  });
});

describe("regions", () => {
  const at = (x: number, y: number) => ({ x, y });
  const points = [at(-0.9, 0.9), at(-0.8, 0.8), at(-0.85, 0.95), at(-0.9, 0.8)];
  const others = [at(0.9, -0.9), at(0.8, -0.8), at(0.85, -0.95), at(0.9, -0.8)];
  const names = ["Lena's tea", "Lena and the cake", "A note for Lena", "The plan of Lena"];
  const otherNames = ["Tide gauge: errors", "Tide gauge: data sheet", "The tide gauge in March", "Harbour"];

  test("have the name that their memories share, and all of their points", () => {
    const found = regionsOf([...points, ...others], [...names, ...otherNames]);
    expect(found.map(({ name }) => name).sort()).toEqual(["Lena", "Tide gauge"]);
    expect(found.find(({ name }) => name === "Lena")?.at).toEqual([0, 1, 2, 3]);
  });

  test("are none for few points, and for memories that share no word", () => {
    expect(regionsOf(points, names)).toEqual([]);
    const alone = ["tea", "cake", "boat", "rain", "door", "lamp", "road", "tree"];
    expect(regionsOf([...points, ...others], alone)).toEqual([]);
    expect(regionsOf([...points, ...others], new Array(8).fill(""))).toEqual([]);
  });

  test("are divided into words also where no spaces divide them", () => {
    const japanese = ["港の会議の予定", "港の会議の場所", "港の会議", "港の会議の記録"];
    const found = regionsOf([...points, ...others], [...japanese, ...otherNames]);
    expect(found.some(({ name }) => /港|会議/.test(name))).toBe(true);
  });
});

describe("the scale of a chart", () => {
  test("has few lines at round whole numbers, and the last one is not below the highest value", () => {
    for (const most of [0, 0.4, 1, 2, 3, 4, 7, 9, 10, 11, 16, 30, 31, 99, 100, 101, 1_234, 45_678.9, 1_000_001]) {
      const lines = linesUpTo(most);
      const step = lines[1] ?? 0;
      expect([most, lines[0]]).toEqual([most, 0]);
      expect([most, (lines.at(-1) ?? 0) >= most]).toEqual([most, true]);
      expect([most, lines.length <= 4]).toEqual([most, true]);
      expect([most, [1, 2, 5].includes(Number(String(step).replace(/0+$/, "")))]).toEqual([most, true]);
      // the scale ends at its last line, and has the same lines again
      expect(linesUpTo(lines.at(-1) ?? 0)).toEqual(lines);
    }
    expect(linesUpTo(7)).toEqual([0, 5, 10]);
    expect(linesUpTo(3)).toEqual([0, 1, 2, 3]);
  });
});

describe("changes between two texts", () => {
  const textOf = (before: string, after: string) =>
    wordChanges(before, after)
      ?.map(({ kind, text }) => (kind === "same" ? text : kind === "added" ? `[+${text}]` : `[-${text}]`))
      .join("");

  test.each([
    ["It is in room 114.", "It moved to room 220.", "It [-is in] [+moved to] room [-114] [+220]."],
    ["a b c", "a x c", "a [-b] [+x] c"],
    ["one two three", "one two", "one two [-three]"],
    ["one two", "one two three", "one two[+ three]"],
    ["same words", "same words", "same words"],
    ["اجتماع يوم الأربعاء", "اجتماع يوم الخميس", "اجتماع يوم [-الأربعاء] [+الخميس]"],
  ])("%j to %j", (before, after, shown) => {
    expect(textOf(before, after)).toBe(shown);
  });

  test("are not shown of texts that have hardly a word in common, or are very long", () => {
    expect(wordChanges("entirely different", "something else instead")).toBeNull();
    const long = "word ".repeat(400);
    expect(wordChanges(long, `${long}end`)).toBeNull();
  });
});

test("a short text leaves room for other parts of the memory below it, and a long one does not", () => {
  expect([isShort("Short."), isShort(undefined), isShort("word ".repeat(200))]).toEqual([true, true, false]);
});
