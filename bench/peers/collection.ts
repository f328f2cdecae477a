// The collection of the comparison: reads a folder in BEIR layout and writes the passages and questions for the steps.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../src/kit/flags.ts";
import {
  corpusFile,
  type JudgedQuery,
  judgementsFile,
  queriesFile,
  readJudgedQueries,
  readPassages,
  readQueries,
} from "../lib/beir.ts";

/** A collection, ready for the steps. */
export interface PeerCollection {
  readonly passages: number;
  readonly questions: readonly JudgedQuery[];
  /** Whether there are judgements, so that quality can be measured. */
  readonly isJudged: boolean;
  /** Hashes of their texts and ids. */
  readonly passagesHash: string;
  readonly questionsHash: string;
}

const SPLIT = "test";

/**
 * Writes `passages.jsonl` and `questions.jsonl` to the work folder. Removes the vectors of other passages. Without
 * `qrels/test.tsv`, all questions are asked and none is judged.
 * @param passagesMax takes only the first passages of the file
 * @throws UsageError if files, passages or questions are missing, or a question belongs to a user, because the other
 *   engines have no users
 */
export async function prepareCollection(
  folder: string,
  work: string,
  passagesMax: number,
  questionsMax: number,
): Promise<PeerCollection> {
  for (const file of [corpusFile(folder), queriesFile(folder)]) {
    if (!existsSync(file)) throw new UsageError(`${file} does not exist; --from takes a folder in BEIR layout.`);
  }
  const isJudged = existsSync(judgementsFile(folder, SPLIT));
  const questions = (isJudged ? await readJudgedQueries(folder, SPLIT) : await unjudged(folder)).slice(0, questionsMax);
  if (questions.length === 0) throw new UsageError(`${folder} has no questions.`);
  if (questions.some(({ userId }) => userId !== null)) {
    throw new UsageError(`The questions of ${folder} belong to users, which the other engines do not know.`);
  }
  const lines: string[] = [];
  for await (const { id, title, content } of readPassages(corpusFile(folder))) {
    if (lines.length >= passagesMax) break;
    const passage = { _id: id, title: title ?? "", text: content };
    if (`${passage.title}${content}`.trim() !== "") lines.push(JSON.stringify(passage));
  }
  if (lines.length === 0) throw new UsageError(`${corpusFile(folder)} has no passages.`);

  mkdirSync(work, { recursive: true });
  const passagesFile = join(work, "passages.jsonl");
  const passagesText = `${lines.join("\n")}\n`;
  if (!existsSync(passagesFile) || readFileSync(passagesFile, "utf8") !== passagesText) {
    for (const file of ["vectors.npy", "embedding.json"]) rmSync(join(work, file), { force: true });
    writeFileSync(passagesFile, passagesText);
  }
  const questionsText = questions.map(({ id, text }) => `${JSON.stringify({ id, text })}\n`).join("");
  writeFileSync(join(work, "questions.jsonl"), questionsText);
  return {
    ...{ passages: lines.length, questions, isJudged },
    ...{ passagesHash: hashOf(passagesText), questionsHash: hashOf(questionsText) },
  };
}

async function unjudged(folder: string): Promise<readonly JudgedQuery[]> {
  const questions: JudgedQuery[] = [];
  for await (const query of readQueries(queriesFile(folder))) questions.push({ ...query, judgements: new Map() });
  return questions;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
