// Reads the personal set (bench/fixtures/personal): notes of invented persons and questions to them. Also makes the
// content of a server from it. personal-scores.ts evaluates the results.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { memoryOfLine } from "../../src/cli/import.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";
import { ingestLines, type ServerContent } from "./served-collection.ts";

/** Folder of the personal set, one file per person. */
export const PERSONAL_FOLDER = join(import.meta.dir, "../fixtures/personal");

/** The newer sets, which have more near misses: one to choose by, one only for figures that are reported. */
export const HALVES: ReadonlyMap<string, string> = new Map(
  ["dev", "test"].map((half) => [half, join(import.meta.dir, `../fixtures/personal-${half}`)]),
);

/** Persons whose questions choose weights, curves and thresholds. */
export const FITTING_PERSONS = "p01-p06";
/** Persons whose questions are only used for reported figures. */
export const REPORTED_PERSONS = "p07-p12";

/** Kinds of questions that a note answers. */
export const ANSWERABLE_KINDS = ["direct", "paraphrase", "keyword", "twostep", "update", "past", "control"] as const;
/** Kinds of questions that no note answers: `near` asks for an attribute that is not stored, `off` for other things. */
export const UNANSWERABLE_KINDS = ["off", "near"] as const;
/** Kinds of questions of the sets of times: `dated` names the time of the right note, `undated` does not. */
export const TIME_KINDS = ["dated", "undated"] as const;
/** Kind of a question; the README of the set defines each. */
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

/** A question of a person about the own memories. */
export interface PersonalQuestion {
  /** Such as `p07/q3`. */
  readonly id: string;
  readonly kind: QuestionKind;
  /** BCP 47. */
  readonly language: string;
  readonly text: string;
  /** The notes that answer the question, best first; empty if no note does. */
  readonly notes: readonly Note[];
  /** Words of the first note that answer the question; null if no note answers it. */
  readonly gold: string | null;
  /** For `near`: the value that a careless engine would take from a neighbouring note; null if there is none. */
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

/** Languages of a question and of the note that answers it. */
export const LANGUAGE_PAIRS = ["English", "other language", "English to other", "other to other"] as const;
/** One of the pairs of languages. */
export type LanguagePair = (typeof LANGUAGE_PAIRS)[number];

/** The pair of languages of a question; null if no note answers it. */
export function languagePair({ language, notes }: PersonalQuestion): LanguagePair | null {
  const [first] = notes;
  if (first === undefined) return null;
  if (first.language === language) return language === "en" ? "English" : "other language";
  return language === "en" ? "English to other" : "other to other";
}

/** The questions in these languages whose notes are in them, too. Languages are BCP 47 without a region. */
export function questionsIn(languages: readonly string[], { questions }: Person): readonly PersonalQuestion[] {
  return questions.filter(
    ({ language, notes }) => languages.includes(language) && notes.every((note) => languages.includes(note.language)),
  );
}

/** The names of all persons of a folder, for `readPersons`. */
export function everyoneIn(folder: string): string {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".tsv"))
    .sort();
  return files.map((file) => file.slice(0, -".tsv".length)).join(",");
}

/**
 * The persons of a range such as `p07-p12`, or of a list such as `p01,p04`.
 * @throws UsageError for a person without a file
 */
export function readPersons(names: string, folder: string = PERSONAL_FOLDER): readonly Person[] {
  const known = readdirSync(folder)
    .filter((file) => file.endsWith(".tsv"))
    .map((file) => file.slice(0, -".tsv".length))
    .sort();
  const chosen = names.split(",").flatMap((name) => {
    const [first = "", last = first] = name.split("-");
    if (!known.includes(first) || !known.includes(last)) {
      throw new UsageError(`There is no person ${name}; there are ${known.join(", ")}.`);
    }
    return known.filter((person) => person >= first && person <= last);
  });
  return chosen.map((id) => parsePerson(id, readFileSync(join(folder, `${id}.tsv`), "utf8")));
}

/**
 * Parses the file of a person.
 * @throws Error on a line in another format, and on a question about an unknown note
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

/** The memory of a note, as a body of createMemory. */
export function memoryOfNote(person: string, { id, date, text }: Note): JsonRecord {
  return { content: text, externalId: id, userId: person, occurred_at: date };
}

/**
 * The content of a server with the notes of persons, each the memories of one user.
 * @param filler memories of other users
 */
export function personalContent(persons: readonly Person[], filler: readonly JsonRecord[] = []): ServerContent {
  const memories = [
    ...filler,
    ...persons.flatMap((person) => person.notes.map((note) => memoryOfNote(person.id, note))),
  ];
  const lines = memories.map((memory) => JSON.stringify(memory));
  const names = persons.map(({ id }) => id).join("-");
  return {
    name: filler.length === 0 ? names : `${names} and ${filler.length} others`,
    // the name changes with the texts, so that a kept directory always has the current ones
    directory: `personal-${names}-${Bun.hash(lines.join("\n")).toString(16)}`,
    externalIds: new Set(memories.map(({ externalId }) => String(externalId))),
    fill: (server) => ingestLines(server, lines),
  };
}

/**
 * The first memories of a JSONL file (bodies of createMemory, or documents in BEIR format), as memories of other users.
 * @throws UsageError if the file has fewer
 */
export async function fillerMemories(file: string, count: number): Promise<readonly JsonRecord[]> {
  const memories: JsonRecord[] = [];
  for await (const line of readLines(file)) {
    if (memories.length >= count) break;
    const value: unknown = JSON.parse(line.text);
    if (!isRecord(value) || (value.text === "" && !value.title)) continue;
    const { content } = memoryOfLine(line.text, null);
    const at = memories.length;
    memories.push({ content, externalId: `filler/${at}`, userId: `filler ${Math.floor(at / FILLER_PER_USER)}` });
  }
  if (memories.length < count) throw new UsageError(`${file} has only ${memories.length} memories.`);
  return memories;
}

/** Number of filler memories of each other user. */
const FILLER_PER_USER = 100;

const DAY_MS = 86_400_000;

function dayAfter(date: string): string {
  return new Date(Date.parse(date) + DAY_MS).toISOString().slice(0, 10);
}
