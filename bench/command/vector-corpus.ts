// The vectors that `mneme bench scale --vectors` stores and asks for: pseudo-random ones in clusters, or those of real
// texts with copies.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BareModels } from "../lib/bare-models.ts";
import { firstPassages } from "../lib/beir.ts";
import { copiedVectors } from "../lib/copied-vectors.ts";
import { vectorParts, vectorSource } from "../lib/drawn-vectors.ts";
import { openingOf, type Passage } from "../lib/passages.ts";
import type { ShowProgress } from "./run.ts";

/** Questions about the subjects of the vectors (`same field`), or about others (`other field`). */
export interface Field {
  readonly questions: string;
  /** Unit vectors, row-major. */
  readonly queries: Float32Array;
}

/** Vectors of a benchmark, and questions. They depend only on the seed and on the texts. */
export interface VectorCorpus {
  /** Describes the vectors. Different corpora have different names. */
  readonly name: string;
  readonly fields: readonly Field[];
  /** Part `part`: `rows` vectors from number `first` on, row-major. All parts but the last have the same length. */
  readonly draw: (rows: number, part: number, first: number) => Float32Array;
}

/** Number of questions of each field. */
const QUESTIONS = 100;
/** Added to the seed for questions of another field, so that their clusters and directions differ. */
const OTHER_SEED = 1_000_003;
/** Number of the part from which questions of the same field are drawn. No vector is from it. */
const QUESTION_PART = 2 ** 30;
/** Maximum number of texts whose vectors are computed. A processor takes about 20 s per thousand. */
const ORIGINALS_MAX = 20_000;
/** Texts that are embedded between two lines of progress. */
const TEXTS_AT_ONCE = 256;
/** One in this many texts is not stored. The first `QUESTIONS` of these are asked for. */
const ASKED_OF = 100;

/** Pseudo-random vectors in clusters. */
export function drawnCorpus(seed: number, dimensions: number): VectorCorpus {
  const draw = vectorParts(seed, dimensions);
  return {
    name: `pseudo-random vectors, seed ${seed}`,
    fields: [
      { questions: "same field", queries: draw(QUESTIONS, QUESTION_PART) },
      { questions: "other field", queries: vectorSource(seed + OTHER_SEED, dimensions)(QUESTIONS) },
    ],
    draw,
  };
}

/** What a corpus of real texts needs. */
export interface CopiedCorpus {
  /** JSONL file (.gz) of passages. */
  readonly file: string;
  /** Folder in which computed vectors are kept. */
  readonly folder: string;
  readonly bare: BareModels;
  readonly seed: number;
  /** Questions about other subjects. */
  readonly otherQuestions: readonly string[];
  readonly progress: ShowProgress;
}

/**
 * The vectors of passages, and copies of them that have cosines of 0.80 ± 0.05 to their originals.
 * @throws Error if the file has too few passages
 */
export async function copiedCorpus({ bare, seed, ...corpus }: CopiedCorpus): Promise<VectorCorpus> {
  const passages = await firstPassages(corpus.file, ORIGINALS_MAX);
  const isAsked = (at: number) => at % ASKED_OF === 0;
  const asked = passages.filter((_, at) => isAsked(at)).slice(0, QUESTIONS);
  const stored = passages.filter((_, at) => !isAsked(at));
  if (stored.length === 0) throw new Error(`${corpus.file} has too few passages: at least two are needed.`);
  const { dimensions } = bare.embedder;
  const originals = await originalsOf(bare, stored, corpus);
  return {
    name: `${stored.length} passages of ${corpus.file} by ${bare.embedder.fingerprint}, and copies, seed ${seed}`,
    fields: [
      { questions: "same field", queries: await embedQuestions(bare, asked.map(openingOf)) },
      { questions: "other field", queries: await embedQuestions(bare, corpus.otherQuestions.slice(0, QUESTIONS)) },
    ],
    draw: copiedVectors(originals, dimensions, seed),
  };
}

/** One vector per passage, that of its first chunk; from the kept file if there is one. */
async function originalsOf(
  bare: BareModels,
  passages: readonly Passage[],
  { folder, progress }: Pick<CopiedCorpus, "folder" | "progress">,
): Promise<Float32Array> {
  const { dimensions } = bare.embedder;
  const hash = new Bun.CryptoHasher("sha256").update(bare.embedder.fingerprint);
  for (const { title, content } of passages) hash.update(JSON.stringify([title, content]));
  const kept = join(folder, `originals-${hash.digest("hex").slice(0, 16)}.f32`);
  if (existsSync(kept)) {
    const bytes = readFileSync(kept);
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  }
  const vectors = new Float32Array(passages.length * dimensions);
  for (let first = 0; first < passages.length; first += TEXTS_AT_ONCE) {
    const part = passages.slice(first, first + TEXTS_AT_ONCE);
    const texts = await bare.chunkTexts(part);
    vectors.set(await bare.embedChunks(texts.map(([text = ""]) => text)), first * dimensions);
    progress("embedding passages", first / passages.length, `${first} of ${passages.length}`);
  }
  writeFileSync(`${kept}.new`, vectors);
  renameSync(`${kept}.new`, kept);
  return vectors;
}

async function embedQuestions(bare: BareModels, questions: readonly string[]): Promise<Float32Array> {
  const vectors = new Float32Array(questions.length * bare.embedder.dimensions);
  for (const [at, question] of questions.entries()) {
    vectors.set(await bare.embedQuestion(question), at * bare.embedder.dimensions);
  }
  return vectors;
}
