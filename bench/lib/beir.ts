// Reads judged collections in BEIR format: corpus.jsonl, queries.jsonl, qrels/<split>.tsv. The JSONL files may be
// compressed (.gz).

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";
import type { Judgements } from "./metrics.ts";
import type { Passage, Question } from "./passages.ts";

/** A question with its relevance judgements. */
export type JudgedQuery = Omit<Question, "asOf">;

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
 * The passages of a JSONL file (`_id`, `title`, `text`, `metadata.userId`), also those whose text is empty.
 * @throws UsageError that names a line that is no passage
 */
export async function* readPassages(path: string): AsyncGenerator<Passage> {
  for await (const { text, number } of readLines(path)) yield passageOfLine(text, `${path}: line ${number}`);
}

/**
 * The first `countMax` passages that have a text: some collections have documents whose text is empty.
 * @throws UsageError as `readPassages`
 */
export async function firstPassages(path: string, countMax: number): Promise<readonly Passage[]> {
  const passages: Passage[] = [];
  for await (const passage of readPassages(path)) {
    if (passages.length === countMax) break;
    if (passage.content.trim() !== "") passages.push(passage);
  }
  return passages;
}

/** A document to store. */
export interface Document {
  readonly title: string;
  readonly content: string;
}

/** The first `countMax` documents that have a text. @throws UsageError as `readPassages` */
export async function firstDocuments(path: string, countMax: number): Promise<readonly Document[]> {
  const passages = await firstPassages(path, countMax);
  return passages.map(({ title, content }) => ({ title: title ?? "", content }));
}

function passageOfLine(text: string, place: string): Passage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${place} is not valid JSON.`, { cause });
  }
  if (!isRecord(value)) throw new UsageError(`${place} is not a JSON object.`);
  const content = value.text ?? value.content;
  if (typeof content !== "string") throw new UsageError(`${place} has no text in "text" or "content".`);
  const metadata = isRecord(value.metadata) ? value.metadata : {};
  const id = value._id ?? value.id ?? value.externalId ?? place;
  return {
    id: String(id),
    title: typeof value.title === "string" && value.title !== "" ? value.title : null,
    content,
    userId: typeof metadata.userId === "string" ? metadata.userId : null,
    metadata,
    type: null,
  };
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

function readJudgements(path: string): ReadonlyMap<string, Judgements> {
  const byQuery = new Map<string, Map<string, number>>();
  for (const row of readFileSync(path, "utf8").split(/\r?\n/)) {
    // the header line has no grade, so it is skipped as well
    const [queryId, documentId, grade] = row.split("\t");
    if (queryId === undefined || documentId === undefined || !(Number(grade) > 0)) continue;
    const judged = byQuery.get(queryId) ?? new Map<string, number>();
    byQuery.set(queryId, judged.set(documentId, Number(grade)));
  }
  return byQuery;
}
