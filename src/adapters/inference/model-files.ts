// Reads the manifests (`model.json`) of a folder of models, and verifies the checksums of their files. The README of
// data/models describes the fields; open-encoder.ts loads the models.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { MODE_NAMES } from "../../domain/ranking.ts";
import type { EvidenceCurve, RetrievalTuning } from "../../domain/retrieval-tuning.ts";
import { SIGNAL_COMBINATIONS, weightsOf } from "../../domain/signals.ts";
import type { Purpose } from "../../ports/models.ts";
import { TOKENIZER_KINDS, type TokenizerFile } from "../../tokenizers/load-tokenizer.ts";
import { ManifestFields, ModelFilesError } from "./manifest-fields.ts";

/** Files and parameters of a model, from its manifest. */
export interface ModelDescription {
  /** Name of the folder. */
  readonly id: string;
  readonly name: string;
  readonly modelPath: string;
  readonly modelSha256: string;
  readonly tokenizer: TokenizerFile & { readonly sha256: string };
  /** File with inputs and their outputs, recorded when the model was exported. */
  readonly referencePath: string;
  /** Maximum number of tokens of one input, special tokens included. */
  readonly tokensMax: number;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  readonly licence: string;
}

/** A model that turns a text into a unit vector. */
export interface EmbedderDescription extends ModelDescription {
  readonly kind: "embedder";
  readonly dimensions: number;
  /** Size of a chunk in tokens, if this is the default embedder. */
  readonly chunkTokens: number;
  /** What is put before a text, by its purpose. */
  readonly prefixes: Readonly<Record<Purpose, string>>;
  /** Id of the reranker for passages that this model finds; null for none. */
  readonly reranker: string | null;
  readonly tuning: RetrievalTuning;
}

/** A model that scores a (query, passage) pair. */
export interface RerankerDescription extends ModelDescription {
  readonly kind: "reranker";
  /** Maximum number of tokens of the query, special tokens not included. */
  readonly queryTokensMax: number;
}

/** The models of a folder, by id. */
export interface ModelCatalogue {
  readonly folder: string;
  readonly embedders: ReadonlyMap<string, EmbedderDescription>;
  readonly rerankers: ReadonlyMap<string, RerankerDescription>;
  /** Why folders with a manifest cannot be used, by the name of the folder. */
  readonly problems: ReadonlyMap<string, ModelFilesError>;
}

/** Name of the manifest in the folder of a model. */
const MANIFEST = "model.json";

/**
 * Reads the manifests of all folders in `modelsDir`. A folder without one is no model.
 * @throws ModelFilesError if `modelsDir` cannot be read
 */
export function readModels(modelsDir: string): ModelCatalogue {
  let names: readonly string[];
  try {
    names = readdirSync(modelsDir).sort();
  } catch (cause) {
    throw new ModelFilesError(`${modelsDir} cannot be read: ${String(cause)}`, { cause });
  }
  const embedders = new Map<string, EmbedderDescription>();
  const rerankers = new Map<string, RerankerDescription>();
  const problems = new Map<string, ModelFilesError>();
  for (const name of names) {
    const folder = join(modelsDir, name);
    if (!existsSync(join(folder, MANIFEST))) continue;
    try {
      const model = readManifest(folder);
      if (model.kind === "embedder") embedders.set(name, model);
      else rerankers.set(name, model);
    } catch (error) {
      if (!(error instanceof ModelFilesError)) throw error;
      problems.set(name, error);
    }
  }
  for (const [id, { reranker }] of embedders) {
    if (reranker === null || rerankers.has(reranker)) continue;
    embedders.delete(id);
    const why = problems.get(reranker)?.message ?? `${modelsDir} has no reranker ${JSON.stringify(reranker)}`;
    problems.set(
      id,
      new ModelFilesError(`${join(modelsDir, id, MANIFEST)} names a reranker that cannot be used: ${why}`),
    );
  }
  return { folder: modelsDir, embedders, rerankers, problems };
}

/** The embedder with this id. @throws ModelFilesError that says why it cannot be used, or which ones there are */
export function embedderOf({ folder, embedders, problems }: ModelCatalogue, id: string): EmbedderDescription {
  const found = embedders.get(id);
  if (found !== undefined) return found;
  const problem = problems.get(id);
  if (problem !== undefined) throw problem;
  const known = [...embedders.keys()].join(", ") || "none";
  throw new ModelFilesError(`there is no embedder ${JSON.stringify(id)} in ${folder}; there are: ${known}`);
}

/** Reads the manifest of a model's folder. @throws ModelFilesError if it is not valid */
function readManifest(folder: string): EmbedderDescription | RerankerDescription {
  return ManifestFields.readFile(join(folder, MANIFEST), (fields) => {
    const kind = fields.oneOf("kind", ["embedder", "reranker"]);
    const model = readModel(folder, fields);
    if (kind === "reranker")
      return { kind, ...model, queryTokensMax: fields.count("max_query_tokens", model.tokensMax) };
    fields.oneOf("pooling", ["in the graph"]);
    return {
      kind,
      ...model,
      dimensions: fields.count("dimensions"),
      chunkTokens: fields.count("chunk_tokens", model.tokensMax),
      prefixes: fields.object("prefixes", (prefixes) => ({
        query: prefixes.anyText("query"),
        passage: prefixes.anyText("passage"),
      })),
      reranker: fields.textOrNull("reranker"),
      tuning: fields.object("retrieval", readTuning),
    };
  });
}

function readModel(folder: string, fields: ManifestFields): ModelDescription {
  const path = (file: string) => join(folder, file);
  return {
    id: fields.oneOf("id", [basename(folder)]),
    name: fields.text("name"),
    modelPath: path(fields.file("file")),
    modelSha256: fields.sha256("sha256"),
    tokenizer: fields.object("tokenizer", (tokenizer) => ({
      kind: tokenizer.oneOf("kind", TOKENIZER_KINDS),
      path: path(tokenizer.file("file")),
      sha256: tokenizer.sha256("sha256"),
    })),
    referencePath: path(fields.file("reference")),
    tokensMax: fields.count("max_tokens"),
    languages: fields.languages("languages"),
    licence: fields.text("licence"),
  };
}

/** For manifests without `evidence`: the score is the evidence, unless a passage lacks a number of the question. */
const SCORE_AS_EVIDENCE: EvidenceCurve = { scoreSlope: 1, codesSlope: 4, namesSlope: 1, offset: 0 };

function readTuning(fields: ManifestFields): RetrievalTuning {
  return {
    weights: fields.objects("modes", MODE_NAMES, (mode) => weightsOf((signal) => mode.number(`${signal}_weight`, 0))),
    unsupportedScript: fields.object("unsupported_script", (weights) => ({
      vectorWeight: weights.number("vector_weight", 0),
      graphWeight: weights.number("graph_weight", 0),
    })),
    typicalCosine: fields.number("typical_cosine", -1, 1),
    curves: fields.objects("curves", SIGNAL_COMBINATIONS, (curve) => ({
      slope: curve.number("slope", 0),
      gapSlope: curve.number("gap_slope", 0),
      sizeSlope: curve.number("size_slope", 0),
      offset: curve.number("offset"),
    })),
    evidence: fields.objectOr("evidence", SCORE_AS_EVIDENCE, (curve) => ({
      scoreSlope: curve.number("score_slope", 0),
      codesSlope: curve.number("codes_slope", 0),
      namesSlope: curve.number("names_slope", 0),
      offset: curve.number("offset"),
    })),
    evidenceMin: fields.numbers("min_evidence", MODE_NAMES, 0, 1),
  };
}

/**
 * Hash of everything that determines a vector: model, tokeniser, truncation, prefixes. Padding is left out, because
 * these models compute the same vector for a text in any batch.
 */
export function fingerprintOf({ name, modelSha256, tokenizer, tokensMax, prefixes }: EmbedderDescription): string {
  const digest = (sha256: string) => sha256.slice(0, 16);
  const parts = [name, digest(modelSha256), digest(tokenizer.sha256), tokensMax];
  const { query, passage } = prefixes;
  if (query !== "" || passage !== "") {
    parts.push(
      digest(
        createHash("sha256")
          .update(JSON.stringify([query, passage]))
          .digest("hex"),
      ),
    );
  }
  return parts.join("/");
}

/** Verifies the SHA-256 of both files of a model. @throws ModelFilesError if one differs from the manifest */
export async function verifyModelFiles(model: ModelDescription): Promise<void> {
  await verifyFile(model.modelPath, model.modelSha256);
  await verifyFile(model.tokenizer.path, model.tokenizer.sha256);
}

async function verifyFile(path: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  try {
    for await (const bytes of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(bytes);
  } catch (cause) {
    if (!existsSync(path)) throw new ModelFilesError(`${path} is missing, but its ${MANIFEST} names it`, { cause });
    throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
  }
  const found = hash.digest("hex");
  if (found !== expected) {
    throw new ModelFilesError(`${path} does not match its ${MANIFEST}: expected sha256 ${expected}, found ${found}`);
  }
}
