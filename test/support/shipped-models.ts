// The models that ship with Mneme, as tests use them.

import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { embedderOf, readModels } from "../../src/adapters/inference/model-files.ts";
import { SETTINGS } from "../../src/config.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Embedder, Embedders, LocalModels } from "../../src/ports/models.ts";

/** Folder of the models that ship with Mneme. */
export const MODELS_DIR = join(import.meta.dir, "../../data/models");

/** Name of the file that describes a model, in its folder. */
const MANIFEST = "model.json";

/** Id of the English embedder, with which most tests run: it is the fastest. */
export const ENGLISH = "all-minilm-l6-v2";
/** Id of the multilingual embedder. */
export const MULTILINGUAL = "mneme-e5-small";

/** Id of the embedder of new projects. */
export const DEFAULT = SETTINGS.embedder.defaultText;

/** The English embedder's weights and curves. */
export const ENGLISH_TUNING = embedderOf(readModels(MODELS_DIR), ENGLISH).tuning;

/**
 * Makes a folder for `MNEME_MODELS_DIR` with the shipped embedders, whose manifests name no reranker there. A server
 * loads its reranker when it starts, which would slow down tests that start many servers and never rerank.
 */
export function writeEmbeddersAlone(folder: string): void {
  for (const id of [ENGLISH, MULTILINGUAL]) {
    mkdirSync(join(folder, id), { recursive: true });
    for (const name of readdirSync(join(MODELS_DIR, id))) {
      if (name !== MANIFEST) symlinkSync(join(MODELS_DIR, id, name), join(folder, id, name));
    }
    const manifest = JSON.parse(readFileSync(join(MODELS_DIR, id, MANIFEST), "utf8"));
    writeFileSync(join(folder, id, MANIFEST), JSON.stringify({ ...manifest, reranker: null }));
  }
}

/** These embedders as built-in models; none can be added. */
export function localModelsOf(...embedders: readonly Embedder[]): LocalModels {
  const found = (embedder: Embedder) => ({ task: "embed", embedder, reranker: null, references: [] }) as const;
  return {
    builtIn: embedders.map(({ id, dimensions, tokensMax, languages }) => {
      return { id, task: "embed", dimensions, tokensMax, languages, licence: "Apache-2.0" };
    }),
    builtInModel: (id) => embedders.filter((embedder) => embedder.id === id).map(found)[0] ?? null,
    open: ({ id }) => {
      throw new Error(`The files of the model ${id} are not on this node: add the model here too.`);
    },
  };
}

/** A registry of these embedders; the first is the default. */
export function embeddersOf(first: Embedder, ...others: readonly Embedder[]): Embedders {
  const all = [first, ...others];
  const ids = all.map(({ id }) => id).sort();
  return {
    default: first,
    ids,
    get: (id) => {
      const found = all.find((embedder) => embedder.id === id);
      if (found !== undefined) return found;
      throw new Fault("invalid_request", `There is no embedding model ${id}; there are: ${ids.join(", ")}.`);
    },
    withFingerprint: (fingerprint) => all.find((embedder) => embedder.fingerprint === fingerprint) ?? null,
  };
}
