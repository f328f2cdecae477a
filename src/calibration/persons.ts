// Reads notes of invented persons and the questions about them, in the format of data/judged/personal. The READMEs
// there, in bench/fixtures/personal and in bench/fixtures/times-dev define the kinds of questions.

import { DAY_MS } from "../kit/clock.ts";

/** Kinds of questions that a note answers. */
export const ANSWERABLE_KINDS = ["direct", "paraphrase", "keyword", "twostep", "update", "past", "control"] as const;
/** Kinds of questions that no note answers: `near` is about something in the notes, `off` about nothing in them. */
export const UNANSWERABLE_KINDS = ["off", "near"] as const;
/** Kinds of questions in bench/fixtures/times-*: `dated` names the time of the right note, `undated` does not. */
export const TIME_KINDS = ["dated", "undated"] as const;
/** Kind of a question. */
export type QuestionKind =
  | (typeof ANSWERABLE_KINDS)[number]
  | (typeof UNANSWERABLE_KINDS)[number]
  | (typeof TIME_KINDS)[number];

/** A memory of a person. */
export interface Note {
  /** `externalId` of the memory, such as `p07/12`. */
  readonly id: string;
  /** Day, `YYYY-MM-DD`. */
  readonly date: string;
  /** BCP 47. */
  readonly language: string;
  readonly text: string;
}

/** A question that a person asks about their own memories. */
export interface PersonalQuestion {
  /** Id of the person and number of the question, from 1: `p07/q3`. */
  readonly id: string;
  readonly kind: QuestionKind;
  /** BCP 47. */
  readonly language: string;
  readonly text: string;
  /** The notes that answer the question, best first; empty if no note does. */
  readonly notes: readonly Note[];
  /** Words of the first note that answer the question; null if no note answers it. */
  readonly gold: string | null;
  /** For `near`: the wrong value that a careless engine would take from a similar note; null if there is none. */
  readonly tempting: string | null;
}

/** A person with all notes and questions. */
export interface Person {
  readonly id: string;
  readonly notes: readonly Note[];
  readonly questions: readonly PersonalQuestion[];
  /** The day after the last note, `YYYY-MM-DD`: the day of all questions. */
  readonly askedOn: string;
}

/**
 * Parses the file of a person.
 * @throws Error on a line in another format, on a repeated or unknown note, and if there are no notes
 */
export function parsePerson(id: string, text: string): Person {
  const notes = new Map<string, Note>();
  const questions: PersonalQuestion[] = [];
  for (const [at, line] of text.replace(/\n+$/, "").split("\n").entries()) {
    const wrong = (what: string) => new Error(`${id}.tsv: line ${at + 1} ${what}`);
    const [record, ...fields] = line.split("\t");
    if (fields.some((field) => field.trim() === "")) throw wrong("has a blank field");
    if (record === "N" && fields.length === 4) {
      const [number = "", date = "", language = "", content = ""] = fields;
      if (notes.has(number)) throw wrong(`repeats the note ${number}`);
      notes.set(number, { id: `${id}/${number}`, date, language, text: content });
    } else if (record === "Q" && (fields.length === 5 || (fields.length === 7 && fields[0] === "near"))) {
      const [named = "", language = "", numbers = "", question = "", gold = "", , tempting = "-"] = fields;
      const kind = [...ANSWERABLE_KINDS, ...UNANSWERABLE_KINDS, ...TIME_KINDS].find((known) => known === named);
      if (kind === undefined) throw wrong(`has the unknown kind ${named}`);
      const answering = numbers === "-" ? [] : numbers.split(",").map((number) => notes.get(number));
      if (!answering.every((note) => note !== undefined)) throw wrong(`names an unknown note in ${numbers}`);
      if ((answering.length === 0) !== (kind === "off" || kind === "near")) throw wrong(`has no notes for ${kind}`);
      questions.push({
        id: `${id}/q${questions.length + 1}`,
        kind,
        language,
        text: question,
        notes: answering,
        gold: answering.length === 0 ? null : gold,
        tempting: tempting === "-" ? null : tempting,
      });
    } else if (record !== "P" || fields.length !== 3) throw wrong("is not a P, N or Q record");
  }
  const last = [...notes.values()]
    .map(({ date }) => date)
    .sort()
    .at(-1);
  if (last === undefined) throw new Error(`${id}.tsv has no notes`);
  return { id, notes: [...notes.values()], questions, askedOn: dayAfter(last) };
}

function dayAfter(date: string): string {
  return new Date(Date.parse(date) + DAY_MS).toISOString().slice(0, 10);
}
