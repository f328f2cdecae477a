// The embedders and rerankers of a catalogue: finds them by id, by fingerprint, and by the embedder to which a reranker
// belongs. lanes.ts runs them.

import { existsSync } from "node:fs";
import { Fault } from "../../domain/fault.ts";
import type { Embedder, Embedders, EmbedOptions, Reader, Reranker, Rerankers } from "../../ports/models.ts";
import {
  type EmbedderDescription,
  fingerprintOf,
  type ModelCatalogue,
  type ReaderDescription,
  type RerankerDescription,
} from "./model-files.ts";

/** Runs an embedder, or its tokeniser. Returns a vector (`embed`) or a number of tokens (`count`) for each text. */
export type RunEmbedder = (
  op: "embed" | "count",
  model: EmbedderDescription,
  texts: readonly string[],
  options: EmbedOptions,
) => Promise<Float32Array>;

/** Runs a reranker. */
export type Score = (model: RerankerDescription, ...call: Parameters<Reranker["score"]>) => Promise<Float32Array>;

/** Runs a reader. */
export type Read = (model: ReaderDescription, ...call: Parameters<Reader["read"]>) => Promise<Float32Array>;

/**
 * The embedders of a catalogue, each with the reader that uses its word table.
 * @throws Fault `invalid_request` if there is no embedder `defaultId`
 */
export function createEmbedders(
  { embedders, readers }: ModelCatalogue,
  defaultId: string,
  run: RunEmbedder,
  read: Read,
): Embedders {
  const byId = new Map<string, Embedder>();
  for (const [id, model] of embedders) {
    const found = readers.values().find(({ words, modelPath }) => words?.id === id && existsSync(modelPath));
    byId.set(id, { ...embedderOn(model, run), reader: found === undefined ? null : readerOn(found, read) });
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

/** The rerankers of a catalogue, each for the embedders whose manifests name it. */
export function createRerankers({ embedders, rerankers }: ModelCatalogue, run: Score): Rerankers {
  const byId = new Map<string, Reranker>();
  for (const [id, model] of rerankers) byId.set(id, rerankerOn(model, run));
  return { for: ({ id }) => byId.get(embedders.get(id)?.reranker ?? "") ?? null };
}

/** An embedder. @param run computes its vectors and counts its tokens */
export function embedderOn(model: EmbedderDescription, run: RunEmbedder): Embedder {
  const { id, dimensions, tokensMax, languages, tuning } = model;
  const embed: Embedder["embed"] = (texts, options) => run("embed", model, texts, options);
  const countTokens: Embedder["countTokens"] = async (texts, options) =>
    Array.from(await run("count", model, texts, options));
  const isRemote = !existsSync(model.modelPath);
  const described = { id, fingerprint: fingerprintOf(model), dimensions, tokensMax, languages, tuning };
  return { ...described, isRemote, embed, countTokens };
}

/** A reader. @param run computes its readings */
export function readerOn(model: ReaderDescription, run: Read): Reader {
  const { id, languages, tuning } = model;
  return { id, languages, tuning, read: (...call) => run(model, ...call) };
}

/** A reranker. @param run computes its scores */
export function rerankerOn(model: RerankerDescription, run: Score): Reranker {
  return { languages: model.languages, score: (...call) => run(model, ...call) };
}
