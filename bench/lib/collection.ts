// Reads judged collections in BEIR format: corpus.jsonl.gz, queries.jsonl.gz, qrels/<split>.tsv. The files of small
// collections may be uncompressed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readLines } from "../../src/cli/lines.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { isRecord } from "../../src/kit/record.ts";
import type { Judgements } from "./metrics.ts";

/** A question with its relevance judgements. */
export interface JudgedQuery {
  readonly id: string;
  readonly text: string;
  /** The user whose memories are searched; null if all memories are searched. */
  readonly userId: string | null;
  readonly judgements: Judgements;
}

/** Default folder of the collections, next to the folder of the repository. */
export const COLLECTIONS = resolve(import.meta.dir, "../../../shared/data/ir");

/**
 * The folder of collections for a bench.
 * @param named value of the flag `--from`
 * @throws UsageError if the folder does not exist
 */
export function collectionsFolder(named: string | undefined): string {
  const folder = named ?? COLLECTIONS;
  if (!existsSync(folder))
    throw new UsageError(`${folder} does not exist; give the folder of the collections with --from.`);
  return folder;
}

/** Names of collections from a comma-separated flag; without the flag, all collections of the folder. */
export function collectionNames(folder: string, named: string | undefined): readonly string[] {
  return named?.split(",") ?? readdirSync(folder).filter((name) => existsSync(corpusFile(join(folder, name))));
}

/** Path of a collection's documents. */
export function corpusFile(folder: string): string {
  return plainOrGzip(folder, "corpus.jsonl");
}

/** Path of the judgements of a split; the file may not exist. */
export function judgementsFile(folder: string, split: string): string {
  return join(folder, "qrels", `${split}.tsv`);
}

/** Path of a collection's questions. */
export function queriesFile(folder: string): string {
  return plainOrGzip(folder, "queries.jsonl");
}

function plainOrGzip(folder: string, name: string): string {
  const plain = join(folder, name);
  return existsSync(plain) ? plain : `${plain}.gz`;
}

/**
 * The queries of one split, in the order of the queries file. Queries without a relevant document are left out.
 * @throws Error if a file is missing or has another format
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

/** At most `countMax` queries, evenly spread, because neighbours are about the same conversation. */
export function spread(queries: readonly JudgedQuery[], countMax: number): readonly JudgedQuery[] {
  if (queries.length <= countMax) return queries;
  return queries.filter(
    (_, at) => Math.floor((at * countMax) / queries.length) !== Math.floor(((at - 1) * countMax) / queries.length),
  );
}

/**
 * The queries of a JSONL file (`_id`, `text`, optional `metadata.userId`).
 * @throws Error on a line in another format
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
 * The texts of the first `count` queries of a JSONL file, without their users. For searches of memories that belong to
 * no user, because a search for a user's memories would find none of them.
 * @throws Error on a line in another format
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
  const [, ...rows] = readFileSync(path, "utf8").trimEnd().split("\n"); // skips the header line
  for (const row of rows) {
    const [queryId, documentId, grade] = row.split("\t");
    if (queryId === undefined || documentId === undefined || !(Number(grade) > 0)) continue;
    const judged = byQuery.get(queryId) ?? new Map<string, number>();
    byQuery.set(queryId, judged.set(documentId, Number(grade)));
  }
  return byQuery;
}
