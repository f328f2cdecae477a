// The models of benches: those that a server has by default, or those that belong to the embedder in MNEME_EMBEDDER.
// Also a configuration with them.

import { resolve } from "node:path";
import { type EmbedderDescription, embedderOf, readModels } from "../../src/adapters/inference/model-files.ts";
import { parseConfig, SETTINGS } from "../../src/config.ts";
import type { Reranker, Rerankers } from "../../src/ports/models.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import type { Tokenizer } from "../../src/tokenizers/tokenizer.ts";

/** Folder of the models. */
export const MODELS_DIR = resolve(import.meta.dir, "../../data/models");

/** Id of the embedder. */
export const EMBEDDER_ID = process.env.MNEME_EMBEDDER ?? SETTINGS.embedder.defaultText;

/** A configuration with these models. `environment` and `flags`, a command line of settings, override the defaults. */
export function benchConfig(
  environment: Readonly<Record<string, string | undefined>> = {},
  flags: readonly string[] = [],
) {
  return parseConfig(
    flags,
    { MNEME_EMBEDDER: EMBEDDER_ID, ...environment },
    { workingDirectory: MODELS_DIR, shippedModelsDirectory: () => MODELS_DIR },
  );
}

/** Description of the embedder. */
export function benchEmbedder(): EmbedderDescription {
  return embedderOf(readModels(MODELS_DIR), EMBEDDER_ID);
}

/** Tokeniser of the embedder. */
export function benchTokenizer(): Tokenizer {
  return loadTokenizer(benchEmbedder().tokenizer);
}

/** The same rerankers, each changed by `wrap`. */
export function wrappedRerankers(rerankers: Rerankers, wrap: (reranker: Reranker) => Reranker): Rerankers {
  const wrapped = new Map<Reranker, Reranker>();
  return {
    for: (embedder) => {
      const found = rerankers.for(embedder);
      if (found === null) return null;
      const known = wrapped.get(found) ?? wrap(found);
      wrapped.set(found, known);
      return known;
    },
  };
}
