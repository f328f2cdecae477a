// How is a reranker's logit told after its first layers? Reads `skim.json`, which may lie beside a model
// (`data/models/recipe/fit_skim.py`). Without it every pair is read to the end.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Skim } from "../native/model-encoder.ts";
import { type ModelDescription, ModelFilesError } from "./model-files.ts";

/** What lies beside a model; null: nothing. @throws ModelFilesError when it is another model's, or cannot be read */
export function readSkim({ modelPath, modelSha256 }: ModelDescription): Skim | null {
  const path = join(dirname(modelPath), "skim.json");
  if (!existsSync(path)) return null;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
  }
  const { model_sha256, layers, weights, bias } = fields;
  if (model_sha256 !== modelSha256) throw new ModelFilesError(`${path} was made for another model`);
  const numbers = Array.isArray(weights) ? [...weights, bias] : [];
  if (!Number.isInteger(layers) || numbers.length < 2 || !numbers.every(Number.isFinite)) {
    throw new ModelFilesError(`${path} has no "layers", "weights" and "bias"`);
  }
  return { layers: Number(layers), numbers: Float32Array.from(numbers) };
}
