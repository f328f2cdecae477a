// Quality of the detector of contradicting memories on the personal set (bench/fixtures/personal), by the texts alone:
// no model and no server. `bun bench/contradictions.ts --help` lists the flags.

import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { contradictions, type Statement } from "../src/retrieval/time/contradictions.ts";
import { askedTense } from "../src/retrieval/time/tense.ts";
import { wordsIn } from "../src/retrieval/time/words.ts";
import { type Note, type Person, type PersonalQuestion, REPORTED_PERSONS, readPersons } from "./lib/personal.ts";

const HELP = `bun bench/contradictions.ts [flags]

Measures how well contradicting memories are told from similar ones. Each question gets ten candidates: its right notes,
those of "update" and "past" in the wrong order, then the notes that share most words with the question.
"recognised": the contradiction was found ("update", "past"). "swapped": another pair with the first note was taken for a
contradiction. "tense": the question was recognised as one about the present, or the past for "past".

  --persons NAMES     persons, such as p01-p06 or p07,p09 (default: ${REPORTED_PERSONS})`;

/** Number of candidates of a question. */
const CANDIDATES = 10;
/** Score of the first candidate, and the steps to the next ones, like those of a search. */
const FIRST_SCORE = 1;
const SCORE_STEP = 0.05;

interface Counts {
  questions: number;
  recognised: number;
  swapped: number;
  rightTense: number;
}

function main(): void {
  const { flags } = parseCommandLine(process.argv.slice(2), { "--help": "switch", "--persons": "value" });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const kinds = new Map<string, Counts>();
  for (const person of readPersons(flags.get("--persons") ?? REPORTED_PERSONS)) {
    for (const question of person.questions) {
      const counts = kinds.get(question.kind) ?? { questions: 0, recognised: 0, swapped: 0, rightTense: 0 };
      kinds.set(question.kind, counts);
      count(counts, person, question);
    }
  }
  const share = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
  const rows = [...kinds].map(([kind, { questions, recognised, swapped, rightTense }]) => {
    const isChanging = kind === "update" || kind === "past";
    return [
      kind,
      String(questions),
      isChanging ? share(recognised, questions) : "",
      share(swapped, questions),
      share(rightTense, questions),
    ];
  });
  const table = alignRows([["kind", "questions", "recognised", "swapped", "tense"], ...rows]);
  process.stdout.write(`${table.join("\n")}\n`);
}

function count(counts: Counts, person: Person, question: PersonalQuestion): void {
  const isChanging = question.kind === "update" || question.kind === "past";
  const tense = askedTense(question.text, question.language);
  const right = isChanging ? question.notes.toReversed() : question.notes;
  const candidates = [...right, ...similarNotes(person, question)].slice(0, CANDIDATES);
  const statements = candidates.map((note, place): Statement => {
    const { text, language, date } = note;
    return { text, language, happenedAt: Date.parse(date), score: FIRST_SCORE - place * SCORE_STEP };
  });
  const found = contradictions({ text: question.text, language: question.language, tense }, statements);
  const first = found.find(({ upper }) => upper === 0);
  const isRecognised = isChanging && first !== undefined && first.lower < right.length;
  counts.questions += 1;
  counts.recognised += Number(isRecognised);
  counts.swapped += Number(first !== undefined && !isRecognised);
  counts.rightTense += Number(tense === (question.kind === "past" ? "past" : "present"));
}

function similarNotes({ notes }: Person, question: PersonalQuestion): readonly Note[] {
  const words = wordsIn(question.text, question.language);
  const sharedWith = ({ text, language }: Note) => wordsIn(text, language).intersection(words).size;
  return notes
    .filter((note) => !question.notes.includes(note))
    .map((note) => ({ note, shared: sharedWith(note) }))
    .sort((left, right) => right.shared - left.shared)
    .map(({ note }) => note);
}

main();
