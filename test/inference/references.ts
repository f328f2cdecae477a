// The shipped models and what they answered when they were exported: the yardstick of these tests.

import { existsSync, readFileSync } from "node:fs";
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
 * Whether this processor multiplies bytes without saturating at 16 bits (VNNI), as the one did that made the references. Elsewhere
 * onnxruntime's kernels saturate a little: answers differ by some thousandths, for each text in the same way.
 */
const HAS_VNNI = existsSync("/proc/cpuinfo") && /\bavx(512)?_vnni\b/.test(readFileSync("/proc/cpuinfo", "utf8"));
/** How far a component of a vector may lie from the reference's. */
export const VECTOR_TOLERANCE = HAS_VNNI ? 1e-4 : 1e-2;
/** How far a logit may lie from the reference's. */
export const LOGIT_TOLERANCE = HAS_VNNI ? 1e-3 : 0.1;

/** What the embedder answered. */
export const EMBEDDER_REFERENCE: readonly EmbedderCase[] = read("embedder");
/** What the reranker answered. */
export const RERANKER_REFERENCE: readonly RerankerCase[] = read("reranker");

function read<Case>(model: string): readonly Case[] {
  return JSON.parse(readFileSync(join(MODELS_DIR, model, "reference.json"), "utf8"));
}
