// Where the judged collections of the benches are, and which of their questions are asked. beir.ts reads them.

import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import { corpusFile, type JudgedQuery, readQueries } from "./beir.ts";

/** Default folder of test data, next to the folder of the repository. */
export const SHARED_DATA = resolve(import.meta.dir, "../../../shared/data");
/** Default folder of the collections. */
export const COLLECTIONS = join(SHARED_DATA, "ir");
/** Default collection of benches that need one. */
export const SCIFACT = join(COLLECTIONS, "scifact");

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

/** At most `countMax` queries, evenly spread, because neighbours are about the same conversation. */
export function spread(queries: readonly JudgedQuery[], countMax: number): readonly JudgedQuery[] {
  if (queries.length <= countMax) return queries;
  return queries.filter(
    (_, at) => Math.floor((at * countMax) / queries.length) !== Math.floor(((at - 1) * countMax) / queries.length),
  );
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
