// Which turns of a conversation are preferred: those of the speaker whom the question names, statements, and replies.

import { describe, expect, test } from "bun:test";
import type { ChunkKey, MemoryKey } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import type { Candidate, Hydrated } from "../../src/retrieval/candidate.ts";
import { comparedTurns, namedSpeaker, preferTurns, questionShare } from "../../src/retrieval/prefer-turns.ts";

/** A passage: `speaker: text` of a turn, or a text without a speaker. */
interface Said {
  readonly speaker?: string | null;
  readonly text: string;
  readonly score: number;
  readonly memory?: bigint;
  readonly session?: number;
  /** Default: the position in the list. */
  readonly ordinal?: number;
}

function passages(list: readonly Said[]): { candidates: Candidate[]; hydrated: Map<bigint, Hydrated> } {
  const hydrated = new Map<bigint, Hydrated>();
  const candidates = list.map(({ speaker, text, score, memory = 1n, session = 0, ordinal }, at) => {
    const chunkKey = BigInt(at + 1) as ChunkKey;
    const label = speaker == null ? "" : `${speaker}: `;
    const turn = speaker === undefined ? {} : { turn: { session, speaker, date: null, labelUnits: label.length } };
    const place = { ordinal: ordinal ?? at, start: 0, end: 1, headings: [], ...turn };
    hydrated.set(chunkKey, { memory: {} as Memory, passage: { chunkKey, text: label + text, place } });
    return { chunkKey, memoryKey: memory as MemoryKey, signals: {}, hybridScore: score, finalScore: score };
  });
  return { candidates, hydrated };
}

/** The texts in the order of preference, with their scores. */
function preferred(
  query: string,
  list: readonly Said[],
  { language = "en", usesNames = true } = {},
): readonly [string, number][] {
  const { candidates, hydrated } = passages(list);
  return preferTurns({ query, language, usesNames }, candidates, hydrated).map(
    ({ chunkKey, hybridScore, finalScore }) => {
      expect(finalScore).toBe(hybridScore);
      return [list[Number(chunkKey) - 1]?.text ?? "", hybridScore];
    },
  );
}
const order = (query: string, list: readonly Said[]) => preferred(query, list).map(([text]) => text);

describe("a question that names a speaker", () => {
  const list: readonly Said[] = [
    { speaker: "Ben", text: "My sister loves the coast.", score: 1 },
    { speaker: "Ada", text: "I love the coast.", score: 0.9, ordinal: 7 },
    { speaker: "Ben", text: "The weather was bad.", score: 0 },
  ];
  test("prefers the turns of this speaker, within the distance of the scores", () => {
    expect(order("What does Ada love?", list)).toEqual([1, 0, 2].map((at) => list[at]?.text ?? ""));
    expect(preferred("What does Ada love?", list)).toEqual([
      ["I love the coast.", 0.9],
      ["My sister loves the coast.", expect.closeTo(0.7)],
      ["The weather was bad.", expect.closeTo(-0.3)],
    ]);
  });
  test("changes nothing if it names no speaker, or a speaker of no candidate", () => {
    for (const query of ["Who loves the coast?", "What does Cleo love?", "What is an adage?"]) {
      expect(preferred(query, list).map(([, score]) => score)).toEqual([1, 0.9, 0]);
    }
  });
  test("does not change passages that are no turns", () => {
    const mixed = list.toSpliced(1, 0, { text: "Ada loves the coast, says a note.", score: 0.95 });
    expect(preferred("What does Ada love?", mixed)[0]).toEqual(["Ada loves the coast, says a note.", 0.95]);
  });

  const named: readonly (readonly [query: string, speakers: readonly string[], expected: string | null])[] = [
    ["What did Ada tell Ben?", ["Ben", "Ada"], "Ada"],
    ["What did Ben hear from Ada?", ["Ben", "Ada"], "Ben"],
    ["what does ada want", ["Ada"], "Ada"],
    ["Is it Ada's?", ["Ada"], "Ada"],
    ["What does Ada want?", ["Ada Lovelace", "Ben"], "Ada Lovelace"],
    ["What does Ada Byron want?", ["Ada Lovelace", "Ada Byron"], "Ada Byron"],
    ["Canada?", ["Ada"], null],
    ["Что хочет Анна?", ["Анна"], "Анна"],
    ["田中さんは何が好きですか", ["田中", "山本"], "田中"],
    ["What costs $5 (a+b)?", ["(a+b)", ""], "(a+b)"],
    ["", ["Ada"], null],
    ["Ada?", [], null],
  ];
  for (const [query, speakers, expected] of named) {
    test(`${JSON.stringify(query)} names ${expected ?? "nobody"} of ${speakers.join(", ")}`, () => {
      expect(namedSpeaker(query, new Set(speakers))).toBe(expected);
    });
  }
});

describe("turns that ask", () => {
  test("lose in proportion to what is asked", () => {
    const list: readonly Said[] = [
      { speaker: "Ada", text: "Where do you live now?", score: 1, ordinal: 9 },
      { speaker: "Ben", text: "I live in Lund now.", score: 0.9, ordinal: 1 },
      { speaker: "Ben", text: "Nothing.", score: 0, ordinal: 5 },
    ];
    expect(preferred("Where is the flat?", list)).toEqual([
      ["I live in Lund now.", 0.9],
      ["Where do you live now?", expect.closeTo(0.6)],
      ["Nothing.", 0],
    ]);
  });

  const shares: readonly (readonly [text: string, share: number])[] = [
    ["Really?", 1],
    ["No.", 0],
    ["Yes! No?", 3 / 7],
    ["Did you? 😀", 0.8],
    ["真的吗？", 1],
    ["هل أنت هنا؟", 1],
    ["", 0],
    ["?!", 0],
    ["Where?! I saw!!", 0.5],
    ["no end", 0],
  ];
  for (const [text, share] of shares) {
    test(`${JSON.stringify(text)} asks ${share}`, () => expect(questionShare(text)).toBeCloseTo(share, 5));
  }
});

describe("a reply", () => {
  const asked: Said = { speaker: "Ada", text: "So where did you go on holiday?", score: 1, ordinal: 3 };
  const reply: Said = { speaker: "Ben", text: "To the lakes.", score: 0.2, ordinal: 4 };
  const last: Said = { speaker: "Ben", text: "Bye.", score: 0, ordinal: 9 };
  const scoreOfReply = (list: readonly Said[]) =>
    new Map(preferred("Where was the holiday?", list)).get(reply.text) ?? Number.NaN;

  test("gains half of its distance to the question before it", () => {
    expect(scoreOfReply([asked, reply, last])).toBeCloseTo(0.6);
  });
  test("gains nothing from a statement, from the same speaker, another session or memory, or a weaker question", () => {
    const others: readonly Said[] = [
      { ...asked, text: "I wonder where you went." },
      { ...asked, speaker: "Ben" },
      { ...asked, session: 1 },
      { ...asked, memory: 2n },
      { ...asked, ordinal: 2 },
      { ...asked, score: 0.1 },
    ];
    for (const other of others) expect(scoreOfReply([other, reply, last])).toBeCloseTo(0.2);
  });
});

describe("in a conversation with an assistant", () => {
  const told: Said = {
    speaker: "user",
    text: "My flat is in Lund. Can you find a plumber there?",
    score: 0.8,
    ordinal: 1,
  };
  const reply: Said = { speaker: "assistant", text: "A plumber for your flat in Lund is Holm.", score: 1, ordinal: 2 };
  const last: Said = { speaker: "user", text: "The roof is red.", score: 0, ordinal: 3 };
  const list = [reply, told, last];

  test("the assistant's turns lose the distance, and a request of the user loses nothing", () => {
    expect(preferred("Where is my flat?", list)).toEqual([
      [told.text, 0.8],
      [reply.text, 0],
      [last.text, 0],
    ]);
  });
  test("the user's turns lose it if the question asks for what the assistant said", () => {
    expect(preferred("Which plumber did you recommend?", list)).toEqual([
      [reply.text, 1],
      [told.text, expect.closeTo(-0.2)],
      [last.text, -1],
    ]);
  });
  test("turns that say nothing lose it, too", () => {
    const bare: Said = { speaker: "user", text: "ok, tell me more about the flat", score: 0.9, ordinal: 9 };
    expect(preferred("Where is my flat?", [reply, bare, told, last])).toEqual([
      [told.text, 0.8],
      [reply.text, 0],
      [last.text, 0],
      [bare.text, expect.closeTo(-0.1)],
    ]);
  });
  test("a role is not a name", () => {
    expect(preferred("Which plumber did the assistant recommend to the user?", list)).toEqual([
      [reply.text, 1],
      [told.text, expect.closeTo(-0.2)],
      [last.text, -1],
    ]);
  });
  test("also where turns of people with names do not change", () => {
    const people = { language: "en", usesNames: false };
    expect(preferred("Where is my flat?", list, people)[0]).toEqual([told.text, 0.8]);
    const named = list.map((said) => ({ ...said, speaker: said.speaker === "user" ? "Ada" : "Ben" }));
    expect(preferred("Where is Ada's flat?", named, people).map(([, score]) => score)).toEqual([1, 0.8, 0]);
  });
});

test("passages without turns, and no passages, stay as they are", () => {
  const { candidates, hydrated } = passages([{ text: "Is this a note?", score: 0.5 }]);
  expect(comparedTurns(hydrated)).toBe(0);
  const query = { query: "Ada?", language: "en", usesNames: true };
  expect(preferTurns(query, candidates, hydrated)).toBe(candidates);
  expect(preferTurns(query, [], new Map())).toEqual([]);
});
