// An answer in the words of passages says what holds now, not also what was before.

import { describe, expect, test } from "bun:test";
import { withoutOtherTimes, withoutReplaced } from "../../src/answer/replaced.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { currentPassagesFirst } from "../../src/retrieval/current-first.ts";
import { passage } from "./passages.ts";

interface Noted {
  readonly text: string;
  readonly day: string;
  readonly language?: string;
  readonly memory?: Partial<RankedPassage["memory"]>;
  readonly place?: Partial<RankedPassage["place"]>;
}

/** A passage of a note, as the best of its search if it is the first one. */
function note({ text, day, language = "en", memory = {}, place = {} }: Noted, rank: number): RankedPassage {
  const plain = passage(text, rank === 0 ? 0.9 : 0.6);
  return {
    ...plain,
    memory: { ...plain.memory, language, occurredAt: Date.parse(day), ...memory },
    place: { ...plain.place, ...place },
  };
}

function shown(question: string, language: string, notes: readonly Noted[]): readonly string[] {
  return withoutReplaced({ text: question, language }, notes.map(note)).map(({ text }) => text);
}

const COURIERS: readonly Noted[] = [
  { text: "Peachtree Couriers is up to 22 bikes now, same-day service on flats.", day: "2026-05-02" },
  { text: "Big customer: Peachtree Couriers, 14 bikes, contact Lakeisha.", day: "2025-02-11" },
];
const QUESTION = "How many bikes do Peachtree Couriers have with us?";

describe("what a newer note has replaced", () => {
  test.each([
    ["en", QUESTION, ...COURIERS.map(({ text }) => text)],
    [
      "it",
      "Quanto è la rata del mutuo?",
      "Rinegoziato il mutuo: rata ora 791",
      "Mutuo casa, variabile, rata di maggio 734",
    ],
    [
      "de",
      "Wie hoch ist die Miete der Halle?",
      "Miete der Halle auf 930 Euro erhöht.",
      "Die Halle in Findorff: Miete 870 Euro warm",
    ],
    [
      "fr",
      "Quel est le tarif par page ?",
      "Nouveau tarif : 110 dh la page",
      "Tarif : traduction 90 dh la page, urgente 140",
    ],
    ["zh", "房贷月供是多少?", "存量房贷利率调整,现在4.3%,月供8512", "房贷:宁波银行,利率5.15%,月供9327"],
  ])("is left out of an answer (%s)", (language, question, newer, older) => {
    const notes = [
      { text: newer, day: "2026-05-02", language },
      { text: older, day: "2025-02-11", language },
    ];
    expect(shown(question, language, notes)).toEqual([newer]);
  });

  test("stands first for a question about the past", () => {
    const [newer, older] = COURIERS.map(({ text }) => text);
    expect(shown("How many bikes did Peachtree Couriers have before?", "en", COURIERS)).toEqual([
      `${older}`,
      `${newer}`,
    ]);
  });

  test.each([
    ["en", "Where was the workshop before?", "Where is the workshop?", "What is done in the workshop before the sale?"],
    ["de", "Wo war die Werkstatt vorher?", "Wo ist die Werkstatt?", "Was tun wir in der Werkstatt vor dem Verkauf?"],
    ["fr", "Où était l'atelier auparavant ?", "Où est l'atelier ?", "Que faire à l'atelier avant la vente ?"],
    ["es", "¿Dónde estaba antes el taller?", "¿Dónde está el taller?", "¿Qué hacer en el taller antes de la venta?"],
    ["it", "Dov'era prima l'officina?", "Dov'è l'officina?", "Che fare in officina prima della vendita?"],
    ["pt", "Onde ficava a oficina antes?", "Onde fica a oficina?", "O que fazer na oficina antes da venda?"],
    ["nl", "Waar was de werkplaats eerder?", "Waar is de werkplaats?", "Wat doen we in de werkplaats voor de verkoop?"],
    ["ru", "Где раньше была мастерская?", "Где мастерская?", "Что делать в мастерской?"],
    ["ja", "以前の工房はどこでしたか", "工房はどこですか", "工房で何をしますか"],
    ["zh", "工作室以前在哪里？", "工作室在哪里？", "工作室做什么？"],
    ["ko", "작업실은 예전에 어디였나요?", "작업실은 어디예요?", "작업실에서 뭐 해요?"],
    ["id", "Di mana bengkel itu sebelumnya?", "Di mana bengkel itu?", "Apa yang dikerjakan di bengkel?"],
  ])(
    "and superseded stands first for a question for the earlier state, and only then (%s)",
    (language, before, now, other) => {
      const [current, outdated] = COURIERS.map(note).map((each, at) => ({
        ...each,
        memory: { ...each.memory, id: `mem_${at}` as RankedPassage["memory"]["id"] },
        supersededBy: at === 0 ? null : ("mem_0" as RankedPassage["memory"]["id"]),
      }));
      if (current === undefined || outdated === undefined) throw new Error("two notes");
      const order = (text: string, passages: readonly RankedPassage[]) =>
        currentPassagesFirst({ text, language }, passages).map(({ memory }) => memory.id);
      for (const passages of [
        [current, outdated],
        [outdated, current],
      ]) {
        expect(order(before, passages)).toEqual([outdated.memory.id, current.memory.id]);
        for (const text of [now, other]) {
          if (passages[0] === current) expect(order(text, passages)[0]).toBe(current.memory.id);
        }
        expect(order(now, passages)).toEqual([current.memory.id, outdated.memory.id]);
      }
    },
  );

  test("is not a newer note that is ranked below", () => {
    expect(shown(QUESTION, "en", COURIERS.toReversed())).toHaveLength(2);
  });

  test.each([
    ["of another user", { memory: { userKey: 7n as RankedPassage["memory"]["userKey"] } }],
    ["of another agent", { memory: { agentId: "other" as RankedPassage["memory"]["agentId"] } }],
    ["a turn of a conversation", { place: { turn: { role: "user", speaker: "Ada", date: null, labelUnits: 0 } } }],
    ["of the same moment", { day: COURIERS[0]?.day ?? "" }],
    ["long", { text: `${COURIERS[1]?.text} ${"They come on Mondays. ".repeat(30)}` }],
  ])("is not a note %s", (_, change) => {
    const [newer, older] = COURIERS;
    if (newer === undefined || older === undefined) throw new Error("two notes");
    expect(shown(QUESTION, "en", [newer, { ...older, ...(change as Partial<Noted>) }])).toHaveLength(2);
  });

  test("is not the second half of an answer", () => {
    const notes = [
      { text: "Hedda is back in Weserblick, now room 8 of the care wing.", day: "2026-05-02" },
      { text: "Birthdays: Mum 14 February, Hedda 30 September, twins 6 March.", day: "2025-02-11" },
    ];
    expect(shown("When is the birthday of the woman in Weserblick?", "en", notes)).toHaveLength(2);
  });

  test("is not about the other one of two things that the question lists", () => {
    const notes = [
      { text: "Lamp L-45 needs a GU10 bulb.", day: "2026-05-03" },
      { text: "Lamp L-20 needs an E14 bulb.", day: "2026-05-02" },
    ];
    expect(shown("Which bulbs do lamps L-20 and L-45 need?", "en", notes)).toHaveLength(2);
  });

  test("is not about another number or name of the question", () => {
    const notes = [
      { text: "The code of cabin 4 was changed to 7711.", day: "2026-05-02" },
      { text: "The code of cabin 9 is 3904.", day: "2025-02-11" },
    ];
    expect(shown("What is the code of cabin 9?", "en", notes)).toHaveLength(2);
  });
});

describe("for a question that names a time, an answer leaves out", () => {
  const LUNCHES: readonly Noted[] = [
    { text: "Lunch with Ben at Golden Wok.", day: "2026-09-14" },
    { text: "Lunch with Ben at Taco Loco.", day: "2026-10-20" },
    { text: "Ben is allergic to shellfish and nuts.", day: "2026-03-01" },
  ];
  const of = (from: string | null, to: string | null, text = "Where did I have lunch with Ben?") => {
    const at = (day: string | null) => (day === null ? null : Date.parse(day));
    return withoutOtherTimes({ text, language: "en" }, { from: at(from), to: at(to) }, LUNCHES.map(note)).map(
      ({ text }) => text,
    );
  };

  test("what is alike but of another time, and nothing else", () => {
    expect(of("2026-09-01", "2026-10-01")).toEqual([
      "Lunch with Ben at Golden Wok.",
      "Ben is allergic to shellfish and nuts.",
    ]);
    expect(of("2026-09-15", null)).toEqual(["Lunch with Ben at Taco Loco.", "Ben is allergic to shellfish and nuts."]);
  });

  test("nothing where nothing is of that time, or all is", () => {
    expect(of("2026-06-01", "2026-07-01")).toHaveLength(3);
    expect(of(null, "2026-12-01")).toHaveLength(3);
  });

  test("nothing for a question about the present, too, or about what has changed", () => {
    expect(of("2026-09-01", "2026-10-01", "Where did I have lunch with Ben in September, and where now?")).toHaveLength(
      3,
    );
    expect(of("2026-09-01", null, "What has changed since September?")).toHaveLength(3);
  });

  test("nothing at the edges of the time: its end is exclusive", () => {
    expect(of("2026-09-14", "2026-10-20")).toHaveLength(2);
    expect(of("2026-09-14", "2026-10-21")).toHaveLength(3);
  });
});
