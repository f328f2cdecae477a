// The personal set: its files keep to their format, and results are evaluated by the rules of their kind.

import { describe, expect, test } from "bun:test";
import { contains } from "../../bench/lib/gold-text.ts";
import { languagePair, personalContent, questionsIn, readPersons } from "../../bench/lib/personal.ts";
import { type AskedQuestion, figuresOf, rankOfRight } from "../../bench/lib/personal-scores.ts";
import { parsePerson } from "../../src/calibration/persons.ts";

const LINES = [
  "P\tp01\ten\tsomebody",
  "N\t1\t2021-03-04\ten\tI live in Oban.",
  "N\t2\t2024-02-28\tde\tIch wohne jetzt in Mull.",
  "Q\tupdate\ten\t2,1\twhere do I live now?\tMull",
  "Q\ttwostep\ten\t1,2\tboth homes\tOban",
  "Q\toff\tfr\t-\tla capitale du Pérou ?\t-",
];
const person = parsePerson("p01", LINES.join("\n"));
const [update, twostep, off] = person.questions;

describe("the files", () => {
  const persons = readPersons("p01-p12");
  test("have at least 300 notes and 300 questions, each note with its own id", () => {
    const ids = persons.flatMap(({ notes }) => notes.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(300);
    expect(persons.flatMap(({ questions }) => questions).length).toBeGreaterThanOrEqual(300);
  });
  test("quote each short answer from the first of its notes", () => {
    const wrong = persons.flatMap(({ questions }) =>
      questions.filter(({ gold, notes }) => gold !== null && !contains(notes[0]?.text ?? "", gold)),
    );
    // scripts without spaces between words cannot be compared by words
    expect(
      wrong.filter(({ gold, notes }) => !notes[0]?.text.toLowerCase().includes(String(gold).toLowerCase())),
    ).toEqual([]);
  });
  test("list contradicting notes in the order that their kind asks for", () => {
    for (const { kind, notes, id } of persons.flatMap(({ questions }) => questions)) {
      const dates = notes.map(({ date }) => date);
      if (kind === "update") expect(dates, id).toEqual([...dates].sort().reverse());
      if (kind === "past") expect(dates, id).toEqual([...dates].sort());
    }
  });
});

describe("reading", () => {
  test("gives notes and questions, and asks on the day after the last note", () => {
    expect(person.notes.map(({ id }) => id)).toEqual(["p01/1", "p01/2"]);
    expect(person.questions.map(({ kind, gold }) => [kind, gold])).toEqual([
      ["update", "Mull"],
      ["twostep", "Oban"],
      ["off", null],
    ]);
    expect(person.askedOn).toBe("2024-02-29");
  });
  test("pairs the language of a question with that of its first note", () => {
    expect(person.questions.map(languagePair)).toEqual(["English to other", "English", null]);
  });
  test("chooses questions by their language and that of all their notes", () => {
    const kinds = (...languages: readonly string[]) => questionsIn(languages, person).map(({ kind }) => kind);
    expect(kinds("en")).toEqual([]);
    expect(kinds("en", "de")).toEqual(["update", "twostep"]);
    expect(kinds("fr")).toEqual(["off"]);
  });
  for (const [what, line] of [
    ["has the unknown kind riddle", "Q\triddle\ten\t1\twhat?\tx"],
    ["names an unknown note in 3", "Q\tdirect\ten\t3\twhat?\tx"],
    ["has no notes for direct", "Q\tdirect\ten\t-\twhat?\tx"],
    ["repeats the note 1", "N\t1\t2021-03-04\ten\tagain"],
    ["has a blank field", "N\t3\t2021-03-04\ten\t "],
    ["is not a P, N or Q record", "N\t3\t2021-03-04\tno language"],
  ] as const) {
    test(`refuses a line that ${what}`, () => {
      expect(() => parsePerson("p01", [...LINES, line].join("\n"))).toThrow(`p01.tsv: line 7 ${what}`);
    });
  }
  test("refuses a person without a file", () => expect(() => readPersons("p01,p99")).toThrow("There is no person p99"));
  test("gives other texts another data directory", () => {
    const other = parsePerson("p01", LINES.join("\n").replace("Oban", "Oslo"));
    expect(personalContent([other]).directory).not.toBe(personalContent([person]).directory);
    expect(personalContent([person]).externalIds).toEqual(new Set(["p01/1", "p01/2"]));
  });
});

describe("evaluating", () => {
  const asked = (question: typeof update, notes: readonly string[], score = 0.5): AskedQuestion => {
    if (question === undefined) throw new Error("the question is missing");
    return {
      question,
      found: notes.map((note, at) => ({ note, text: "", score: score - at / 10, signals: {} })),
      answer: "I live in Mull. [1]",
      isAbstention: question.kind === "off",
    };
  };
  const all = [asked(update, ["p01/1", "p01/2"]), asked(twostep, ["p01/2", "p01/1"], 0.9), asked(off, ["p01/1"], 0.6)];
  const figures = figuresOf(all);
  const value = (measure: string, group: string) =>
    figures.find((figure) => figure.measure === measure && figure.group === group)?.value;

  test("an outdated note is not right, and each note of a two-step question is", () => {
    expect(all.map(rankOfRight)).toEqual([2, 1, null]);
    expect(value("right first", "update")).toBe(0);
    expect(value("right first", "twostep")).toBe(1);
    expect(value("right first", "twostep: answer")).toBe(0);
    expect(value("right in top 5", "update")).toBe(1);
  });
  test("a note beyond the fifth result is not in the top 5", () => {
    const far = figuresOf([asked(update, ["a", "b", "c", "d", "e", "p01/2"]), asked(update, ["a"])]);
    expect(far.find(({ measure, group }) => measure === "right in top 5" && group === "update")?.value).toBe(0);
  });
  test("separates by the top score", () => {
    expect(value("AUC of top score", "answerable against off")).toBe(0.5);
    expect(value("median top score", "right first")).toBe(0.9);
    expect(value("median top score", "off")).toBe(0.6);
  });
  test("counts answers and refusals", () => {
    expect(value("answered", "answerable")).toBe(1);
    expect(value("refused", "off")).toBe(1);
    expect(value("answer contains gold", "answerable")).toBe(0.5);
  });
  test("leaves out groups without questions", () => {
    expect(value("refused", "near")).toBeUndefined();
    expect(value("AUC of top score", "answerable against near")).toBeUndefined();
  });
});
