// Writes the data with which data/models/recipe/fit_replacement.py fits `replacement` of an embedder: for pairs of
// notes, the signs that the newer one has replaced the older one, whether it has, and the vectors of both; and vectors
// of notes about events. `bun bench/replacement-signs.ts --help` lists the flags.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import type { MemoryKey } from "../src/domain/ids.ts";
import { dot } from "../src/kit/dot.ts";
import { UsageError } from "../src/kit/flags.ts";
import { recordsIn } from "../src/kit/record.ts";
import { areNeighbours, type ComparedNote, readNote, wordSigns } from "../src/retrieval/replaced.ts";
import { specificsOf } from "../src/retrieval/specifics.ts";
import { placedWords } from "../src/retrieval/substitutes.ts";
import { asksNow } from "../src/retrieval/time/change-words.ts";
import { askedTense } from "../src/retrieval/time/tense.ts";
import { startServer } from "../test/support/server.ts";
import { type CorrectionPair, correctionPairs } from "./lib/correction-pairs.ts";
import { EMBEDDER_ID } from "./lib/models.ts";
import { type RelationPair, relationPairs } from "./lib/relation-pairs.ts";
import { runMain } from "./lib/run-main.ts";

const HELP = `bun bench/replacement-signs.ts --out FILE

Reads the persons that may choose weights (data/models/recipe/personal, p01 to p06, data/judged/personal), the pairs with
questions of bench/fixtures/relations, the pairs of data/models/recipe/corrections, and the events of
bench/fixtures/times-dev.

  --out FILE   JSON lines: {"group","label","signs","older","newer"} for a pair, {"event"} for an event; older, newer
               and event are vectors`;

interface Note {
  readonly text: string;
  readonly language: string;
  readonly day: number;
}

interface Asked {
  readonly kind: string;
  readonly language: string;
  readonly text: string;
  /** Numbers of the notes that answer, best first. */
  readonly notes: readonly string[];
}

interface Person {
  readonly name: string;
  readonly notes: ReadonlyMap<string, Note>;
  readonly questions: readonly Asked[];
}

const CORRECTIONS = join(import.meta.dir, "../data/models/recipe/corrections");
const FIXTURES = join(import.meta.dir, "fixtures");
/** Number of notes nearest to a question that are compared. */
const NEAREST = 10;

type Vectors = ReadonlyMap<string, Float32Array>;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const out = flags.get("--out");
  if (out === undefined) throw new UsageError("Name the file with --out.");
  const persons = [
    ...personsIn(join(import.meta.dir, "../data/models/recipe/personal")),
    ...personsIn(join(FIXTURES, "personal")).filter(({ name }) => name < "p07"),
    ...personsIn(join(import.meta.dir, "../data/judged/personal")),
  ];
  const pairs = [...relationPairs("dev"), ...relationPairs("questions")];
  const files = readdirSync(CORRECTIONS).filter((file) => file.endsWith(".tsv"));
  const corrections = files.map((file) => ({ file, pairs: correctionPairs(join(CORRECTIONS, file)) }));
  const events = personsIn(join(FIXTURES, "times-dev")).flatMap(({ notes }) => [...notes.values()]);
  const texts = [
    ...persons.flatMap(({ notes }) => [...notes.values()].map(({ text }) => text)),
    ...[...pairs, ...corrections.flatMap(({ pairs }) => pairs)].flatMap(({ older, newer }) => [older, newer]),
    ...events.map(({ text }) => text),
  ];
  await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "warn", MNEME_EMBEDDER: EMBEDDER_ID } });
  const client = new Client(server.url, server.key);
  const passages = await embedded(client, texts, "passage");
  const asked = [
    ...persons.flatMap(({ questions }) => questions.map(({ text }) => text)),
    ...pairs.map(questionOf),
    ...corrections.flatMap(({ pairs }) => pairs.map(({ question }) => question)),
  ];
  const questions = await embedded(client, asked, "query");
  const lines = [
    ...persons.flatMap((person) => linesOf(person, passages, questions)),
    ...pairs.map((pair, at) => {
      const [older, newer] = [pair.older, pair.newer].map((text) => ({ text, language: pair.language, day: 0 }));
      const question = { language: pair.language, text: questionOf(pair) };
      const ranked = { passages, question: questions.get(question.text) ?? new Float32Array(), newerRank: 2 };
      return older && newer ? line(`pair ${at}`, pair.isCorrection, question, older, newer, ranked) : null;
    }),
    ...corrections.flatMap(({ file, pairs }) => linesOfCorrections(file, pairs, passages, questions)),
    ...events.map(({ text }) => JSON.stringify({ event: [...(passages.get(text) ?? [])] })),
  ].filter((each) => each !== null);
  writeFileSync(out, `${lines.join("\n")}\n`);
}

function personsIn(folder: string): readonly Person[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".tsv"));
  return files.map((file) => {
    const notes = new Map<string, Note>();
    const questions: Asked[] = [];
    let main = "und";
    for (const row of readFileSync(join(folder, file), "utf8").trim().split("\n")) {
      const [record, first = "", second = "", third = "", fourth = ""] = row.split("\t");
      // notes of the training persons have no language of their own
      const [language, text] = fourth === "" ? [main, third] : [third, fourth];
      if (record === "P") main = second;
      else if (record === "N") notes.set(first, { text, language, day: Date.parse(second) });
      else questions.push({ kind: first, language: second, notes: third.split(","), text: fourth });
    }
    return { name: file, notes, questions };
  });
}

/** The question of a pair; the older note if it has none. */
function questionOf({ question, older }: RelationPair): string {
  return question === "" ? older : question;
}

async function embedded(client: Client, texts: readonly string[], input_type: "query" | "passage"): Promise<Vectors> {
  const vectors = new Map<string, Float32Array>();
  const unique = [...new Set(texts)].filter((text) => text.trim() !== "");
  for (let at = 0; at < unique.length; at += 64) {
    const input = unique.slice(at, at + 64);
    const { data } = await client.send("POST", "/v1/embeddings", { model: EMBEDDER_ID, input, input_type });
    for (const [place, { embedding }] of recordsIn(data).entries()) {
      vectors.set(input[place] ?? "", Float32Array.from(embedding as number[]));
    }
  }
  return vectors;
}

/** Pairs of a question's right note: with older notes that it replaces, and with newer ones that do not replace it. */
function linesOf({ name, notes, questions }: Person, passages: Vectors, asked: Vectors): readonly (string | null)[] {
  return questions.flatMap((question) => {
    const vector = asked.get(question.text);
    const answers = question.notes.flatMap((number) => notes.get(number) ?? []);
    const [right] = answers;
    const isPast = question.kind === "past" || askedTense(question.text, question.language) === "past";
    if (vector === undefined || right === undefined || isPast) return [];
    const near = [...notes.values()]
      .filter(({ text }) => passages.has(text))
      .sort((left, other) => cosine(passages, vector, other) - cosine(passages, vector, left));
    const lineOf = (isReplaced: boolean, older: Note, newer: Note) =>
      line(name, isReplaced, question, older, newer, {
        passages,
        question: vector,
        newerRank: near.indexOf(newer) + 1,
      });
    const replaced = question.kind === "update" ? answers.slice(1).filter(({ day }) => day < right.day) : [];
    const others = near.slice(0, NEAREST).filter((note) => !answers.includes(note) && note.day > right.day);
    return [
      ...replaced.map((older) => lineOf(true, older, right)),
      ...others.map((newer) => lineOf(false, right, newer)),
    ];
  });
}

/** The pairs of a file. The notes of a language are those of one user. */
function linesOfCorrections(
  file: string,
  pairs: readonly CorrectionPair[],
  passages: Vectors,
  asked: Vectors,
): readonly (string | null)[] {
  return pairs.map(({ isCorrection, language, older, newer, question }, at) => {
    const vector = asked.get(question) ?? new Float32Array();
    const likeness = (text: string) => dot(vector, passages.get(text) ?? vector);
    const notes = pairs.filter((pair) => pair.language === language).flatMap((pair) => [pair.older, pair.newer]);
    const newerRank = 1 + notes.filter((text) => likeness(text) > likeness(newer)).length;
    const [before, after] = [older, newer].map((text) => ({ text, language, day: 0 }));
    if (before === undefined || after === undefined) return null;
    const ranked = { passages, question: vector, newerRank };
    return line(`pair of ${file} ${at}`, isCorrection, { language, text: question }, before, after, ranked);
  });
}

function cosine(passages: Vectors, question: Float32Array, { text }: Note): number {
  return dot(question, passages.get(text) ?? question);
}

/**
 * A line of the file; null if the newer note is about something that only resembles what is asked for, or a note has no
 * vector.
 */
function line(
  group: string,
  isReplaced: boolean,
  question: { readonly text: string; readonly language: string },
  older: Note,
  newer: Note,
  at: { readonly passages: Vectors; readonly question: Float32Array; readonly newerRank: number },
): string | null {
  const specifics = specificsOf(question.text, question.language);
  const [before, after] = [older, newer].map(({ text, language }) => {
    const dated = { key: 0n as MemoryKey, occurredAt: null, occurredAtGiven: null, createdAt: 0 };
    const rank = text === newer.text ? at.newerRank : 1;
    const note: ComparedNote = { text, language, dated, owner: "", rank, cosine: null, vector: null };
    return readNote(note, specifics);
  });
  const [first, second] = [at.passages.get(older.text), at.passages.get(newer.text)];
  if (before === undefined || after === undefined || first === undefined || second === undefined) return null;
  if (after.lacking.codes > before.lacking.codes) return null;
  const asked = { text: question, placed: placedWords(question) };
  if (areNeighbours(asked, before, after, null)) return null;
  const cosines = {
    olderCosine: dot(at.question, first),
    newerCosine: dot(at.question, second),
    pairCosine: dot(first, second),
  };
  const signs = { ...cosines, ...wordSigns(before, after, Number(asksNow(question))) };
  return JSON.stringify({ group, label: Number(isReplaced), signs, older: [...first], newer: [...second] });
}

await runMain(HELP, main);
