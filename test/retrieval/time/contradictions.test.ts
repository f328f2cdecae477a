// Contradicting memories: what is recognised as a contradiction, what is only similar, and the order that follows.

import { describe, expect, test } from "bun:test";
import { contradictions, reordered, type Statement } from "../../../src/retrieval/time/contradictions.ts";
import { askedTense } from "../../../src/retrieval/time/tense.ts";

const at = (day: string) => Date.parse(day);

/** Candidates in their order, with falling scores; a row is a day and a text. */
function statements(language: string, rows: readonly (readonly [day: string, text: string])[]): Statement[] {
  return rows.map(([day, text], place) => ({ text, language, happenedAt: at(day), score: 0.9 - place * 0.02 }));
}

const OTHERS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  en: [
    ["2022-03-01", "Dentist says floss more."],
    ["2021-03-01", "Allergic to walnuts since childhood."],
    ["2023-07-01", "The wifi cabin password is on the fridge."],
  ],
  de: [
    ["2022-03-01", "Der Zahnarzt rät zu Zahnseide."],
    ["2021-03-01", "Allergisch gegen Walnüsse."],
    ["2023-07-01", "Der Reifendruck vom Rad ist 4 bar."],
  ],
  es: [
    ["2022-03-01", "El dentista pide usar hilo dental."],
    ["2021-03-01", "Alergia a las nueces desde niño."],
    ["2023-07-01", "El perro come dos veces al día."],
  ],
  zh: [
    ["2022-03-01", "牙医说要用牙线。"],
    ["2021-03-01", "对核桃过敏。"],
    ["2023-07-01", "自行车胎压4巴。"],
  ],
};

const UPDATES: readonly (readonly [language: string, question: string, older: string, newer: string])[] = [
  [
    "en",
    "which evening is the dancing on",
    "Tuesday nights is set dancing in the hall.",
    "Set dancing is changed to Thursdays.",
  ],
  ["en", "what car do I drive", "Drives a silver Honda Accord.", "The Accord was exchanged for a grey Toyota Corolla."],
  ["en", "what dose of ramipril am I on now", "Ramipril 5 mg at breakfast.", "They doubled my ramipril to 10 mg."],
  [
    "de",
    "welchen Blutverdünner nehme ich zurzeit",
    "Marcoumar nach INR.",
    "Statt Marcoumar bekomme ich jetzt Eliquis.",
  ],
  [
    "es",
    "¿cuánta metformina tomo ahora?",
    "Metformina de 850 dos veces al día.",
    "Metformina reducida a una pastilla de 500.",
  ],
  ["zh", "我现在住在哪里?", "我住在杭州西湖区。", "我搬到杭州滨江区了,不再住西湖区。"],
];

describe("a question about the present", () => {
  for (const [language, question, older, newer] of UPDATES) {
    test(`recognises the newer memory (${language}): ${newer}`, () => {
      const tense = askedTense(question, language);
      expect(tense).toBe("present");
      const rows = [["2020-01-01", older], ["2024-01-01", newer], ...(OTHERS[language] ?? [])] as const;
      expect(contradictions({ text: question, language, tense }, statements(language, rows))).toEqual([
        { upper: 0, lower: 1 },
      ]);
    });

    test(`leaves the order alone if the newer memory is first (${language}): ${newer}`, () => {
      const rows = [["2024-01-01", newer], ["2020-01-01", older], ...(OTHERS[language] ?? [])] as const;
      const found = contradictions({ text: question, language, tense: "present" }, statements(language, rows));
      expect(found.filter(({ lower }) => lower === 1)).toEqual([]);
    });

    test(`and one about the past recognises the older one (${language}): ${older}`, () => {
      const rows = [["2024-01-01", newer], ["2020-01-01", older], ...(OTHERS[language] ?? [])] as const;
      expect(contradictions({ text: question, language, tense: "past" }, statements(language, rows))).toEqual([
        { upper: 0, lower: 1 },
      ]);
    });
  }
});

describe("no contradiction", () => {
  const none = (question: string, ...rows: readonly (readonly [string, string])[]) =>
    contradictions({ text: question, language: "en", tense: "present" }, statements("en", rows));
  const others = OTHERS.en ?? [];

  test("in memories that are about different things", () => {
    const rows: readonly (readonly [string, string])[] = [
      ["2020-01-01", "Mum's birthday is on the 14th of March."],
      ["2024-01-01", "Bought a grey bicycle for 420 euros."],
    ];
    expect(none("when is mum's birthday", ...rows, ...others)).toEqual([]);
  });

  test("in the same attribute of somebody else, without a word of change", () => {
    const rows: readonly (readonly [string, string])[] = [
      ["2020-01-01", "Grandson Nils: born 4.2.2014, collects fossils"],
      ["2024-01-01", "Granddaughter Maja, born 27.10.2017, wants to know all about whales"],
    ];
    expect(none("when was Nils born", ...rows, ...others)).toEqual([]);
  });

  test("in memories of the same day, however alike", () => {
    const day = (time: string) => `2024-01-01T${time}:00Z`;
    expect(
      none("what car do I drive", [day("00:00"), "I drive a Honda."], [day("23:59"), "I now drive a Toyota."]),
    ).toEqual([]);
  });

  test("among fewer than two statements, or none that can be compared", () => {
    const asked = { text: "where do I live now", language: "en", tense: "present" } as const;
    expect(contradictions(asked, [])).toEqual([]);
    expect(contradictions(asked, [null, null])).toEqual([]);
    expect(contradictions(asked, statements("en", [["2020-01-01", "I live in Rome."]]))).toEqual([]);
  });

  test("in texts without words", () => {
    expect(none("🚲", ["2020-01-01", "🚲"], ["2024-01-01", "🚗"])).toEqual([]);
    expect(none("", ["2020-01-01", ""], ["2024-01-01", ""])).toEqual([]);
  });

  test("behind the tenth candidate", () => {
    const filler = Array.from({ length: 9 }, (_, n) => ["2019-01-01", `Shelf ${n} holds jam.`] as const);
    const older = ["2020-01-01", "Ramipril 5 mg at breakfast."] as const;
    const newer = ["2024-01-01", "They doubled my ramipril to 10 mg now."] as const;
    expect(none("what dose of ramipril am I on now", older, ...filler, newer)).toEqual([]);
  });
});

test("each memory takes part in one contradiction at most", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["2020-01-01", "Ramipril 5 mg at breakfast."],
    ["2022-01-01", "Ramipril changed to 7 mg at breakfast."],
    ["2024-01-01", "Ramipril changed to 10 mg at breakfast now."],
    ...(OTHERS.en ?? []),
  ];
  const found = contradictions(
    { text: "what dose of ramipril am I on now", language: "en", tense: "present" },
    statements("en", rows),
  );
  const places = found.flatMap(({ upper, lower }) => [upper, lower]);
  expect(found.length).toBeGreaterThan(0);
  expect(new Set(places).size).toBe(places.length);
});

test("the lower memory takes the place of the upper one, which follows it", () => {
  expect(reordered(["a", "b", "c", "d"], [{ upper: 0, lower: 2 }])).toEqual(["c", "a", "b", "d"]);
  expect(
    reordered(
      ["a", "b", "c", "d"],
      [
        { upper: 0, lower: 2 },
        { upper: 1, lower: 3 },
      ],
    ),
  ).toEqual(["c", "a", "d", "b"]);
  expect(reordered(["a", "b"], [])).toEqual(["a", "b"]);
});

describe("the tense of a question", () => {
  const cases: readonly (readonly [language: string, question: string, tense: "present" | "past"])[] = [
    ["en", "where does she work", "present"],
    ["en", "what's my size", "present"],
    ["en", "how old is my son", "present"],
    ["en", "gate code?", "present"],
    ["en", "who was my GP before Adeyemi", "past"],
    ["en", "what did I use to drive", "past"],
    ["en", "which church did I go to back then, and now", "present"],
    ["de", "Wer ist mein Hausarzt?", "present"],
    ["de", "Bei welchem Arzt war ich früher?", "past"],
    ["de", "wo habe ich gewohnt", "past"],
    ["fr", "quelle est mon adresse ?", "present"],
    ["fr", "qu'étudiait Tanguy auparavant ?", "past"],
    ["es", "¿dónde trabajo?", "present"],
    ["es", "¿qué carro tenía antes?", "past"],
    ["pt", "Que igreja frequento atualmente?", "present"],
    ["pt", "Que celular eu tinha antes?", "past"],
    ["it", "dove abito adesso", "present"],
    ["it", "dove abitavo", "past"],
    ["nl", "Welk huisdier hebben we nu?", "present"],
    ["nl", "waar woonde ik vroeger", "past"],
    ["ru", "где я живу", "present"],
    ["ru", "Что я раньше принимала от мигрени?", "past"],
    ["zh", "我女儿现在住在哪个城市?", "present"],
    ["zh", "我以前在哪里工作", "past"],
    ["ja", "今使っている電話は何ですか？", "present"],
    ["ja", "以前どの楽器を習っていた？", "past"],
    ["ko", "지금 쓰는 전화는?", "present"],
    ["und", "", "present"],
  ];
  for (const [language, question, tense] of cases) {
    test(`${language}: ${question}`, () => expect(askedTense(question, language)).toBe(tense));
  }
});
