// What should have been answered, and does an answer say it? Golds of a collection, and the arithmetic of comparing: pure.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../src/cli/client.ts";
import { readLines } from "../../src/cli/lines.ts";
import { queriesFile } from "./collection.ts";

/** Golds that a collection does not bring itself: `<set>.tsv`, a question's id and its answer on each line. */
const GOLDS_FOLDER = join(import.meta.dir, "../fixtures/golds");

/** Marks that part no word: apostrophes and stops inside one, commas inside a number. */
const JOINING = /['’`´]|(?<=\p{L})\.(?=\p{L}|\s|$)|(?<=\p{N}),(?=\p{N}{3})/gu;
const PARTING = /[\p{P}\p{S}]/gu;
const ARTICLES = /(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu;
const CITATION = /\s*\[\d+\]/g;

/**
 * The gold answers of a collection by the question's id: `metadata.answer` of its queries, else what was read out of its
 * judged passages and is kept here. Empty where there are none.
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

/** Whether a gold is a verdict, which no answer contains or lacks as a span of text. */
export function isVerdict(gold: string): boolean {
  return ["yes", "no"].includes(normalised(gold));
}

/** Whether a text says the gold, word for word, after `normalised`. */
export function contains(text: string, gold: string): boolean {
  const wanted = normalised(gold);
  return wanted !== "" && ` ${normalised(text)} `.includes(` ${wanted} `);
}

/** Share of the gold's words that a text has, 0..1: for golds that list what no sentence says in a row. */
export function sharedWords(text: string, gold: string): number {
  const words = new Set(normalised(text).split(" "));
  const wanted = normalised(gold).split(" ");
  return wanted.filter((word) => words.has(word)).length / wanted.length;
}

/**
 * Lower case, without articles and punctuation, single spaces: what SQuAD's evaluation compares (Rajpurkar et al. 2016), with a
 * space where a mark parted two words.
 */
export function normalised(text: string): string {
  const words = text.normalize("NFKC").toLowerCase().replace(JOINING, "").replace(PARTING, " ").replace(ARTICLES, " ");
  return words.replace(/\s+/gu, " ").trim();
}

/** An answer's text without its `[n]`. */
export function withoutCitations(answer: string): string {
  return answer.replace(CITATION, "");
}

/** What an answer says up to its first `[n]`; all of it where it cites nothing. */
export function firstStatement(answer: string): string {
  const end = answer.search(CITATION);
  return end < 0 ? answer : answer.slice(0, end);
}
