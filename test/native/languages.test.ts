// Tests full-text search of the native core, without models, in languages without spaces, with inflection, or with
// particles attached to nouns. The judged sets are in test/languages.

import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { corpusFile, type JudgedQuery, readJudgedQueries } from "../../bench/lib/beir.ts";
import { type Judgements, mean, recallAt } from "../../bench/lib/metrics.ts";
import type { NativeIndex } from "../../src/adapters/native/addon-types.ts";
import { readLines } from "../../src/kit/lines.ts";
import { isRecord } from "../../src/kit/record.ts";
import { detectLanguage } from "../../src/preparation/language.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { seeded } from "../support/seeded.ts";
import { DIMENSIONS, live, MODEL, openIndex, publish as publishChunks, unitVector } from "./corpus.ts";

const SETS = join(import.meta.dir, "../languages");
const LANGUAGES = ["zh", "ja", "ko", "th", "ru", "de", "ar", "hi"];
/**
 * Minimum recall: the mean share of a query's relevant texts that are among the first five hits. A random order would
 * reach about a tenth, because a set has 40 to 66 texts.
 */
const RECALL_MIN = 0.9;
/** Number of hits requested per query. The reciprocal rank is computed from them. */
const DEPTH = 10;

interface Text {
  readonly id: string;
  readonly text: string;
}

interface Figures {
  readonly recall: number;
  /** Mean reciprocal rank of the first relevant text. A query without one among its first `DEPTH` hits counts 0. */
  readonly reciprocalRank: number;
}

const report: string[] = [];
afterAll(() => void process.stdout.write(`${report.join("\n")}\n`));

describe("full-text search in the detected language", () => {
  for (const language of LANGUAGES) {
    test(`queries in ${language} find their texts among texts of that language`, async () => {
      const [texts, queries] = [await textsOf(language), await queriesOf(language)];
      const detected = texts.filter(({ text }) => detectLanguage(text) === language).length;
      const figures = await measured(texts, queries);
      report.push(`${line(language, figures)}, ${detected} of ${texts.length} texts detected as ${language}`);
      expect(figures.recall).toBeGreaterThanOrEqual(RECALL_MIN);
    });
  }

  test("queries in each language find their texts among those of all languages", async () => {
    const texts = (await Promise.all(LANGUAGES.map(textsOf))).flat();
    for (const language of LANGUAGES) {
      const figures = await measured(texts, await queriesOf(language));
      report.push(line(`${language} among all`, figures));
      expect(figures.recall, language).toBeGreaterThanOrEqual(RECALL_MIN);
    }
  });
});

function line(name: string, { recall, reciprocalRank }: Figures): string {
  return `${name}: R@5 ${recall.toFixed(3)}, MRR@${DEPTH} ${reciprocalRank.toFixed(3)}`;
}

async function textsOf(language: string): Promise<Text[]> {
  const texts: Text[] = [];
  for await (const { text } of readLines(corpusFile(join(SETS, language)))) {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) texts.push({ id: String(value._id), text: String(value.text) });
  }
  return texts;
}

function queriesOf(language: string): Promise<readonly JudgedQuery[]> {
  return readJudgedQueries(join(SETS, language), "test");
}

async function measured(texts: readonly Text[], queries: readonly JudgedQuery[]): Promise<Figures> {
  const rankings = await searched(
    texts,
    queries.map(({ text }) => text),
  );
  const judged = queries.map(({ judgements }, at) => ({ judgements, ranking: rankings[at] ?? [] }));
  return {
    recall: mean(judged.map(({ ranking, judgements }) => recallAt(5, ranking, judgements))),
    reciprocalRank: mean(judged.map(({ ranking, judgements }) => reciprocalRank(ranking, judgements))),
  };
}

/** The ids of the texts that each query finds, best first, at most `DEPTH`. */
async function searched(texts: readonly Text[], questions: readonly string[]): Promise<string[][]> {
  const { path, remove } = temporaryFolder();
  const options = { directory: path, newModel: MODEL };
  const { index } = await openIndex(options);
  try {
    await publish(index, texts);
    const within = index.admit(null, 1);
    const rankings: string[][] = [];
    for (const question of questions) {
      const { chunkKeys } = await index.searchText(question, within, DEPTH);
      rankings.push([...chunkKeys].map((key) => texts[Number(key) - 1]?.id ?? "unknown"));
    }
    return rankings;
  } finally {
    await index.close();
    remove();
  }
}

function reciprocalRank(ranking: readonly string[], judgements: Judgements): number {
  const place = ranking.findIndex((id) => judgements.has(id));
  return place < 0 ? 0 : 1 / (place + 1);
}

/** Publishes each text as a memory with one chunk. Both keys are its position, from 1. */
async function publish(index: NativeIndex, texts: readonly Text[]): Promise<void> {
  const keys = BigUint64Array.from(texts, (_, at) => BigInt(at + 1));
  const random = seeded(20_261_121);
  const vectors = new Float32Array(texts.length * DIMENSIONS);
  for (const at of texts.keys()) vectors.set(unitVector(random), at * DIMENSIONS);
  const chunks = texts.map(({ text }, at) => {
    const key = BigInt(at + 1);
    return {
      chunkKey: key,
      memoryKey: key,
      own: text,
      context: null,
      language: detectLanguage(text),
      place: "",
      passage: text,
    };
  });
  await publishChunks(index, keys, chunks, live(vectors));
  index.show(keys, new BigUint64Array(texts.length), new Float64Array(texts.length));
}
