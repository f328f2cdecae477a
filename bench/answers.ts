// Answers without a language model: stores the notes of invented persons, asks for what they say, and for similar
// things that they do not say, which must stay unanswered. `bun bench/answers.ts --help` lists the flags.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { UsageError } from "../src/kit/flags.ts";
import { type JsonRecord, recordsIn } from "../src/kit/record.ts";
import { modesOf } from "./lib/modes.ts";
import { runMain } from "./lib/run-main.ts";
import { countedShare } from "./lib/scores.ts";
import { ingestLines, type ServerContent, serve } from "./lib/served-collection.ts";

const HELP = `bun bench/answers.ts [flags]

Asks the questions of bench/fixtures/answers. Prints, for each mode, the share of

  neighbours    questions for what is not stored beside something alike: refused, or with the gap named
  named         those of them whose answer names the gap
  controls      the same questions with the value stored: answered with it
  halves        questions for two things of which one is stored: its value, and the gap named
  relevant      cited passages that answer
  first right   answers whose first citation is right
  both          questions for two facts: both are cited

  --set NAME      dev, whose questions may be looked at, or test (default: test)
  --mode NAMES    modes, separated by commas (default: balanced)
  --data FOLDER   keep data directories here, so that the next run needs no ingest
  --show          list the answers that are wrong`;

/** A question of a person and what its answer must have. */
interface Asked {
  readonly kind: "neighbour" | "control" | "half" | "facts";
  readonly userId: string;
  readonly text: string;
  /** Texts that the answer must contain; for `facts`, texts that the cited passages must contain. */
  readonly values: readonly string[];
  /** What the question names although no note has it; null if the notes have everything. */
  readonly missing: string | null;
}

/** An answer to a question. */
interface Answered extends Asked {
  readonly answer: string;
  readonly state: string;
  /** Texts of the cited passages, in the order of their numbers. */
  readonly cited: readonly string[];
}

interface Fixture {
  readonly notes: readonly { readonly userId: string; readonly content: string }[];
  readonly questions: readonly Asked[];
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const set = flags.get("--set") ?? "test";
  if (set !== "dev" && set !== "test") throw new UsageError("--set must be dev or test.");
  const fixture = readFixture(set);
  await using server = await serve(contentOf(set, fixture), flags.get("--data") ?? null);
  const client = new Client(server.url, server.key);
  const rows: string[][] = [["mode", ...MEASURES.keys()]];
  for (const mode of modesOf(flags.get("--mode") ?? "balanced")) {
    const progress = new Progress(`${mode}:`);
    const answered: Answered[] = [];
    for (const asked of fixture.questions) {
      answered.push(await ask(client, asked, mode));
      progress.show(answered.length / fixture.questions.length, `${answered.length} questions`);
    }
    progress.finish(`${mode}: ${answered.length} questions`);
    rows.push([mode, ...[...MEASURES.values()].map((measure) => countedShare(answered.flatMap(measure)))]);
    if (flags.has("--show")) for (const each of answered) if (!isRight(each)) process.stdout.write(shown(each));
  }
  process.stdout.write(`${alignRows(rows).join("\n")}\n`);
}

/** Reads a fixture; bench/fixtures/answers/README.md describes its lines. */
function readFixture(set: string): Fixture {
  const notes: { userId: string; content: string }[] = [];
  const questions: Asked[] = [];
  let person = "";
  for (const line of readFileSync(join(import.meta.dir, "fixtures/answers", `${set}.tsv`), "utf8")
    .trim()
    .split("\n")) {
    const [kind = "", first = "", second = "", third = "", fourth = ""] = line.split("\t");
    // The notes of a person are stored for two users. The second one also has notes that answer the questions for what
    // the first one has not stored.
    const [userId, informed] = [person, `${person}-informed`];
    if (kind === "P") person = first;
    else if (kind === "N") notes.push({ userId, content: first }, { userId: informed, content: first });
    else if (kind === "G") {
      notes.push({ userId: informed, content: third });
      questions.push({ kind: "neighbour", userId, text: first, values: [], missing: second });
      questions.push({ kind: "control", userId: informed, text: first, values: [fourth], missing: null });
    } else if (kind === "B") {
      questions.push({ kind: "half", userId, text: first, values: [second], missing: third });
    } else {
      const values = [second, third].filter((value) => value !== "");
      questions.push({ kind: "facts", userId, text: first, values, missing: null });
    }
  }
  return { notes, questions };
}

function contentOf(set: string, { notes }: Fixture): ServerContent {
  const lines = notes.map((note, at) => ({ ...note, externalId: `${set}-${at}` }));
  return {
    name: `answers ${set}`,
    directory: `answers-${set}`,
    externalIds: new Set(lines.map(({ externalId }) => externalId)),
    fill: (server) =>
      ingestLines(
        server,
        lines.map((line) => JSON.stringify(line)),
      ),
  };
}

async function ask(client: Client, asked: Asked, mode: string): Promise<Answered> {
  const body = await client.send("POST", "/v1/memories/query", { query: asked.text, userId: asked.userId, mode });
  const cited = recordsIn(body.sources).filter((source: JsonRecord) => source.cited === true);
  return {
    ...asked,
    answer: String(body.answer),
    state: String(body.answer_state),
    cited: cited.map(({ content }) => String(content)),
  };
}

const names = ({ answer, missing }: Answered) => missing !== null && answer.includes(missing);
const hasValues = ({ answer, values }: Answered) => values.every((value) => answer.includes(value));
const isRelevant = ({ values }: Answered, text: string) => values.some((value) => text.includes(value));

function isRight(answered: Answered): boolean {
  const { kind, state, cited, values } = answered;
  if (kind === "neighbour") return state === "not_found";
  if (kind === "half") return state === "partial" && names(answered) && hasValues(answered);
  if (state !== "answered") return false;
  if (kind === "control") return hasValues(answered);
  const areRelevant = cited.every((text) => isRelevant(answered, text));
  return areRelevant && values.every((value) => cited.some((text) => text.includes(value)));
}

/** The measures: for each answer, none or several values. */
const MEASURES: ReadonlyMap<string, (answered: Answered) => readonly boolean[]> = new Map([
  ["neighbours", (each) => (each.kind === "neighbour" ? [isRight(each)] : [])],
  ["named", (each) => (each.kind === "neighbour" ? [isRight(each) && names(each)] : [])],
  ["controls", (each) => (each.kind === "control" ? [isRight(each)] : [])],
  ["halves", (each) => (each.kind === "half" ? [isRight(each)] : [])],
  ["relevant", (each) => (each.kind === "facts" ? each.cited.map((text) => isRelevant(each, text)) : [])],
  ["first right", (each) => (each.kind === "facts" ? [isRelevant(each, each.cited[0] ?? "")] : [])],
  [
    "both",
    (each) =>
      each.kind === "facts" && each.values.length > 1
        ? [each.values.every((value) => each.cited.some((text) => text.includes(value)))]
        : [],
  ],
]);

function shown({ kind, userId, text, state, answer }: Answered): string {
  return `${kind} ${userId}: ${text}\n    ${state}: ${answer}\n`;
}

await runMain(HELP, main);
