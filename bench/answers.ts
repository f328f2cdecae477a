// Quality of the answers: asks the questions of collections with gold answers through the public API. It counts the
// answers that contain the gold, evaluates what they cite, and counts the answers that rightly abstain. `bun
// bench/answers.ts --help` lists the flags.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Client, RequestRefused } from "../src/cli/client.ts";
import { alignRows, Progress } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import type { ModeName } from "../src/domain/ranking.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { isRecord } from "../src/kit/record.ts";
import {
  type Answered,
  abstentionAt,
  answersRow,
  type JudgedAnswer,
  type MeasuredAnswers,
  saysGold,
} from "./lib/answer-scores.ts";
import {
  COLLECTIONS,
  collectionNames,
  collectionsFolder,
  type JudgedQuery,
  judgementsFile,
  readJudgedQueries,
} from "./lib/collection.ts";
import { readGolds } from "./lib/golds.ts";
import { modesOf } from "./lib/modes.ts";
import { lastRows, type Row, sameRow, writeRows } from "./lib/record.ts";
import { shortFigure, signed } from "./lib/scores.ts";
import { collectionContent, type DocumentOf, documentNames, serve } from "./lib/served-collection.ts";

const SETS = "2wikimultihop,hotpotqa,locomo";
const HELP = `bun bench/answers.ts [flags]

Measures how often answers contain the gold answer, what they cite, and how often they abstain. Writes
bench/results/answers.json, unless a flag below says "not recorded".

  --set NAMES    collections with gold answers, separated by commas (default: ${SETS})
  --from FOLDER  folder of the collections (default: ${COLLECTIONS})
  --data FOLDER  keep each server's data directory here, so that the next run needs no ingest
  --mode NAMES   modes, separated by commas (default: balanced)
  --split NAME   split of judged questions (default: test; others are not recorded)
  --queries N    use only the first N questions of each collection and kind (not recorded)
  --sources N    maximum sources of an answer (default: ${LIMITS.sourcesDefault}; others are not recorded)
  --show N       print the first N questions of each collection with gold and answer
  --url URL      use this running server, which already has the collection; for example one with a language model
                 (not recorded)
  --key KEY      API key for --url

An answer counts as correct if it contains the gold word for word, in lower case, without articles and punctuation (like
SQuAD's evaluation). Questions with a yes/no gold are counted separately: for them the bench only checks whether the answer
cites all judged passages. For questions without a stored answer (a split named adversarial), abstaining is correct.`;

/** Number of questions that are asked first in each mode, without measuring, to warm up caches and lanes. */
const WARM_UP_QUERIES = 3;
/** Name of the split with questions whose answer is not stored; not every collection has one. */
const UNANSWERABLE = "adversarial";
/** Values of `min_evidence` for which the share of abstentions is printed. */
const EVIDENCE_MINS = [0.1, 0.2, 0.3];

interface Plan {
  readonly modes: readonly ModeName[];
  readonly split: string;
  readonly queriesMax: number;
  readonly maxSources: number;
  readonly shown: number;
}

interface Questions {
  readonly answerable: readonly { readonly query: JudgedQuery; readonly gold: string }[];
  readonly unanswerable: readonly JudgedQuery[];
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--set": "value",
    "--from": "value",
    "--data": "value",
    "--mode": "value",
    "--split": "value",
    "--queries": "value",
    "--sources": "value",
    "--show": "value",
    "--url": "value",
    "--key": "value",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const from = collectionsFolder(flags.get("--from"));
  const sets = collectionNames(from, flags.get("--set") ?? SETS);
  const plan: Plan = {
    modes: modesOf(flags.get("--mode") ?? "balanced"),
    split: flags.get("--split") ?? "test",
    queriesMax: Number(flags.get("--queries") ?? Number.POSITIVE_INFINITY),
    maxSources: Number(flags.get("--sources") ?? LIMITS.sourcesDefault),
    shown: Number(flags.get("--show") ?? 0),
  };
  const url = flags.get("--url");
  const data = flags.get("--data") ?? null;

  const measured: MeasuredAnswers[] = [];
  for (const set of sets) {
    const folder = join(from, set);
    const questions = await questionsOf(set, folder, plan);
    if (questions.answerable.length === 0) {
      process.stdout.write(`${set} has no gold answers for the questions of the split ${plan.split}\n`);
      continue;
    }
    if (url !== undefined) {
      measured.push(...(await measureSet(set, folder, questions, plan, new Client(url, flags.get("--key") ?? ""))));
      continue;
    }
    await using server = await serve(await collectionContent(set, folder), data);
    measured.push(...(await measureSet(set, folder, questions, plan, new Client(server.url, server.key))));
  }
  if (measured.length === 0) return;

  const before = lastRows("answers");
  const rows = measured.map(answersRow);
  process.stdout.write(`${tables(rows, before)}\n\n${measured.map(abstentionSentence).join("\n")}\n`);
  const isWhole =
    plan.split === "test" &&
    !Number.isFinite(plan.queriesMax) &&
    plan.maxSources === LIMITS.sourcesDefault &&
    url === undefined;
  if (!isWhole) return;
  const kept = before.filter((row) => sameRow(rows, row, ["set", "mode"]) === undefined);
  const all = [...kept, ...rows].sort((left, right) => String(left.set).localeCompare(String(right.set)));
  process.stdout.write(`written to ${writeRows("answers", all)}\n`);
}

async function questionsOf(set: string, folder: string, plan: Plan): Promise<Questions> {
  const golds = await readGolds(set, folder);
  const judged = await readJudgedQueries(folder, plan.split);
  const answerable = judged.flatMap((query) => {
    const gold = golds.get(query.id);
    return gold === undefined ? [] : { query, gold };
  });
  const hasOthers = plan.split === "test" && existsSync(judgementsFile(folder, UNANSWERABLE));
  const unanswerable = hasOthers ? await readJudgedQueries(folder, UNANSWERABLE) : [];
  return {
    answerable: answerable.slice(0, plan.queriesMax),
    unanswerable: unanswerable.slice(0, plan.queriesMax),
  };
}

async function measureSet(
  set: string,
  folder: string,
  { answerable, unanswerable }: Questions,
  plan: Plan,
  client: Client,
): Promise<readonly MeasuredAnswers[]> {
  const documentOf = await documentNames(client, folder);
  const measured: MeasuredAnswers[] = [];
  for (const mode of plan.modes) {
    const progress = new Progress(`${set} ${mode}:`);
    const all = answerable.length + unanswerable.length;
    let asked = 0;
    let failed = 0;
    const one = async (query: JudgedQuery) => {
      progress.show(asked++ / all, `${asked} of ${all} questions`);
      return ask(client, query, mode, plan.maxSources, documentOf);
    };
    for (const { query } of answerable.slice(0, WARM_UP_QUERIES)) {
      await ask(client, query, mode, plan.maxSources, documentOf);
    }
    const judged: JudgedAnswer[] = [];
    for (const { query, gold } of answerable) {
      const answered = await one(query);
      if (answered === null) failed++;
      else judged.push({ ...answered, query, gold });
    }
    const others: Answered[] = [];
    for (const query of unanswerable) {
      const answered = await one(query);
      if (answered === null) failed++;
      else others.push(answered);
    }
    progress.finish(`${set} ${mode}: ${all} questions${failed === 0 ? "" : `, ${failed} failed and are left out`}`);
    for (const each of judged.slice(0, plan.shown)) show(each);
    measured.push({ set, mode, answerable: judged, unanswerable: others });
  }
  return measured;
}

/** null if the server's language model failed. */
async function ask(
  client: Client,
  { text, userId }: JudgedQuery,
  mode: ModeName,
  maxSources: number,
  documentOf: DocumentOf,
): Promise<Answered | null> {
  const startedAt = performance.now();
  const body = { query: text, mode, maxSources, ...(userId === null ? {} : { userId }) };
  try {
    const answer = await client.send("POST", "/v1/memories/query", body);
    const wholeMs = performance.now() - startedAt;
    const sources = Array.isArray(answer.sources) ? answer.sources.filter(isRecord) : [];
    return {
      answer: String(answer.answer),
      sources: sources.map((source) => ({
        document: documentOf(source),
        text: String(source.content),
        score: Number(source.score),
        isCited: source.cited === true,
      })),
      tokensUsed: isRecord(answer.usage) ? Number(answer.usage.tokens_used) : 0,
      wholeMs,
    };
  } catch (error) {
    if (error instanceof RequestRefused && error.code.startsWith("llm_")) return null;
    throw error;
  }
}

function show(each: JudgedAnswer): void {
  const { query, gold, answer, wholeMs } = each;
  const mark = saysGold(each) ? "+" : "-";
  process.stdout.write(`${mark} ${query.text}\n  gold: ${gold}   (${wholeMs.toFixed(0)} ms)\n  ${answer}\n`);
}

/** Columns of the first table: whether answers contain the gold. */
const GOLD_COLUMNS = {
  questions: "questions",
  contained: "contain gold",
  first: "first sentence does",
  words: "words of gold",
  withEvidence: "all judged found",
  containedWithEvidence: "contain gold",
  firstWithEvidence: "first does",
  holding: "gold found",
  containedHolding: "contain gold",
};
/** Columns of the second table: citations, abstentions, length and time. */
const SOURCE_COLUMNS = {
  citedSayGold: "cited contain gold",
  citedJudged: "cited are judged",
  verdicts: "yes or no",
  verdictsCiteAll: "cite all judged",
  abstained: "abstained",
  unanswerable: "unanswerable",
  abstainedUnanswerable: "of them abstained",
  lengthWords: "words",
  p50Ms: "p50 ms",
  p95Ms: "p95 ms",
  tokensUsed: "tokens",
};
const COUNTS = new Set([
  "questions",
  "withEvidence",
  "holding",
  "verdicts",
  "unanswerable",
  "lengthWords",
  "tokensUsed",
]);

function tables(rows: readonly Row[], before: readonly Row[]): string {
  const table = (columns: Readonly<Record<string, string>>, last: (row: Row) => readonly string[]) =>
    rows.map((row) => [
      ...["set", "mode"].map((column) => String(row[column])),
      ...Object.keys(columns).map((column) => formatted(column, row[column])),
      ...last(row),
    ]);
  const since = (row: Row) => {
    const same = sameRow(before, row, ["set", "mode", "questions"]);
    return [same === undefined ? "" : signed(Number(row.contained) - Number(same.contained), 3)];
  };
  const golds = [["set", "mode", ...Object.values(GOLD_COLUMNS), "since last run"], ...table(GOLD_COLUMNS, since)];
  const sources = [["set", "mode", ...Object.values(SOURCE_COLUMNS)], ...table(SOURCE_COLUMNS, () => [])];
  return `${alignRows(golds, true).join("\n")}\n\n${alignRows(sources, true).join("\n")}`;
}

function formatted(column: string, value: string | number | undefined): string {
  if (value === undefined) return "";
  if (COUNTS.has(column)) return Number(value).toFixed(0);
  return column.endsWith("Ms") ? Number(value).toFixed(0) : shortFigure(Number(value));
}

// The share of abstentions that a project's `min_evidence` would cause.
function abstentionSentence({ set, mode, answerable, unanswerable }: MeasuredAnswers): string {
  const shares = EVIDENCE_MINS.map((evidenceMin) => {
    const [good, bad] = [answerable, unanswerable].map((answers) => abstentionAt(evidenceMin, answers));
    const others = unanswerable.length === 0 ? "" : `, ${shortFigure(bad ?? 0)} of the unanswerable`;
    return `${evidenceMin}: ${shortFigure(good ?? 0)} of the answerable${others}`;
  });
  return `${set} ${mode}, questions without an answer at a min_evidence of ${shares.join("; ")}`;
}

await main();
