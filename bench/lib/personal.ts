// Reads the personal set (bench/fixtures/personal): notes of invented persons, and questions about them. Also makes the
// content of a server from it. personal-scores.ts evaluates the results.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Note, type Person, type PersonalQuestion, parsePerson } from "../../src/calibration/persons.ts";
import { memoryOfLine } from "../../src/cli/import.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";
import { ingestLines, type ServerContent } from "./served-collection.ts";

export type { Note, Person, PersonalQuestion, QuestionKind } from "../../src/calibration/persons.ts";
export { ANSWERABLE_KINDS, TIME_KINDS, UNANSWERABLE_KINDS } from "../../src/calibration/persons.ts";

/** Folder of the personal set, one file per person. */
export const PERSONAL_FOLDER = join(import.meta.dir, "../fixtures/personal");

/** Sets with more near misses: one to choose parameters by, one only for figures that are reported. */
export const HALVES: ReadonlyMap<string, string> = new Map([
  ["dev", join(import.meta.dir, "../../data/judged/personal")],
  ["test", join(import.meta.dir, "../fixtures/personal-test")],
]);

/** Persons whose questions choose weights, curves and thresholds. */
export const FITTING_PERSONS = "p01-p06";
/** Persons whose questions are only used for reported figures. */
export const REPORTED_PERSONS = "p07-p12";

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
  return personsIn(folder).join(",");
}

/**
 * The persons of a range such as `p07-p12`, or of a list such as `p01,p04`.
 * @throws UsageError for a person without a file
 */
export function readPersons(names: string, folder: string = PERSONAL_FOLDER): readonly Person[] {
  const known = personsIn(folder);
  const chosen = names.split(",").flatMap((name) => {
    const [first = "", last = first] = name.split("-");
    if (!known.includes(first) || !known.includes(last)) {
      throw new UsageError(`There is no person ${name}; there are ${known.join(", ")}.`);
    }
    return known.filter((person) => person >= first && person <= last);
  });
  return chosen.map((id) => parsePerson(id, readFileSync(join(folder, `${id}.tsv`), "utf8")));
}

/** The names of the persons of a folder, sorted. */
function personsIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".tsv"))
    .map((file) => file.slice(0, -".tsv".length))
    .sort();
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
