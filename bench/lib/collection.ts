// A judged collection in BEIR's layout: corpus.jsonl.gz, queries.jsonl.gz, qrels/<split>.tsv; small ones are not compressed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isRecord } from "../../src/cli/client.ts";
import { readLines } from "../../src/cli/lines.ts";
import { UsageError } from "../../src/kit/flags.ts";
import type { Judgements } from "./metrics.ts";

/** A question with its judged answers. */
export interface JudgedQuery {
  readonly id: string;
  readonly text: string;
  /** The user whose memories are asked; null: everybody's. */
  readonly userId: string | null;
  readonly judgements: Judgements;
}

/** Where collections are unless a flag says otherwise: beside a checkout. */
export const COLLECTIONS = resolve(import.meta.dir, "../../../shared/data/ir");

/**
 * The folder of collections that a bench takes.
 * @param named by its flag `--from`.
 * @throws UsageError when there is none.
 */
export function collectionsFolder(named: string | undefined): string {
  const folder = named ?? COLLECTIONS;
  if (!existsSync(folder)) throw new UsageError(`No collections at ${folder}; name their folder with --from.`);
  return folder;
}

/** The collections that a flag names, by comma; all of the folder where it names none. */
export function collectionNames(folder: string, named: string | undefined): readonly string[] {
  return named?.split(",") ?? readdirSync(folder).filter((name) => existsSync(corpusFile(join(folder, name))));
}

/** The file that holds a collection's documents. */
export function corpusFile(folder: string): string {
  return plainOrGzip(folder, "corpus.jsonl");
}

/** The file that holds the judgements of a split; it need not be there. */
export function judgementsFile(folder: string, split: string): string {
  return join(folder, "qrels", `${split}.tsv`);
}

/** The file that holds a collection's questions. */
export function queriesFile(folder: string): string {
  return plainOrGzip(folder, "queries.jsonl");
}

function plainOrGzip(folder: string, name: string): string {
  const plain = join(folder, name);
  return existsSync(plain) ? plain : `${plain}.gz`;
}

/**
 * The queries of one split, in the order of the queries' file; queries without a relevant document are left out.
 * @throws Error when a file is missing or not in this layout.
 */
export async function readJudgedQueries(folder: string, split: string): Promise<readonly JudgedQuery[]> {
  const judgements = readJudgements(judgementsFile(folder, split));
  const queries: JudgedQuery[] = [];
  for await (const query of readQueries(queriesFile(folder))) {
    const judged = judgements.get(query.id);
    if (judged !== undefined) queries.push({ ...query, judgements: judged });
  }
  return queries;
}

/** At most so many of the queries, evenly spread: neighbours ask of the same conversation. */
export function spread(queries: readonly JudgedQuery[], countMax: number): readonly JudgedQuery[] {
  if (queries.length <= countMax) return queries;
  return queries.filter(
    (_, at) => Math.floor((at * countMax) / queries.length) !== Math.floor(((at - 1) * countMax) / queries.length),
  );
}

/**
 * The queries of a JSONL file (`_id`, `text`, optionally `metadata.userId`).
 * @throws Error on a line in another form.
 */
export async function* readQueries(path: string): AsyncGenerator<Omit<JudgedQuery, "judgements">> {
  for await (const line of readLines(path)) {
    const value: unknown = JSON.parse(line.text);
    if (!isRecord(value) || typeof value.text !== "string") throw new Error(`${path}: line ${line.number} has no text`);
    const owner = isRecord(value.metadata) ? value.metadata.userId : undefined;
    yield { id: String(value._id), text: value.text, userId: typeof owner === "string" ? owner : null };
  }
}

/**
 * The texts of the first `count` queries of a JSONL file, for memories that belong to nobody: with the queries' users nothing would be
 * searched.
 * @throws Error on a line in another form.
 */
export async function firstQuestions(path: string, count: number): Promise<readonly string[]> {
  const questions: string[] = [];
  for await (const { text } of readQueries(path)) {
    if (questions.length >= count) break;
    questions.push(text);
  }
  return questions;
}

function readJudgements(path: string): ReadonlyMap<string, Judgements> {
  const byQuery = new Map<string, Map<string, number>>();
  const [, ...rows] = readFileSync(path, "utf8").trimEnd().split("\n"); // the first line names the columns
  for (const row of rows) {
    const [queryId, documentId, grade] = row.split("\t");
    if (queryId === undefined || documentId === undefined || !(Number(grade) > 0)) continue;
    const judged = byQuery.get(queryId) ?? new Map<string, number>();
    byQuery.set(queryId, judged.set(documentId, Number(grade)));
  }
  return byQuery;
}
