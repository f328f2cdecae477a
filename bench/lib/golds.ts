// Gold answers of a collection, and comparing an answer with its gold.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { normalised } from "../../src/bench/gold-text.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";
import { queriesFile } from "./collection.ts";

export { contains, isVerdict, withoutCitations } from "../../src/bench/gold-text.ts";

/** Golds of collections that do not include them: `<set>.tsv` with a question id and its answer per line. */
const GOLDS_FOLDER = join(import.meta.dir, "../fixtures/golds");

const CITATION = /\s*\[\d+\]/g;

/**
 * The gold answers of a collection by question id: `metadata.answer` of its queries, otherwise the golds in this
 * repository, which were extracted from its judged passages. The result is empty if there are none.
 */
export async function readGolds(set: string, folder: string): Promise<ReadonlyMap<string, string>> {
  const golds = new Map<string, string>();
  for await (const line of readLines(queriesFile(folder))) {
    const value: unknown = JSON.parse(line.text);
    if (!isRecord(value) || !isRecord(value.metadata)) continue;
    const { answer } = value.metadata;
    if (typeof answer === "string" || typeof answer === "number") golds.set(String(value._id), String(answer));
  }
  const kept = join(GOLDS_FOLDER, `${set}.tsv`);
  if (golds.size > 0 || !existsSync(kept)) return golds;
  for (const line of readFileSync(kept, "utf8").trimEnd().split("\n")) {
    const [id, answer] = line.split("\t");
    if (id !== undefined && answer !== undefined) golds.set(id, answer);
  }
  return golds;
}

/**
 * Share of the gold's words that a text contains, 0..1. For golds that are lists, which no sentence contains word for
 * word.
 */
export function sharedWords(text: string, gold: string): number {
  const words = new Set(normalised(text).split(" "));
  const wanted = normalised(gold).split(" ");
  return wanted.filter((word) => words.has(word)).length / wanted.length;
}

/** An answer's text up to its first citation `[n]`; all of it without citations. */
export function firstStatement(answer: string): string {
  const end = answer.search(CITATION);
  return end < 0 ? answer : answer.slice(0, end);
}
