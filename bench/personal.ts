// Quality on personal memories: stores the notes of invented persons (bench/fixtures/personal) through the public API
// and asks their questions. It prints how often the right note comes first, how well scores separate answerable
// questions from others, calibration, and abstention. `bun bench/personal.ts --help` lists the flags.

import { writeFileSync } from "node:fs";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { UsageError } from "../src/kit/flags.ts";
import { isRecord, type JsonRecord, recordsIn } from "../src/kit/record.ts";
import { type DocumentOf, missedReranker, replyOf } from "./lib/ask.ts";
import { modesOf } from "./lib/modes.ts";
import {
  everyoneIn,
  fillerMemories,
  HALVES,
  languagePair,
  type Person,
  personalContent,
  questionsIn,
  REPORTED_PERSONS,
  readPersons,
} from "./lib/personal.ts";
import {
  type AskedQuestion,
  type Figure,
  figuresOf,
  RESULTS,
  rankOfRight,
  rowOf,
  topScore,
} from "./lib/personal-scores.ts";
import { writeRows } from "./lib/record.ts";
import { runMain } from "./lib/run-main.ts";
import { shortFigure } from "./lib/scores.ts";
import { memoryNames, type ServerContent, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/personal.ts [flags]

Measures search and abstention on personal memories. Writes bench/results/personal.json, unless a flag below says "not
recorded".

  --persons NAMES     persons, such as p01-p06 or p07,p09 (default: ${REPORTED_PERSONS}; not recorded if given)
  --half NAME         all persons of the newer sets: dev (may choose weights) or test (only for reported figures; not
                      recorded)
  --language NAMES    only questions in these languages, such as en or en,de, whose notes are in them, too (not recorded)
  --mode NAMES        modes, separated by commas (default: ${MODE_NAMES.join(",")}; not recorded if given)
  --alone             each person in a store without the others (not recorded)
  --filler N          add N memories of other users (not recorded)
  --filler-from FILE  JSONL file of these memories
  --data FOLDER       keep data directories here, so that the next run needs no ingest
  --dump FILE         write one JSON line per question and mode, for error analysis

Every person is a user, and a question searches the memories of its user. Notes have their day as occurred_at, and
questions are asked on the day after the person's last note (asOf). "right first" is the share of questions whose right
note is the first result: either one if two notes are needed, the newest of contradicting ones, or for "past" the older
one. The rows of languages are without update and past.
Abstention is that of answers without a language model at the default min_evidence.`;

/** Number of questions that are asked first in each mode, without measuring, to warm up caches and models. */
const WARM_UP_QUESTIONS = 5;
/** Maximum number of times that a search is repeated because its reranking timed out on a busy machine. */
const ATTEMPTS_MAX = 5;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const persons = personsOf(flags);
  const modes = modesOf(flags.get("--mode"));
  const stores = flags.has("--alone") ? persons.map((person) => [person]) : [persons];
  const filler = await fillerOf(flags.get("--filler-from"), Number(flags.get("--filler") ?? 0));

  const asked = new Map<ModeName, AskedQuestion[]>(modes.map((mode) => [mode, []]));
  const languages = flags.get("--language")?.split(",") ?? null;
  for (const store of stores) {
    const content: ServerContent = personalContent(store, filler);
    await using server = await serve(content, flags.get("--data") ?? null);
    const client = new Client(server.url, server.key);
    const noteOf = await memoryNames(client);
    const questions = store.flatMap((person) =>
      (languages === null ? person.questions : questionsIn(languages, person)).map((question) => ({
        person,
        question,
      })),
    );
    for (const mode of modes) asked.get(mode)?.push(...(await askAll(content.name, client, mode, questions, noteOf)));
  }

  const figures = new Map([...asked].map(([mode, of]) => [mode, figuresOf(of)]));
  process.stdout.write(`${table(figures)}\n`);
  const dump = flags.get("--dump");
  if (dump !== undefined) writeFileSync(dump, dumpLines(asked).join(""));
  if (["--persons", "--language", "--mode", "--alone", "--filler", "--half"].some((flag) => flags.has(flag))) return;
  const rows = [...figures].flatMap(([mode, of]) => of.map((figure) => rowOf(mode, figure)));
  process.stdout.write(`written to ${writeRows("personal", rows)}\n`);
}

function personsOf(flags: ReadonlyMap<string, string>): readonly Person[] {
  const half = flags.get("--half");
  if (half === undefined) return readPersons(flags.get("--persons") ?? REPORTED_PERSONS);
  const folder = HALVES.get(half);
  if (folder === undefined) throw new UsageError("--half must be dev or test.");
  return readPersons(flags.get("--persons") ?? everyoneIn(folder), folder);
}

async function fillerOf(file: string | undefined, count: number): Promise<readonly JsonRecord[]> {
  if (!Number.isInteger(count) || count < 0) throw new UsageError("--filler must be a whole number from 0.");
  if (count === 0) return [];
  if (file === undefined) throw new UsageError("Give the file of other memories with --filler-from.");
  return fillerMemories(file, count);
}

async function askAll(
  name: string,
  client: Client,
  mode: ModeName,
  questions: readonly Asking[],
  noteOf: DocumentOf,
): Promise<readonly AskedQuestion[]> {
  const progress = new Progress(`${name} ${mode}:`);
  for (const each of questions.slice(0, WARM_UP_QUESTIONS)) await ask(client, mode, each, noteOf);
  const asked: AskedQuestion[] = [];
  for (const each of questions) {
    asked.push(await ask(client, mode, each, noteOf));
    progress.show(asked.length / questions.length, `${asked.length} of ${questions.length} questions`);
  }
  progress.finish(`${name} ${mode}: ${asked.length} questions`);
  return asked;
}

type Asking = { readonly person: Person; readonly question: AskedQuestion["question"] };

async function ask(
  client: Client,
  mode: ModeName,
  { person, question }: Asking,
  noteOf: DocumentOf,
): Promise<AskedQuestion> {
  const body = { query: question.text, mode, userId: person.id, asOf: person.askedOn };
  const found = await searched(client, { ...body, limit: RESULTS, explain: true }, noteOf);
  const answer = await client.send("POST", "/v1/memories/query", body);
  const sources = recordsIn(answer.sources);
  return {
    question,
    found,
    answer: String(answer.answer),
    isAbstention: !sources.some(({ cited }) => cited === true),
  };
}

/** @throws Error if reranking timed out in all attempts */
async function searched(client: Client, body: JsonRecord, noteOf: DocumentOf): Promise<AskedQuestion["found"]> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const answer = await client.send("POST", "/v1/memories/search", body);
    if (missedReranker(replyOf(answer, noteOf, 0))) continue;
    const results = recordsIn(answer.results);
    return results.map((result) => ({
      note: noteOf(result),
      text: String(result.content),
      score: Number(result.score),
      signals: signalScores(result),
    }));
  }
  throw new Error("the machine is too busy: reranking timed out in every attempt");
}

function signalScores({ explain }: JsonRecord): Readonly<Record<string, number>> {
  const signals = isRecord(explain) && isRecord(explain.signals) ? explain.signals : {};
  return Object.fromEntries(
    Object.entries(signals).flatMap(([name, signal]) => (isRecord(signal) ? [[name, Number(signal.score)]] : [])),
  );
}

function table(figures: ReadonlyMap<ModeName, readonly Figure[]>): string {
  const [first = []] = figures.values();
  const rows = first.map(({ measure, group, questions }) => [
    measure,
    group,
    String(questions),
    ...[...figures.values()].map((of) => cell(of.find((each) => each.measure === measure && each.group === group))),
  ]);
  return alignRows([["measure", "group", "questions", ...figures.keys()], ...rows]).join("\n");
}

function cell(figure: Figure | undefined): string {
  if (figure === undefined) return "";
  const { value, low, high } = figure;
  return `${shortFigure(value)} (${shortFigure(low)} to ${shortFigure(high)})`;
}

function dumpLines(asked: ReadonlyMap<ModeName, readonly AskedQuestion[]>): readonly string[] {
  return [...asked].flatMap(([mode, of]) =>
    of.map((each) => {
      const { question, found, answer, isAbstention } = each;
      const { id, kind, language, text, notes, gold } = question;
      return `${JSON.stringify({
        id,
        mode,
        kind,
        language,
        languages: languagePair(question),
        question: text,
        gold,
        right: notes.map((note) => note.id),
        rank: rankOfRight(each),
        topScore: topScore(each),
        isAbstention,
        answer,
        found,
      })}\n`;
    }),
  );
}

await runMain(HELP, main);
