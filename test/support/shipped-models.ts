// The models that ship with Mneme, as tests use them.

import { join } from "node:path";
import { embedderOf, readModels } from "../../src/adapters/inference/model-files.ts";
import type { Embedder, Embedders } from "../../src/ports/models.ts";

/** Folder of the models that ship with Mneme. */
export const MODELS_DIR = join(import.meta.dir, "../../data/models");

/** Id of the English embedder, with which most tests run: it is the fastest. */
export const ENGLISH = "all-minilm-l6-v2";
/** Id of the multilingual embedder. */
export const MULTILINGUAL = "mneme-e5-small";

/** The English embedder's weights and curves. */
export const ENGLISH_TUNING = embedderOf(readModels(MODELS_DIR), ENGLISH).tuning;

/** A registry with one embedder. */
export function onlyEmbedder(embedder: Embedder): Embedders {
  return {
    default: embedder,
    ids: [embedder.id],
    get: () => embedder,
    withFingerprint: (fingerprint) => (fingerprint === embedder.fingerprint ? embedder : null),
  };
}
