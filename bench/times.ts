// Times in questions: stores the notes of invented persons, which are alike but for their days, and asks for those of a
// time. It prints how often the right note comes first, and how often it does where time words select nothing.
// `bun bench/times.ts --help` lists the flags.

import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { MODE_NAMES, type ModeName } from "../src/domain/ranking.ts";
import { UsageError } from "../src/kit/flags.ts";
import { recordsIn } from "../src/kit/record.ts";
import type { DocumentOf } from "./lib/ask.ts";
import { modesOf } from "./lib/modes.ts";
import { type Person, type PersonalQuestion, personalContent, readPersons, TIME_KINDS } from "./lib/personal.ts";
import { isRight } from "./lib/personal-scores.ts";
import { runMain } from "./lib/run-main.ts";
import { countedShare } from "./lib/scores.ts";
import { memoryNames, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/times.ts [flags]

Measures search for what was noted at a time. Prints the share of questions whose right note is the first result:
"dated" questions name the time of their note, "undated" ones have time words that do not select it.

  --set NAME      dev, whose questions may be looked at, or test (default: test)
  --mode NAMES    modes, separated by commas (default: ${MODE_NAMES.join(",")})
  --data FOLDER   keep data directories here, so that the next run needs no ingest
  --show          list the questions whose right note is not the first result`;

/** Persons of each set, as a range of their files in bench/fixtures. */
const SETS = { dev: "d01-d17", test: "t01-t17" } as const;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const set = flags.get("--set") ?? "test";
  if (set !== "dev" && set !== "test") throw new UsageError("--set must be dev or test.");
  const persons = readPersons(SETS[set], join(import.meta.dir, `fixtures/times-${set}`));
  await using server = await serve(personalContent(persons), flags.get("--data") ?? null);
  const client = new Client(server.url, server.key);
  const noteOf = await memoryNames(client);
  const rows: string[][] = [["mode", "kind", "English", "other languages"]];
  for (const mode of modesOf(flags.get("--mode"))) {
    const asked = await askAll(client, mode, persons, noteOf);
    for (const kind of TIME_KINDS) {
      const of = asked.filter(({ question }) => question.kind === kind);
      rows.push([mode, kind, ...[true, false].map((isEnglish) => share(of, isEnglish))]);
    }
    if (!flags.has("--show")) continue;
    for (const { question, isFirst } of asked) {
      if (!isFirst) process.stdout.write(`${mode} ${question.id} ${question.kind}: ${question.text}\n`);
    }
  }
  process.stdout.write(`${alignRows(rows).join("\n")}\n`);
}

interface Asked {
  readonly question: PersonalQuestion;
  readonly isFirst: boolean;
}

async function askAll(
  client: Client,
  mode: ModeName,
  persons: readonly Person[],
  noteOf: DocumentOf,
): Promise<readonly Asked[]> {
  const progress = new Progress(`${mode}:`);
  const all = persons.flatMap((person) => person.questions.map((question) => ({ person, question })));
  const asked: Asked[] = [];
  for (const { person, question } of all) {
    const body = { query: question.text, mode, userId: person.id, asOf: person.askedOn, limit: 1 };
    const [first] = recordsIn((await client.send("POST", "/v1/memories/search", body)).results);
    asked.push({ question, isFirst: first !== undefined && isRight(question, noteOf(first)) });
    progress.show(asked.length / all.length, `${asked.length} of ${all.length} questions`);
  }
  progress.finish(`${mode}: ${asked.length} questions`);
  return asked;
}

function share(asked: readonly Asked[], isEnglish: boolean): string {
  const of = asked.filter(({ question }) => (question.language === "en") === isEnglish);
  return countedShare(of.map(({ isFirst }) => isFirst));
}

await runMain(HELP, main);
