// The shipped models and what they answered when they were exported: the yardstick of these tests.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The models that ship with Mneme. */
export const MODELS_DIR = join(import.meta.dir, "../../data/models");

/** A text with its ids and its vector (384 values, six digits). */
export interface EmbedderCase {
  readonly text: string;
  readonly token_ids: readonly number[];
  readonly vector: readonly number[];
}

/** A pair with its ids and its logit (four digits). */
export interface RerankerCase {
  readonly query: string;
  readonly passage: string;
  readonly token_ids: readonly number[];
  readonly token_type_ids: readonly number[];
  readonly logit: number;
}

/**
 * How far a component of a vector may lie from the reference's. Models round to bytes at every layer, so that the last bit of a sum
 * that another processor adds up in another order can move an answer: by up to a hundredth, and for a text always alike.
 */
export const VECTOR_TOLERANCE = 2e-2;
/** How far a logit may lie from the reference's. */
export const LOGIT_TOLERANCE = 0.3;

/** What the embedder answered. */
export const EMBEDDER_REFERENCE: readonly EmbedderCase[] = read("embedder");
/** What the reranker answered. */
export const RERANKER_REFERENCE: readonly RerankerCase[] = read("reranker");

function read<Case>(model: string): readonly Case[] {
  return JSON.parse(readFileSync(join(MODELS_DIR, model, "reference.json"), "utf8"));
}
