// Outputs of the shipped models that were recorded when the models were exported. Tests compare with them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Purpose } from "../../src/ports/models.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../support/shipped-models.ts";

/** A text with its token ids and its vector (384 numbers, rounded to six decimals). */
export interface EmbedderCase {
  readonly text: string;
  readonly token_ids: readonly number[];
  readonly vector: readonly number[];
}

/** A text of a model with prefixes. `token_ids` include the prefix for the purpose. */
export interface PurposeCase extends EmbedderCase {
  readonly purpose: Purpose;
}

/** A query and a passage, with the token ids of the pair and its logit (rounded to four decimals). */
export interface RerankerCase {
  readonly query: string;
  readonly passage: string;
  readonly token_ids: readonly number[];
  readonly token_type_ids: readonly number[];
  readonly logit: number;
}

/**
 * Maximum difference of a vector component from the reference. Processors add the terms of a sum in different orders,
 * which changes its last bit. Models round to int8 at every layer, so this can change a component by up to .01. On one
 * processor a text always has the same vector.
 */
export const VECTOR_TOLERANCE = 2e-2;
/** Maximum difference of a logit from the reference. */
export const LOGIT_TOLERANCE = 0.3;

/** Reference outputs of the English embedder. */
export const EMBEDDER_REFERENCE: readonly EmbedderCase[] = read(ENGLISH);
/** Reference outputs of the multilingual embedder. */
export const MULTILINGUAL_REFERENCE: readonly PurposeCase[] = read(MULTILINGUAL);
/** Reference outputs of the reranker. */
export const RERANKER_REFERENCE: readonly RerankerCase[] = read("mneme-reranker-minilm-l6");

function read<Case>(model: string): readonly Case[] {
  return JSON.parse(readFileSync(join(MODELS_DIR, model, "reference.json"), "utf8"));
}
