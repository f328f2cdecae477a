// Reads `early-exit.json`, an optional file in a reranker's folder: the early-exit probe, made by
// `data/models/recipe/fit_early_exit.py`. After the first layers, it estimates the final logit of a pair. Without it,
// every pair passes through all layers.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EarlyExitProbe, TokenSequence } from "../native/model-encoder.ts";
import { ModelFilesError } from "./manifest-fields.ts";
import type { ModelDescription } from "./model-files.ts";

/** A pair with the logit that the probe estimated for it when it was fitted. Used to check the encoder. */
export interface ProbeReference extends TokenSequence {
  readonly logitEstimate: number;
}

/**
 * Reads the probe of a model; null if there is none.
 * @throws ModelFilesError if it belongs to another model or is not readable
 */
export function readEarlyExitProbe({
  modelPath,
  modelSha256,
}: ModelDescription): { probe: EarlyExitProbe; references: readonly ProbeReference[] } | null {
  const path = join(dirname(modelPath), "early-exit.json");
  if (!existsSync(path)) return null;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
  }
  const { model_sha256, layers, weights, bias, references } = fields;
  if (model_sha256 !== modelSha256) throw new ModelFilesError(`${path} was made for another model`);
  const values = Array.isArray(weights) ? [...weights, bias] : [];
  const numbers = Float32Array.from(values);
  const areNumbers = values.every((number) => typeof number === "number") && numbers.every(Number.isFinite);
  if (!Number.isInteger(layers) || numbers.length < 2 || !areNumbers) {
    throw new ModelFilesError(`${path} has no "layers", "weights" and "bias"`);
  }
  if (!Array.isArray(references) || references.length === 0) throw new ModelFilesError(`${path} has no "references"`);
  return { probe: { layers: Number(layers), numbers }, references: references.map(referenceOf) };
}

function referenceOf(fields: { token_ids: number[]; first_length: number; logit_estimate: number }): ProbeReference {
  return {
    ids: Int32Array.from(fields.token_ids),
    firstLength: fields.first_length,
    logitEstimate: fields.logit_estimate,
  };
}
