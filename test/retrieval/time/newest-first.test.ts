// The order of contradicting memories in a ranked list: which memories are compared, and what happens to their scores.

import { describe, expect, test } from "bun:test";
import type { ChunkKey, UserKey } from "../../../src/domain/ids.ts";
import type { Memory } from "../../../src/domain/memory.ts";
import type { Candidate, Hydrated } from "../../../src/retrieval/candidate.ts";
import { newestFirst } from "../../../src/retrieval/time/newest-first.ts";
import { resolveTime } from "../../../src/retrieval/time/resolve-time.ts";
import { passage } from "../../answer/passages.ts";

const OLD = "Ramipril 5 mg at breakfast.";
const NEW = "They doubled my ramipril to 10 mg.";
const QUESTION = "what dose of ramipril am I on now";

type Row = readonly [text: string, occurredAt: string, changes?: Partial<Memory>, isTurn?: boolean];

/** Ranked candidates with falling scores. */
function ranked(rows: readonly Row[]) {
  const hydrated = new Map<bigint, Hydrated>();
  const candidates = rows.map(([text, day, changes = {}, isTurn = false], place): Candidate => {
    const { memory, place: at } = passage(text);
    const chunkKey = BigInt(memory.key) as ChunkKey;
    const turn = { session: 0, speaker: "Ada", date: null, labelUnits: 0 };
    hydrated.set(chunkKey, {
      memory: { ...memory, language: "en", occurredAt: Date.parse(day), ...changes },
      passage: { text, place: isTurn ? { ...at, turn } : at } as Hydrated["passage"],
    });
    const score = 0.9 - place * 0.02;
    return { chunkKey, memoryKey: memory.key, signals: {}, hybridScore: score, finalScore: score };
  });
  return { candidates, hydrated };
}

const OTHERS: readonly Row[] = [
  ["Dentist says floss more.", "2022-03-01"],
  ["Allergic to walnuts since childhood.", "2021-03-01"],
];

function orderOf(rows: readonly Row[], question = QUESTION): readonly (string | undefined)[] {
  const { candidates, hydrated } = ranked(rows);
  const time = resolveTime(question, Date.parse("2026-11-23"), "en");
  const order = newestFirst({ text: question, language: "en", time }, candidates, hydrated);
  return order.map(({ chunkKey }) => hydrated.get(chunkKey)?.passage.text);
}

test("the newer memory takes the place and the score of the older one, which is marked as superseded", () => {
  const { candidates, hydrated } = ranked([[OLD, "2020-01-01"], OTHERS[0] ?? [OLD, ""], [NEW, "2024-01-01"]]);
  const [older, between, newer] = candidates;
  const order = newestFirst({ text: QUESTION, language: "en", time: null }, candidates, hydrated);
  expect(order.map(({ chunkKey }) => chunkKey)).toEqual(
    [newer, older, between].map((each) => each?.chunkKey ?? (0n as never)),
  );
  expect(order.map(({ finalScore }) => finalScore)).toEqual([0.9, 0.9, 0.88]);
  expect(order.map(({ supersededBy }) => supersededBy)).toEqual([undefined, newer?.chunkKey, undefined]);
});

test("a question about the past puts the older memory first, and the older one is still the superseded one", () => {
  const { candidates, hydrated } = ranked([[NEW, "2024-01-01"], [OLD, "2020-01-01"], ...OTHERS]);
  const question = { text: "what dose of ramipril was I on previously", language: "en", time: null };
  const order = newestFirst(question, candidates, hydrated);
  expect(order[0]?.chunkKey).toBe(candidates[1]?.chunkKey as never);
  expect(order[0]?.supersededBy).toBe(candidates[0]?.chunkKey as never);
  expect(order[0]?.finalScore).toBe(0.9);
});

test("the neighbour boost does not count as nearness", () => {
  const { candidates, hydrated } = ranked([[OLD, "2020-01-01"], [NEW, "2024-01-01"], ...OTHERS]);
  const boosted = candidates.map((candidate, place): Candidate => {
    return place === 1 ? { ...candidate, signals: { neighbours: { rank: 1, score: 0.85 } } } : candidate;
  });
  const first = (list: readonly Candidate[]) =>
    newestFirst({ text: QUESTION, language: "en", time: null }, list, hydrated)[0]?.chunkKey;
  expect(first(candidates)).toBe(candidates[1]?.chunkKey as never);
  expect(first(boosted)).toBe(candidates[0]?.chunkKey as never);
});

describe("the order stays", () => {
  const kept = (name: string, rows: readonly Row[], question?: string) =>
    test(name, () => expect(orderOf(rows, question)[0]).toBe(rows[0]?.[0]));

  kept("if the newer memory is first", [[NEW, "2024-01-01"], [OLD, "2020-01-01"], ...OTHERS]);
  kept("if both happened on the same day", [[OLD, "2024-01-01T01:00Z"], [NEW, "2024-01-01T23:00Z"], ...OTHERS]);
  kept("for memories of different users", [
    [OLD, "2020-01-01", { userKey: 1n as UserKey }],
    [NEW, "2024-01-01", { userKey: 2n as UserKey }],
    ...OTHERS,
  ]);
  kept("for turns of conversations", [[OLD, "2020-01-01", {}, true], [NEW, "2024-01-01", {}, true], ...OTHERS]);
  kept("for passages of longer memories", [
    [OLD, "2020-01-01", { state: { status: "completed", chunkCount: 2, extraction: "local" } }],
    [NEW, "2024-01-01", { state: { status: "completed", chunkCount: 2, extraction: "local" } }],
    ...OTHERS,
  ]);
  kept("for long passages", [[OLD.padEnd(401, " x"), "2020-01-01"], [NEW, "2024-01-01"], ...OTHERS]);
  kept("if the question names a time", [[OLD, "2020-01-01"], [NEW, "2024-01-01"], ...OTHERS], `${QUESTION} in 2020`);
  test("for no candidates", () => expect(orderOf([])).toEqual([]));
});

test("created_at counts where occurred_at was not given", () => {
  const rows: readonly Row[] = [
    [OLD, "2020-01-01", { occurredAt: null, createdAt: Date.parse("2020-01-01") }],
    [NEW, "2020-01-01", { occurredAt: null, createdAt: Date.parse("2024-01-01") }],
    ...OTHERS,
  ];
  expect(orderOf(rows)[0]).toBe(NEW);
});
