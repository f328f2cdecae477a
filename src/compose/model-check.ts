// Checks the installed models of this machine, for `mneme models check`. Loads none of them.

import { existsSync, statSync } from "node:fs";
import { OPTIONAL_MODELS } from "../adapters/downloads/optional-models.ts";
import { ModelFilesError } from "../adapters/inference/manifest-fields.ts";
import { type ModelDescription, readModels, verifyModelFiles } from "../adapters/inference/model-files.ts";

/** An installed model. */
export interface CheckedModel {
  readonly id: string;
  /** null if the manifest cannot be read. */
  readonly kind: "embedder" | "reranker" | "reader" | null;
  /** Number of dimensions of the vectors; null unless it is an embedder whose manifest can be read. */
  readonly dimensions: number | null;
  /** Id of the embedder whose word table and tokeniser a reader uses; null for other models. */
  readonly words: string | null;
  readonly languages: readonly string[];
  readonly licence: string | null;
  /** Size of model and tokeniser in bytes; null if one is missing. */
  readonly bytes: number | null;
  /** Why the model cannot be used; null if its files match its manifest. */
  readonly problem: string | null;
}

/**
 * Reads the manifests in the folder of the models and verifies the checksums of their files.
 * @returns the models in ascending order of their ids
 * @throws ModelFilesError if the folder cannot be read
 */
export async function checkModels(modelsDir: string): Promise<readonly CheckedModel[]> {
  const { embedders, rerankers, readers, problems } = readModels(modelsDir);
  const checked: CheckedModel[] = [];
  for (const model of [...embedders.values(), ...rerankers.values(), ...readers.values()]) {
    if (isOptional(model) && !existsSync(model.modelPath)) continue; // it is not installed
    const { id, kind, languages, licence } = model;
    const dimensions = model.kind === "embedder" ? model.dimensions : null;
    const words = model.words?.id ?? null;
    const found = { bytes: installedBytes(model), problem: await problemOf(model) };
    checked.push({ id, kind, dimensions, words, languages, licence, ...found });
  }
  for (const [id, { message }] of problems) {
    const unknown = { kind: null, dimensions: null, words: null, languages: [], licence: null, bytes: null };
    checked.push({ id, ...unknown, problem: message });
  }
  return checked.sort((left, right) => (left.id < right.id ? -1 : 1));
}

/** Whether the program knows the model, but does not ship it. */
function isOptional({ id }: ModelDescription): boolean {
  return OPTIONAL_MODELS.some(({ folder }) => folder === id);
}

async function problemOf(model: ModelDescription): Promise<string | null> {
  try {
    await verifyModelFiles(model);
    return null;
  } catch (error) {
    if (error instanceof ModelFilesError) return error.message;
    throw error;
  }
}

function installedBytes({ modelPath, tokenizer }: ModelDescription): number | null {
  const sizes = [modelPath, tokenizer.path].map((path) => statSync(path, { throwIfNoEntry: false })?.size);
  return sizes.reduce<number | null>((sum, size) => (sum === null || size === undefined ? null : sum + size), 0);
}
