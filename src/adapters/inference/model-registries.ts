// The registries of the installed models: which embedders and rerankers there are, and which belong together. lanes.ts
// runs them.

import { Fault } from "../../domain/fault.ts";
import type { Embedder, Embedders, EmbedOptions, Reranker, Rerankers } from "../../ports/models.ts";
import {
  type EmbedderDescription,
  fingerprintOf,
  type ModelCatalogue,
  type RerankerDescription,
} from "./model-files.ts";

/** Runs an embedder, or its tokeniser: computes a vector, or one number, for each text. */
type ReadTexts = (
  op: "embed" | "count",
  model: EmbedderDescription,
  texts: readonly string[],
  options: EmbedOptions,
) => Promise<Float32Array>;

/** Runs a reranker. */
type Score = (model: RerankerDescription, ...call: Parameters<Reranker["score"]>) => Promise<Float32Array>;

/** The embedders of a catalogue, which has `defaultId`. */
export function createEmbedders({ embedders }: ModelCatalogue, defaultId: string, run: ReadTexts): Embedders {
  const byId = new Map<string, Embedder>();
  for (const [id, model] of embedders) {
    const { dimensions, tokensMax, languages, tuning } = model;
    const embed: Embedder["embed"] = (texts, options) => run("embed", model, texts, options);
    const countTokens: Embedder["countTokens"] = async (texts, options) =>
      Array.from(await run("count", model, texts, options));
    const fingerprint = fingerprintOf(model);
    byId.set(id, { id, fingerprint, dimensions, tokensMax, languages, tuning, embed, countTokens });
  }
  const ids = [...byId.keys()];
  const get = (id: string) => {
    const found = byId.get(id);
    if (found !== undefined) return found;
    const known = ids.join(", ");
    throw new Fault("invalid_request", `There is no embedding model ${JSON.stringify(id)}; there are: ${known}.`);
  };
  const withFingerprint = (fingerprint: string) =>
    byId.values().find((embedder) => embedder.fingerprint === fingerprint) ?? null;
  return { default: get(defaultId), ids, get, withFingerprint };
}

/** The rerankers of a catalogue, by the embedders that name them. */
export function createRerankers({ embedders, rerankers }: ModelCatalogue, run: Score): Rerankers {
  const byId = new Map<string, Reranker>();
  for (const [id, model] of rerankers) {
    byId.set(id, { languages: model.languages, score: (...call) => run(model, ...call) });
  }
  return { for: ({ id }) => byId.get(embedders.get(id)?.reranker ?? "") ?? null };
}
