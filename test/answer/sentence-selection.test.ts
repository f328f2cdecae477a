// Sentence selection with a model's scores, titles and turns: order, complementary sentences, and prefixes that make
// quotes understandable by themselves.

import { describe, expect, test } from "bun:test";
import { collectAnswer } from "../../src/answer/events.ts";
import { extractiveAnswer } from "../../src/answer/extractive-answer.ts";
import type { ScoreSentences, SentenceToScore } from "../../src/answer/sentence-relevance.ts";
import type { Turn } from "../../src/domain/chunk.ts";
import type { RankedPassage } from "../../src/domain/ranking.ts";
import { passage } from "./passages.ts";

const UNBOUND = new AbortController().signal;

async function answerTo(
  question: string,
  passages: readonly RankedPassage[],
  scoreSentences?: ScoreSentences,
  maxSources = 8,
  language = "en",
): Promise<string> {
  const reading = { language, ...(scoreSentences !== undefined && { scoreSentences }) };
  return (await collectAnswer(extractiveAnswer(question, passages, { maxSources, signal: UNBOUND, ...reading })))
    .answer;
}

function titled(title: string, text: string, score = 0.5): RankedPassage {
  const untitled = passage(text, score);
  return { ...untitled, memory: { ...untitled.memory, title, given: ["title"] } };
}

function turn(speaker: string, date: string | null, text: string): RankedPassage {
  const said = passage(text);
  const labelUnits = text.startsWith(`${speaker}: `) ? speaker.length + 2 : 0;
  const place: Turn = { session: 0, speaker, date, labelUnits };
  return { ...said, place: { ...said.place, turn: place } };
}

/** A model that gives 1 to sentences with one of these words, and -1 to all others. */
const preferring =
  (...words: readonly string[]): ScoreSentences =>
  async (_, sentences) =>
    sentences.map(({ text }) => (words.some((word) => text.includes(word)) ? 1 : -1));

describe("a model that scores sentences", () => {
  const text = "Ada works hard, and work is what Ada likes. The bakery on Mill Lane pays her wages. Rain fell.";

  test("finds an answer that the question's words do not find", async () => {
    const asked = "Where does Ada work?";
    expect(await answerTo(asked, [passage(text)])).toStartWith("Ada works hard");
    expect(await answerTo(asked, [passage(text)], preferring("bakery"))).toBe(
      "The bakery on Mill Lane pays her wages. [1]",
    );
  });

  test("does not decide alone: the question's words decide between two sentences of equal relevance", async () => {
    const both = "The bakery closed in May. The bakery where Ada works is on Mill Lane.";
    expect(await answerTo("Where does Ada work?", [passage(both)], preferring("bakery"))).toStartWith(
      "The bakery where Ada works",
    );
  });

  test("without scores leaves the answer to words", async () => {
    const asked = "Where does Ada work?";
    expect(await answerTo(asked, [passage(text)], async () => null)).toBe(await answerTo(asked, [passage(text)]));
  });

  test("gets each sentence once, at most 16, with its title", async () => {
    const read: (readonly string[])[] = [];
    const reads: ScoreSentences = async (_, sentences) => {
      read.push(sentences.map(({ text }) => text));
      return sentences.map(() => 0);
    };
    const many = Array.from({ length: 200 }, (_, at) => `Kite ${at} is red.`).join(" ");
    await answerTo("Which kite?", [titled("Kites of the coast", many)], reads);
    expect(read).toHaveLength(1);
    expect(read[0]).toHaveLength(16);
    expect(read[0]?.every((sentence) => sentence.startsWith("Kites of the coast. Kite"))).toBe(true);
  });

  test("is not called without sentences, and its failure fails the answer", async () => {
    const fails: ScoreSentences = () => Promise.reject(new Error("hung up"));
    expect(await answerTo("Who?", [passage("---")], fails)).toContain("Nothing");
    expect(answerTo("Who?", [passage("Ada.")], fails)).rejects.toThrow("hung up");
  });
});

describe("the passage's score", () => {
  const asked = "What should I not eat?";
  const engineer = (score: number) => passage("I should not work at Siemens as an engineer.", score);

  test("decides the first sentence: none comes from a passage with less than half of the best score", async () => {
    const walnuts = passage("I'm allergic to walnuts.", 0.2);
    expect(await answerTo(asked, [walnuts, engineer(0.09)])).toStartWith("I'm allergic to walnuts. [1]");
    expect(await answerTo(asked, [walnuts, engineer(0.1)])).toStartWith("I should not work at Siemens");
  });

  test("does not keep a sentence that the model finds a little less relevant from being second", async () => {
    const passages = [passage("The bakery is on Mill Lane.", 0.5), passage("Ada works at the bakery.", 0.4)];
    const relevance =
      (low: number): ScoreSentences =>
      async (_, sentences) =>
        sentences.map(({ text }) => (text.startsWith("Ada") ? low : 1));
    const question = "On which lane is the bakery where Ada works?";
    expect(await answerTo(question, passages, relevance(0.9))).toContain("Ada works at the bakery.");
    expect(await answerTo(question, passages, relevance(-0.61))).not.toContain("Ada works at the bakery.");
  });
});

describe("a further sentence of the same passage", () => {
  const note = "The spare key is under the blue pot. I prefer window seats. My sister has the spare key, too.";

  test("is quoted if the model finds it relevant", async () => {
    const answer = await answerTo("Where is the spare key?", [passage(note)], preferring("spare key"));
    expect(answer).toBe("The spare key is under the blue pot. [1] My sister has the spare key, too. [1]");
  });

  test("is not quoted just because it has a name, a date or a number", async () => {
    const dentist = "My dentist is Dr Ruiz in Mill Lane. The rent for Ada Holm is due on 4 March at 9:30.";
    expect(await answerTo("Who is my dentist?", [passage(dentist)], preferring("dentist"))).toBe(
      "My dentist is Dr Ruiz in Mill Lane. [1]",
    );
  });
});

describe("what a model reads of a sentence", () => {
  const read: SentenceToScore[] = [];
  const reads: ScoreSentences = async (_, sentences) => {
    read.push(...sentences);
    return sentences.map(() => 1);
  };
  const found = (text: string) => ({ ...passage(text), signals: { vector: { rank: 1, score: 0.83 } } });

  test("is the cosine of the search, if the sentence is the whole passage", async () => {
    read.length = 0;
    await answerTo("Who?", [found("Ada works here."), found("Bo left. Cy came.")], reads);
    expect(read).toEqual([
      { text: "Ada works here.", cosine: 0.83 },
      { text: "Bo left.", cosine: null },
      { text: "Cy came.", cosine: null },
    ]);
  });

  test("is that cosine for a turn, too, because its vector has a part of its neighbours' vectors", async () => {
    read.length = 0;
    const turn: Turn = { session: 0, speaker: "Ada", date: null, labelUnits: 5 };
    const told = found("Ada: At the harbour.");
    await answerTo("Where?", [{ ...told, place: { ...told.place, turn } }], reads);
    expect(read.map(({ cosine }) => cosine)).toEqual([0.83]);
  });

  test("has no title that was made from the text", async () => {
    read.length = 0;
    const titleOfText = { ...titled("Ada works here", "Ada works here. Bo left."), signals: {} };
    const { memory } = titleOfText;
    await answerTo("Who?", [{ ...titleOfText, memory: { ...memory, given: [] } }], reads);
    expect(read.map(({ text }) => text)).toEqual(["Ada works here.", "Bo left."]);
  });
});

describe("the sentence that complements the first one", () => {
  test("is, in a comparison, about the other side, although the first side has more matching words", async () => {
    const answer = await answerTo("Was the film Red Kite or the film Blue Heron released first?", [
      titled("Red Kite", "Red Kite is a film that was released in 1961. Red Kite, the film, was first shown in Rome."),
      titled("Kite films", "The film Red Kite was the first that was released of all films of kites.", 0.5),
      titled("Blue Heron (film)", "Blue Heron dates from 1946.", 0.3),
    ]);
    const [first, second] = answer.split(/ \[\d+\] ?/);
    expect([first, second].some((said) => said?.startsWith("Red Kite"))).toBe(true);
    expect([first, second]).toContain("Blue Heron dates from 1946.");
  });

  test("is the second step of a two-step question, which then goes first", async () => {
    const answer = await answerTo("Where was the composer of the film Red Kite born?", [
      titled("Red Kite", "The music of the film Red Kite is by Ida Holm, the composer. The film Red Kite was liked."),
      titled("Composers", "Where a composer was born matters little to a film.", 0.4),
      titled("Ida Holm", "Ida Holm was born in Skarn in 1901.", 0.2),
    ]);
    expect(answer).toStartWith("Ida Holm was born in Skarn in 1901. [1] The music of the film Red Kite");
  });

  test("is not another piece of the same document just because the question contains its title", async () => {
    const pieces = ["The harbour of Skarn is deep.", "Boats fill the harbour.", "Fish is sold."].map((text) =>
      titled("Harbour of Skarn", text),
    );
    const one = titled("Skarn", "Deep is the harbour.");
    expect(await answerTo("How deep is the harbour of Skarn?", [...pieces, one], preferring("deep"))).toBe(
      "The harbour of Skarn is deep. [1]",
    );
  });
});

describe("a sentence of a far less relevant passage", () => {
  const volvo = passage("I drive a grey Volvo that I bought in 2019.", 0.87);
  const asked = "What car do I drive?";

  test("is not quoted, although it has words of the question", async () => {
    const fiat = (score: number) => passage("The car that we drive on Sundays is a Fiat.", score);
    expect(await answerTo(asked, [volvo, fiat(0.086)])).toBe(`${volvo.text} [1]`);
    expect(await answerTo(asked, [volvo, fiat(0.088)])).toBe(`${volvo.text} [1] ${fiat(0).text} [2]`);
  });

  test("is not quoted without a word of the question, however relevant its passage is", async () => {
    const lines = "I drive a grey Volvo that I bought in 2019. Do what you like. Rain fell on the roof all night.";
    expect(await answerTo(asked, [passage(lines, 0.87)])).toBe(`${volvo.text} [1]`);
    expect(await answerTo(asked, [passage(lines, 0.87)], preferring("Volvo", "Rain"))).toContain("Rain fell");
  });
});

describe("of two things that a question lists", () => {
  test.each([
    ["en", "What are Lena and Tom allergic to?", "Lena is allergic to hazelnuts.", "Tom is allergic to penicillin."],
    ["en", "What do lamps L-20 and L-45 need?", "Lamp L-20 needs an E14 bulb.", "Lamp L-45 needs a GU10 bulb."],
    ["en", "What was on 4 March and on 11 March?", "On 4 March we swam.", "On 11 March we slept."],
    ["de", "Was kosten das Sofa und der Teppich?", "Das Sofa kostet 890 Euro.", "Der Teppich kostet 240 Euro."],
    ["es", "¿Qué estudian Nora y Teo?", "Nora estudia biología.", "Teo estudia derecho."],
    ["ru", "На кого учатся Вика и Глеб?", "Вика учится на врача.", "Глеб учится на архитектора."],
    ["ja", "2号室と4号室の鍵はどこ？", "2号室の鍵は箱です。", "4号室の鍵は棚です。"],
    ["zh", "2号房和5号房的钥匙在哪里？", "2号房的钥匙在抽屉里。", "5号房的钥匙在前台。"],
  ])("%s: both are quoted, however alike they are: %s", async (language, question, first, second) => {
    const passages = [passage(first, 0.8), passage(second, 0.08)];
    expect(await answerTo(question, passages, undefined, 8, language)).toBe(`${first} [1] ${second} [2]`);
  });

  test("a passage that is nearly irrelevant is not quoted", async () => {
    const passages = [passage("Lena is allergic to hazelnuts.", 0.8), passage("Tom likes penicillin.", 0.007)];
    expect(await answerTo("What are Lena and Tom allergic to?", passages)).not.toContain("Tom");
  });

  test("a nearly irrelevant passage with half of the words of the question is quoted: retrieval prefers a day", async () => {
    const days = ["On 2 May I ate at the Anchor with Tariq.", "On 9 May I ate at Mirabel with Tariq."];
    const passages = days.map((day, at) => passage(day, at === 0 ? 0.9 : 0.001));
    const answer = await answerTo("Where did I eat with Tariq on 2 May and on 9 May?", passages);
    expect(answer).toBe(`${days[0]} [1] ${days[1]} [2]`);
  });

  test("nothing is listed where the word for and is missing", async () => {
    const passages = [passage("Lena is allergic to hazelnuts.", 0.8), passage("Tom is allergic to penicillin.", 0.07)];
    expect(await answerTo("What is Lena, Tom's wife, allergic to?", passages)).not.toContain("Tom");
  });
});

describe("the expected kind of answer", () => {
  const asked: readonly (readonly [question: string, text: string, answer: string])[] = [
    [
      "When was the bridge opened?",
      "The bridge with its 4 lanes was opened. The bridge was opened on 5 May.",
      "The bridge was opened on 5 May.",
    ],
    [
      "Quando fu aperto il ponte?",
      "Il ponte con 4 corsie fu aperto. Il ponte fu aperto il 5 maggio.",
      "Il ponte fu aperto il 5 maggio.",
    ],
    [
      "Which company built the bridge?",
      "The bridge was built by others in spring. The bridge was built by Holm and Sons in spring.",
      "The bridge was built by Holm and Sons in spring.",
    ],
    ["다리는 언제 열렸습니까?", "다리는 4차선으로 열렸습니다. 다리는 5월에 열렸습니다.", "다리는 5월에 열렸습니다."],
  ];
  for (const [question, text, answer] of asked) {
    test(`goes first: ${question}`, async () => {
      expect(await answerTo(question, [passage(text)])).toStartWith(`${answer} [1]`);
    });
  }
});

describe("the prefix of a quote", () => {
  test("is the title if the quote begins with a pronoun", async () => {
    const text = "Ida Holm is a composer. She was born in Skarn.";
    expect(await answerTo("born in Skarn", [titled("Ida Holm", text)], preferring("born"))).toBe(
      "Ida Holm: She was born in Skarn. [1]",
    );
    expect(await answerTo("born in Skarn", [passage(text)], preferring("born"))).toBe("She was born in Skarn. [1]");
  });

  test("is empty for a generated title, a long title, or a quote without a leading pronoun", async () => {
    const found = titled("Ida Holm", "She was born in Skarn.");
    const made = { ...found, memory: { ...found.memory, given: [] } };
    const long = titled("Ida Holm ".repeat(20), "She was born in Skarn.");
    for (const each of [made, long]) expect(await answerTo("born", [each])).toBe("She was born in Skarn. [1]");
    for (const text of ["Heather grows in Skarn.", "It’s born.", "Items are born here."]) {
      expect(await answerTo("born Skarn", [titled("Ida Holm", text)])).toBe(`${text} [1]`);
    }
  });

  test("is empty if the quote contains its title or follows a quote of the same passage", async () => {
    const book = titled("Their Lives", "Their Lives is a book.");
    expect(await answerTo("a book", [book])).toBe("Their Lives is a book. [1]");
    const both = titled("Ida Holm", "She wrote an opera about Skarn. She wrote a symphony of storms.");
    expect(await answerTo("What symphony, what opera?", [both])).toMatch(
      /^Ida Holm: She wrote .* \[1\] She wrote .* \[1\]$/,
    );
  });

  test("is the speaker for a later sentence of a turn, with the day if the question asks when", async () => {
    const said = turn("Ada", "8 May 2023", "Ada: It was late. Yesterday we sailed to Skarn.");
    expect(await answerTo("Who sailed to Skarn?", [said], preferring("sailed"))).toBe(
      "Ada: Yesterday we sailed to Skarn. [1]",
    );
    expect(await answerTo("When did Ada sail to Skarn?", [said], preferring("sailed"))).toBe(
      "(8 May 2023) Ada: Yesterday we sailed to Skarn. [1]",
    );
    expect(await answerTo("How late was it?", [said], preferring("late"))).toBe("Ada: It was late. [1]");
  });

  test("never reads as a citation and has no line break", async () => {
    const answer = await answerTo("born", [titled("Ida [3]\nHolm", "She was born here.")]);
    expect(answer).toBe("Ida (3) Holm: She was born here. [1]");
  });
});
