// Baseline rankings, computed from the signals of two searches.

import { describe, expect, test } from "bun:test";
import { type Answers, baselineRankings, missingByText, type Passage } from "../../bench/lib/baselines.ts";

// A passage, by default in a document of its own; `text` and `vector` are [rank, score].
function passage(id: string, legs: { vector?: [number, number]; text?: [number, number]; document?: string }): Passage {
  const leg = (value?: [number, number]) => (value === undefined ? null : { rank: value[0], score: value[1] });
  return {
    id,
    memoryId: `mem_${id}`,
    document: legs.document ?? id,
    vector: leg(legs.vector),
    text: leg(legs.text),
  };
}

function answers(parts: Partial<Answers>): Answers {
  return { fast: [], precise: [], poolSize: 400, further: [], ...parts };
}

describe("baselines", () => {
  const precise = [
    passage("both", { vector: [2, 0.6], text: [2, 0.5] }),
    passage("near", { vector: [1, 0.9], text: [3, 0.1] }),
    passage("wordy", { vector: [3, 0.2], text: [1, 0.8] }),
    passage("wordless", { vector: [4, 0.1], text: [4, 0] }),
  ];
  const fast = [
    passage("near", { vector: [1, 0.9] }),
    passage("both", { vector: [2, 0.6] }),
    passage("wordy", { vector: [3, 0.2] }),
  ];

  test("BM25 alone ranks by BM25 score and leaves out passages without a matching term", () => {
    expect(baselineRankings(answers({ fast, precise }))["BM25 alone"]).toEqual(["wordy", "both", "near"]);
  });
  test("vectors alone is the ranking of fast", () => {
    expect(baselineRankings(answers({ fast, precise }))["vectors alone"]).toEqual(["near", "both", "wordy"]);
  });
  test("equal RRF adds 1 / (60 + rank) of both legs", () => {
    // `near` and `wordy` have 1/61 + 1/63, slightly more than `both` with 2/62. Of the equal two, the one that was
    // returned first comes first. `wordless` is in one ranking only: 1/64.
    expect(baselineRankings(answers({ fast, precise }))["equal RRF"]).toEqual(["near", "wordy", "both", "wordless"]);
  });
  test("a document has the rank of its best passage, once", () => {
    const parts = [
      passage("a1", { text: [3, 0.2], document: "a" }),
      passage("b1", { text: [2, 0.4], document: "b" }),
      passage("a2", { text: [1, 0.6], document: "a" }),
    ];
    expect(baselineRankings(answers({ precise: parts }))["BM25 alone"]).toEqual(["a", "b"]);
  });
  test("results of the second search are ranked by score, not by their rank in that search", () => {
    const further = [passage("late", { vector: [1, 0.05], text: [1, 0.6] })];
    const rankings = baselineRankings(answers({ fast, precise, further }));
    expect(rankings["BM25 alone"]).toEqual(["wordy", "late", "both", "near"]);
    expect(rankings["vectors alone"]).toEqual(["near", "both", "wordy"]);
  });
  test("no results give empty rankings", () => {
    expect(baselineRankings(answers({}))).toEqual({ "BM25 alone": [], "vectors alone": [], "equal RRF": [] });
  });
});

describe("missing BM25 passages", () => {
  const ranked = (...ranks: number[]) => ranks.map((rank) => passage(`r${rank}`, { text: [rank, 1 / rank] }));

  test("are those of the ten best that were not returned", () => {
    expect(missingByText({ precise: ranked(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), poolSize: 400, further: [] })).toBe(0);
    expect(missingByText({ precise: ranked(1, 2, 3, 5, 6, 8, 9, 10, 11), poolSize: 400, further: [] })).toBe(2);
    expect(missingByText({ precise: ranked(11, 12), poolSize: 400, further: [] })).toBe(10);
  });
  test("do not count beyond the candidates, nor beyond the last passage with a matching term", () => {
    expect(missingByText({ precise: ranked(1, 2, 3), poolSize: 3, further: [] })).toBe(0);
    const precise = [...ranked(1, 2), passage("wordless", { text: [4, 0] })];
    expect(missingByText({ precise, poolSize: 400, further: [] })).toBe(1);
  });
  test("are fewer after the second search, of which only passages with high enough scores count", () => {
    const precise = ranked(1, 2, 3, 5, 6, 8, 9, 10, 11);
    const further = [passage("fourth", { text: [1, 1 / 4] }), passage("thirtieth", { text: [2, 1 / 30] })];
    expect(missingByText({ precise, poolSize: 400, further })).toBe(1);
  });
});
