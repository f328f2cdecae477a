// Which notes a newer one has replaced, as answers to a question: by words alone, and by vectors.

import { describe, expect, test } from "bun:test";
import type { MemoryKey } from "../../src/domain/ids.ts";
import { REPLACEMENT_SIGNS, type ReplacementTuning, type SignSlopes } from "../../src/domain/retrieval-tuning.ts";
import { type ComparedNote, readQuestion, replacedAmong } from "../../src/retrieval/replaced.ts";

type Noted = readonly [text: string, day: string, changes?: Partial<ComparedNote>];

function notes(rows: readonly Noted[]): readonly ComparedNote[] {
  return rows.map(([text, day, changes = {}], at) => {
    const occurredAt = Date.parse(day);
    const dated = { key: BigInt(at + 1) as MemoryKey, occurredAt, occurredAtGiven: day, createdAt: occurredAt };
    return { text, language: "en", owner: "ada", dated, rank: at + 1, cosine: null, vector: null, ...changes };
  });
}

const replaced = (question: string, rows: readonly Noted[], tuning: ReplacementTuning | null = null) =>
  among(question, notes(rows), tuning);

function among(text: string, found: readonly (ComparedNote | null)[], tuning: ReplacementTuning | null) {
  const question = readQuestion({ text, language: "en" });
  return question === null ? [] : replacedAmong(question, found, tuning);
}

const QUESTION = "what dose of ramipril am I on now";
const OLD: Noted = ["Ramipril 5 mg at breakfast.", "2020-01-01"];
const NEW: Noted = ["They doubled my dose of ramipril to 10 mg now.", "2024-01-01"];

describe("by words alone", () => {
  test("the older note is replaced, wherever both stand", () => {
    expect(replaced(QUESTION, [OLD, NEW])).toEqual([{ older: 0, newer: 1 }]);
    expect(replaced(QUESTION, [NEW, OLD])).toEqual([{ older: 1, newer: 0 }]);
  });

  test("a fact that was corrected three times has its newest note; rows of a list all hold", () => {
    const doses = (count: number): Noted[] =>
      Array.from({ length: count }, (_, at) => [
        `My dose of ramipril is ${at + 5} mg now.`,
        `20${at + 10}-01-01`,
        { rank: 1 },
      ]);
    expect(replaced(QUESTION, doses(4)).map(({ older }) => older)).toEqual([0, 1, 2]);
    expect(replaced(QUESTION, doses(5))).toEqual([]);
  });

  test("of notes of one moment, the one that was accepted later is newer", () => {
    const now = { createdAt: 5, occurredAt: null, occurredAtGiven: null };
    const at = (key: bigint) => ({ dated: { ...now, key: key as MemoryKey } });
    const orders = [
      [1n, 2n],
      [2n, 1n],
    ] as const;
    for (const [first, second] of orders) {
      const rows: Noted[] = [
        ["My dose of ramipril is 5 mg now.", OLD[1], at(first)],
        ["My dose of ramipril is 10 mg now.", NEW[1], at(second)],
      ];
      const [older, newer] = first < second ? [0, 1] : [1, 0];
      expect(replaced(QUESTION, rows)).toEqual([{ older, newer }]);
    }
  });

  test.each<[string, Noted, Noted, string?]>([
    ["a note of another owner", OLD, [NEW[0], NEW[1], { owner: "ben" }]],
    ["a note that is far from the question", OLD, [NEW[0], NEW[1], { rank: 11 }]],
    ["an older note that follows", [NEW[0], NEW[1]], [OLD[0], "2025-01-01"]],
    [
      "a note about another one",
      ["The dose of ramipril of Ada is 5 mg.", "2020-01-01"],
      ["The dose of ramipril of Ben is 10 mg now.", "2024-01-01"],
      "what is the dose of ramipril of Ada now",
    ],
    ["any note, if the question has no words", OLD, NEW, "💊"],
    [
      "a note that does not say what the question states",
      ["keeperb looks after a lighthouse.", "2020-01-01"],
      ["keeperh looks after a lighthouse.", "2024-01-01"],
      "keeperb looks after a lighthouse.",
    ],
    [
      "a note that alone says what the question states, in the past tense",
      ["The barrel marked b63zq stands in the attic, shelf 1.", "2020-01-01"],
      ["The barrel marked l1v7pq stands in the barn, shelf 11.", "2024-01-01"],
      "The barrel marked l1v7pq stands in the barn, shelf 11.",
    ],
    [
      "another row of a list",
      ["Bus 7 to Lund leaves at 8:15.", "2020-01-01"],
      ["Bus 9 to Lund leaves at 9:15.", "2024-01-01"],
      "when does the bus to Lund leave",
    ],
    [
      "another row of a list, where both say a change",
      ["The creche raised its fee to 290 euros now.", "2020-01-01"],
      ["The judo club raised its fee to 42 euros now.", "2024-01-01"],
      "how high is the fee now",
    ],
    [
      "one occasion of what happens every week",
      ["Pilates is on Mondays at the chapel hall.", "2020-01-01"],
      ["This Monday Pilates was moved to the school hall.", "2024-01-01"],
      "where is pilates on Mondays",
    ],
    [
      "what another relative has changed",
      ["Mein Vater fährt einen Saab.", "2020-01-01"],
      ["Meine Mutter hat den Saab verkauft und fährt jetzt einen Kia.", "2024-01-01"],
      "Welches Auto fährt mein Vater?",
    ],
    ["any note, if the question is a name alone", OLD, NEW, "Ramipril"],
  ])("%s replaces nothing", (_, older, newer, question = QUESTION) => {
    expect(replaced(question, [older, newer])).toEqual([]);
  });

  test.each([
    ["a number", "The bus to Lund leaves at 8:15.", "The bus to Lund leaves at 9:40."],
    ["two numbers", "Bus 7 to Lund leaves at 8:15.", "Bus 9 to Lund leaves at 9:15 now."],
    ["a day and an hour", "The bus to Lund leaves on Monday at 8:15.", "The bus to Lund leaves on Friday at 9:15."],
  ])("a note that corrects %s replaces the older one", (_, older, newer) => {
    const rows: readonly Noted[] = [
      [older, "2020-01-01"],
      [newer, "2024-01-01"],
    ];
    expect(replaced("when does the bus to Lund leave", rows)).toEqual([{ older: 0, newer: 1 }]);
  });

  test("no notes, one note, and passages that are no notes replace nothing", () => {
    expect(replaced(QUESTION, [])).toEqual([]);
    expect(replaced(QUESTION, [OLD])).toEqual([]);
    expect(among(QUESTION, [null, ...notes([OLD]), null], null)).toEqual([]);
  });
});

describe("by vectors", () => {
  const slopes = Object.fromEntries(
    [
      ...["olderCosine", "newerCosine", "newerRank", "sharedWords", "sharedShare", "changesInNewer", "changesInOlder"],
      ...["asksNow", "newerLength", "lackingNames"],
    ].map((name) => [name, 0]),
  ) as SignSlopes["slopes"];
  // the first axis says that something has changed, the second one that something happened
  const tuning: ReplacementTuning = {
    changeProbe: { weights: Float32Array.of(4, 0, 0), bias: -1 },
    eventProbe: { weights: Float32Array.of(0, 4, 0), bias: 0 },
    replacedProbe: null,
    weights: { slopes: { ...slopes, pairCosine: 1, saysChange: 1, isEvent: -1, isReplaced: 0, bias: 0 } },
    cosineGapMax: 0.1,
  };
  const by = (older: readonly number[], newer: readonly number[]) =>
    replaced(
      "Where do I work?",
      [
        ["Started at the print shop.", "2020-01-01", { cosine: 0.8, vector: Float32Array.from(older) }],
        ["Quit. With Harbour Signage now.", "2024-01-01", { cosine: 0.8, vector: Float32Array.from(newer) }],
      ],
      tuning,
    );

  test("a note that says that something has changed replaces another one", () => {
    expect(by([0, 0, 1], [1, 0, 0])).toEqual([{ older: 0, newer: 1 }]);
    expect(by([0, 0, 1], [0, 0, -1])).toEqual([]);
  });

  test("a network weighs the signs, also of the difference of both notes", () => {
    const [at, none] = [REPLACEMENT_SIGNS.indexOf("isReplaced"), REPLACEMENT_SIGNS.map(() => 0)];
    // with the bias of -1 below, replaced if the third value rises by more than 0.625
    const unit = { weights: none.with(at, 4), bias: -2, output: 2 };
    const byNetwork = (older: number, newer: number) =>
      replaced(
        "Where do I work?",
        [
          ["Started at the print shop.", "2020-01-01", { cosine: 0.8, vector: Float32Array.of(1, 0, older) }],
          ["Quit. With Harbour Signage now.", "2024-01-01", { cosine: 0.8, vector: Float32Array.of(1, 0, newer) }],
        ],
        {
          ...tuning,
          replacedProbe: { weights: Float32Array.of(0, 0, 1), bias: 0 },
          weights: { units: [unit, { ...unit, output: 0 }], bias: -1 },
        },
      );
    expect(byNetwork(-0.2, 0.6)).toEqual([{ older: 0, newer: 1 }]);
    expect(byNetwork(0.2, 0.6)).toEqual([]);
    expect(byNetwork(0.6, -0.2)).toEqual([]);
  });

  test("an event stays true", () => {
    expect(by([0, 1, 0], [1, 0, 0])).toEqual([]);
  });

  test("what happened is replaced only by what clearly says that something has changed", () => {
    const found = (saysChange: number) =>
      replaced(
        "Which car do we drive?",
        [
          ["Bought a Berlingo.", "2020-01-01", { cosine: 0.8, vector: Float32Array.of(0, 0.2, 1) }],
          ["Filled up a Caddy.", "2024-01-01", { cosine: 0.8, vector: Float32Array.of(saysChange, 0.2, 1) }],
        ],
        tuning,
      );
    expect(found(0.3)).toEqual([]);
    expect(found(0.6)).toEqual([{ older: 0, newer: 1 }]);
  });

  test("a note that does not answer stays, and makes no list of what is corrected", () => {
    const [vector, other] = [Float32Array.of(0, 0, 1), Float32Array.of(1, 0, 0)];
    const found = (cosine: number) =>
      replaced(
        "Where do I work?",
        [
          ["Started at the print shop.", "2020-01-01", { cosine: 0.8, vector }],
          ...["Grandma lives in Bremen.", "The dog is seven.", "Rent is due on Friday.", "Ida likes figs."].map(
            (text): Noted => [text, "2020-01-01", { cosine, vector: Float32Array.of(0, 0.1, 1) }],
          ),
          ["Quit. With Harbour Signage now.", "2024-01-01", { cosine: 0.85, vector: other }],
        ],
        tuning,
      );
    expect(found(0.7)).toEqual([{ older: 0, newer: 5 }]);
    expect(found(0.8)).toContainEqual({ older: 0, newer: 5 });
  });

  test("of several newer notes, the most probable one replaces it", () => {
    const row = (text: string, day: string, vector: readonly number[]): Noted => [
      text,
      day,
      { cosine: 0.8, vector: Float32Array.from(vector) },
    ];
    const found = replaced(
      "Where do I work?",
      [
        row("Started at the print shop.", "2020-01-01", [0, 0, 1]),
        row("Left for Corvin Glass.", "2022-01-01", [0.8, 0, 0.1]),
        row("Left for Harbour Signage.", "2024-01-01", [1, 0, 0.2]),
      ],
      tuning,
    );
    expect(found.find(({ older }) => older === 0)).toEqual({ older: 0, newer: 2 });
  });

  test("a note without a vector is compared by its words", () => {
    const [older, newer] = [OLD, [NEW[0], NEW[1], { vector: Float32Array.of(1, 0, 0), cosine: 0.9 }] as const];
    expect(replaced(QUESTION, [older, newer], tuning)).toEqual([{ older: 0, newer: 1 }]);
  });
});
