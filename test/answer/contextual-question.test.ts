// Question rewriting without a language model: follow-up questions get the topics that they leave out, and
// self-contained questions stay unchanged.

import { describe, expect, test } from "bun:test";
import { contextualQuestion } from "../../src/answer/contextual-question.ts";
import { LIMITS } from "../../src/domain/limits.ts";

type Dialogue = readonly (readonly ["user" | "assistant", string])[];

const EN: Dialogue = [
  ["user", "Where does Ada Lovelace live?"],
  ["assistant", "Ada Lovelace lives in Berlin [1]."],
];
const CEO: Dialogue = [
  ["user", "Who leads the company?"],
  ["assistant", "The company is led by Grace Hopper [1]."],
];
const ACME: Dialogue = [
  ["user", "What was the revenue of Acme in 2018?"],
  ["assistant", "It was 3 million euros [1]."],
];
const LONGER: Dialogue = [...ACME, ["user", "And in 2019?"], ["assistant", "4 million [2]."]];
const DE: Dialogue = [
  ["user", "Wo wohnt Ada Lovelace?"],
  ["assistant", "Ada Lovelace wohnt in Berlin [1]."],
];
const FR: Dialogue = [
  ["user", "Où habite Camille Claudel ?"],
  ["assistant", "Camille Claudel habite à Paris [1]."],
];
const ES: Dialogue = [
  ["user", "¿Dónde trabaja Frida Kahlo?"],
  ["assistant", "Frida Kahlo trabaja en Coyoacán [1]."],
];
const RU: Dialogue = [
  ["user", "Где живёт Анна Ахматова?"],
  ["assistant", "Анна Ахматова живёт в Ленинграде [1]."],
];
const ZH: Dialogue = [
  ["user", "王小明住在哪里？"],
  ["assistant", "王小明住在北京 [1]。"],
];
const JA: Dialogue = [
  ["user", "田中さんはどこに住んでいますか？"],
  ["assistant", "田中さんは東京に住んでいます [1]。"],
];

const turns = (dialogue: Dialogue) => dialogue.map(([role, content]) => ({ role, content }));
const asked = (dialogue: Dialogue, question: string) => contextualQuestion(turns(dialogue), question);

describe("a follow-up question", () => {
  const dialogues: readonly (readonly [Dialogue, string, readonly string[]])[] = [
    [EN, "Why?", ["Ada Lovelace"]],
    [EN, "What about her?", ["Ada Lovelace"]],
    [EN, "When did she move there?", ["Ada Lovelace", "Berlin"]],
    [EN, "And in 2019?", ["Ada Lovelace", "live"]],
    [EN, "How long has she been there?", ["Ada Lovelace"]],
    [EN, "Tell me more.", ["Ada Lovelace"]],
    [EN, "Is it expensive?", ["Berlin"]],
    [CEO, "When did she start?", ["Grace Hopper", "company"]],
    [CEO, "what about her salary?", ["Grace Hopper"]],
    [ACME, "And in 2019?", ["Acme", "revenue"]],
    [ACME, "How much is that in dollars?", ["Acme", "revenue"]],
    [LONGER, "why?", ["Acme", "revenue"]],
    [DE, "Und warum?", ["Ada Lovelace"]],
    [DE, "Seit wann wohnt sie dort?", ["Ada Lovelace", "Berlin"]],
    [DE, "Wie heißt ihr Bruder?", ["Ada Lovelace"]],
    [DE, "Und 2019?", ["Ada Lovelace", "wohnt"]],
    [DE, "Was kostet es?", ["Berlin"]],
    [FR, "Pourquoi ?", ["Camille Claudel"]],
    [FR, "Et elle ?", ["Camille Claudel"]],
    [FR, "Depuis quand y habite-t-elle ?", ["Camille Claudel", "Paris"]],
    [FR, "Combien ça coûte ?", ["Paris"]],
    [ES, "¿Por qué?", ["Frida Kahlo"]],
    [ES, "¿Y en 2019?", ["Frida Kahlo", "trabaja"]],
    [ES, "¿Cuándo nació?", ["Frida Kahlo"]],
    [ES, "¿Cómo se llama su hermana?", ["Frida Kahlo"]],
    [RU, "Почему?", ["Анна Ахматова"]],
    [RU, "А когда она родилась?", ["Анна Ахматова"]],
    [RU, "Где она работает?", ["Анна Ахматова"]],
    [ZH, "为什么？", ["小明"]],
    [ZH, "她什么时候搬家的？", ["小明"]],
    [ZH, "2019年呢？", ["小明"]],
    [JA, "なぜですか？", ["田中"]],
    [JA, "彼女はいつ引っ越しましたか？", ["田中"]],
    [JA, "どこで働いていますか？", ["田中"]],
  ];
  for (const [dialogue, question, topics] of dialogues) {
    test(`gets the missing topics: ${question}`, () => {
      const found = asked(dialogue, question);
      expect(found).toStartWith(`${question} (`);
      for (const topic of topics) expect(found).toContain(topic);
    });
  }

  test("with another name gets no names", () => {
    expect(asked(EN, "And Bob?")).toBe("And Bob? (live)");
    expect(asked(DE, "Was ist mit Bob?")).toBe("Was ist mit Bob? (wohnt)");
  });

  test("gets words of the last questions before names of the answer, and no citation", () => {
    expect(asked(CEO, "Why?")).toBe("Why? (leads, company, Grace Hopper)");
  });
});

describe("a self-contained question", () => {
  const questions: readonly (readonly [Dialogue, readonly string[]])[] = [
    [
      EN,
      [
        "Who is the president of France?",
        "What is photosynthesis?",
        "How does photosynthesis work?",
        "Does Bob like his job?",
        "Which city has the largest harbour in Europe?",
        "Is it true that Grace Hopper invented the compiler?",
        "What does the contract say about notice periods?",
        "Where is the key to the shed?",
        "What is this year's budget for travel?",
        "What is the capital of France and its population?",
        "How to cook rice?",
        "I need the recipe for bread",
      ],
    ],
    [DE, ["Was ist Photosynthese?", "Können Sie mir sagen, wo Bob arbeitet?", "Gibt es einen Garten in Potsdam?"]],
    [FR, ["Quelle est la capitale de l'Italie ?", "Y a-t-il un contrat avec Acme ?", "Qui a écrit Les Misérables ?"]],
    [ES, ["¿Qué es la fotosíntesis?", "¿Dónde está la sede de Acme?", "¿Cuáles son las ventajas del contrato?"]],
    [RU, ["Что такое фотосинтез?", "Кто написал роман Война и мир?"]],
    [ZH, ["什么是光合作用？", "上海的人口是多少？"]],
    [JA, ["光合成とは何ですか？", "大阪の人口はどれくらいですか？"]],
  ];
  for (const [dialogue, texts] of questions) {
    for (const text of texts) test(`stays unchanged: ${text}`, () => expect(asked(dialogue, text)).toBe(text));
  }

  test("is any question without history, or after turns without a topic", () => {
    expect(asked([], "Why?")).toBe("Why?");
    expect(
      asked(
        [
          ["user", "Why?"],
          ["assistant", "It is so."],
        ],
        "And then?",
      ),
    ).toBe("And then?");
  });
});

test("the question stays short enough for a search, however long the conversation is", () => {
  const long: Dialogue = Array.from({ length: 50 }, (_, at) => [
    at % 2 === 0 ? "user" : "assistant",
    Array.from({ length: 3_000 }, (_, word) => `Kite${at}x${word} saw Hill${word}`).join(" "),
  ]);
  expect(asked(long, "Why?").length).toBeLessThan(700);
  const question = "why? ".repeat(8_000);
  expect(asked(long, question)).toBe(question);
  expect(asked(long, "w".repeat(160)).length).toBeLessThan(LIMITS.queryCharacters);
});
