// What a benchmark stores and asks: passages and questions, generated or from files.

import { existsSync, statSync } from "node:fs";
import { basename } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import { corpusFile, firstPassages, judgementsFile, queriesFile, readJudgedQueries, readQueries } from "../lib/beir.ts";
import { generatedPassage, generatedQuestion } from "../lib/generated-corpus.ts";
import { openingOf, type Passage, type Question, type Workload } from "../lib/passages.ts";
import { seeded } from "../lib/seeded.ts";
import type { BenchIndex } from "./vector-scale.ts";

/** Size and seed of a workload, and options of `mneme bench scale`. */
export interface WorkloadSize {
  /** Maximum number of passages; null: all of the file, or `PASSAGES_DEFAULT` generated ones. */
  readonly passagesMax: number | null;
  readonly questionsMax: number;
  readonly seed: number;
  /** Number of vectors of the separate index that `mneme bench scale` measures without a server; null: none. */
  readonly vectors: number | null;
  /** How that index is searched: by the scan of all vectors, or by the scan and then by the graph; absent: the scan. */
  readonly index?: BenchIndex;
  /** Whether the memories of `mneme bench scale` get pseudo-random vectors instead of those of an embedder. */
  readonly areVectorsDrawn?: boolean;
  /** File of passages: that index gets their vectors, and random variations of these; absent: pseudo-random ones. */
  readonly vectorTexts?: string;
  /** Folder in which that index is kept; absent: it is removed. */
  readonly vectorFolder?: string;
}

/** Number of passages of a generated corpus if none is given. */
export const PASSAGES_DEFAULT = 2_000;

/** Generates passages, and questions about them. */
export function generatedWorkload(size: WorkloadSize): Workload {
  const count = size.passagesMax ?? PASSAGES_DEFAULT;
  const passages = Array.from({ length: count }, (_, n) => generatedPassage(size.seed, n));
  return { name: "generated", passages, questions: generatedQuestions({ ...size, passagesMax: count }) };
}

/** Generates questions about passages that are drawn from the first `passagesMax` ones. */
export function generatedQuestions({ passagesMax, questionsMax, seed }: WorkloadSize): readonly Question[] {
  const chance = seeded(seed);
  const drawn = () => Math.floor(chance() * (passagesMax ?? PASSAGES_DEFAULT));
  return Array.from({ length: questionsMax }, () => generatedQuestion(seed, drawn()));
}

/**
 * Reads a BEIR folder, or a JSONL file (.gz) of passages. A file has no questions, so the openings of its passages are
 * asked.
 * @throws UsageError if it does not exist, is something else, or has no passages or questions
 */
export async function workloadFrom(path: string, size: WorkloadSize): Promise<Workload> {
  if (!existsSync(path)) throw new UsageError(`${path} does not exist.`);
  const isFolder = statSync(path).isDirectory();
  const file = isFolder ? corpusFile(path) : path;
  if (!existsSync(file)) throw new UsageError(`${path} has no corpus.jsonl or corpus.jsonl.gz.`);
  const passages = await firstPassages(file, size.passagesMax ?? Number.POSITIVE_INFINITY);
  if (passages.length === 0) throw new UsageError(`${file} has no passages.`);
  const questions = isFolder ? await questionsOf(path, passages, size) : openings(passages, size);
  if (questions.length === 0) throw new UsageError(`${path} has no questions.`);
  return { name: basename(path).replace(/\.jsonl(\.gz)?$/, ""), passages, questions };
}

async function questionsOf(
  folder: string,
  passages: readonly Passage[],
  { questionsMax }: WorkloadSize,
): Promise<readonly Question[]> {
  if (!existsSync(queriesFile(folder))) throw new UsageError(`${folder} has no queries.jsonl or queries.jsonl.gz.`);
  if (existsSync(judgementsFile(folder, "test"))) {
    const stored = new Set(passages.map(({ id }) => id));
    const judged = await readJudgedQueries(folder, "test");
    const answerable = judged.filter(({ judgements }) => [...judgements.keys()].some((id) => stored.has(id)));
    return answerable.slice(0, questionsMax).map((query) => ({ ...query, asOf: null }));
  }
  const questions: Question[] = [];
  for await (const query of readQueries(queriesFile(folder))) {
    if (questions.length === questionsMax) break;
    questions.push({ ...query, asOf: null, judgements: new Map() });
  }
  return questions;
}

function openings(passages: readonly Passage[], { questionsMax, seed }: WorkloadSize): readonly Question[] {
  const chance = seeded(seed);
  return Array.from({ length: questionsMax }, (_, at) => {
    const passage = passages[Math.floor(chance() * passages.length)] as Passage;
    return {
      id: `opening-${at}`,
      text: openingOf(passage),
      userId: passage.userId,
      asOf: null,
      judgements: new Map([[passage.id, 1]]),
    };
  });
}
