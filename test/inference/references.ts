// The shipped models and their outputs, recorded at export. The tests compare with them.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The models that ship with Mneme. */
export const MODELS_DIR = join(import.meta.dir, "../../data/models");

/** A text with its token ids and its vector (384 values, six digits). */
export interface EmbedderCase {
  readonly text: string;
  readonly token_ids: readonly number[];
  readonly vector: readonly number[];
}

/** A pair with its token ids and its logit (four digits). */
export interface RerankerCase {
  readonly query: string;
  readonly passage: string;
  readonly token_ids: readonly number[];
  readonly token_type_ids: readonly number[];
  readonly logit: number;
}

/**
 * Maximum difference of a vector component from the reference. Models round to int8 at every layer, so the last bit of
 * a sum, which another processor may add up in another order, can change the output by up to a hundredth. On one
 * processor a text always has the same vector.
 */
export const VECTOR_TOLERANCE = 2e-2;
/** Maximum difference of a logit from the reference. */
export const LOGIT_TOLERANCE = 0.3;

/** Reference outputs of the embedder. */
export const EMBEDDER_REFERENCE: readonly EmbedderCase[] = read("embedder");
/** Reference outputs of the reranker. */
export const RERANKER_REFERENCE: readonly RerankerCase[] = read("reranker");

function read<Case>(model: string): readonly Case[] {
  return JSON.parse(readFileSync(join(MODELS_DIR, model, "reference.json"), "utf8"));
}
