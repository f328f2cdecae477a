// Reads the manifests (`model.json`) of a folder of models, and verifies the checksums of their files. The README of
// data/models describes the fields; open-encoder.ts loads the models.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { CHUNK_TOKENS } from "../../domain/chunk.ts";
import { NEUTRAL_TUNING } from "../../domain/neutral-tuning.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import type { EvidenceCurve, ReaderTuning, ReplacementTuning, RetrievalTuning } from "../../domain/retrieval-tuning.ts";
import { SIGNAL_COMBINATIONS, weightsOf } from "../../domain/signals.ts";
import { isRecord } from "../../kit/record.ts";
import type { Purpose } from "../../ports/models.ts";
import { TOKENIZER_KINDS, type TokenizerFile } from "../../tokenizers/load-tokenizer.ts";
import { ManifestFields, ModelFilesError } from "./manifest-fields.ts";
import { readReplacement } from "./replacement-fields.ts";

/** Files and parameters of a model, from its manifest. */
export interface ModelDescription {
  /**
   * The embedder in a folder beside this one whose word table and tokeniser this model uses; null: it has its own.
   */
  readonly words: { readonly id: string; readonly path: string; readonly sha256: string } | null;
  /** Name of the folder. */
  readonly id: string;
  /** Name by which its makers call it. */
  readonly name: string;
  readonly modelPath: string;
  readonly modelSha256: string;
  readonly tokenizer: TokenizerFile & { readonly sha256: string };
  /** Further files with weights, to which the model file refers. */
  readonly weights: readonly { readonly path: string; readonly sha256: string }[];
  /** File with inputs and the outputs of the model for them, recorded when it was exported. */
  readonly referencePath: string;
  /** Maximum number of tokens of one input, special tokens included. */
  readonly tokensMax: number;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  readonly licence: string;
}

/**
 * How the outputs of a model become one vector. `in the graph`: the model computes a vector of unit length. `output`:
 * it computes a vector of any length. The others: it computes one state per token, and the first one (`cls`), the mean,
 * or the last one is taken. All vectors except those of `in the graph` are then scaled to unit length.
 */
export const POOLINGS = ["in the graph", "output", "cls", "mean", "last"] as const;
/** One of `POOLINGS`. */
export type Pooling = (typeof POOLINGS)[number];

/** Share of a reranker's input that a query may take, if its manifest has no `max_query_tokens`. */
const QUERY_SHARE = 0.375;

/** A model that turns a text into a unit vector. */
export interface EmbedderDescription extends ModelDescription {
  readonly kind: "embedder";
  /** Length of a vector as it is stored. */
  readonly dimensions: number;
  /** Length of a vector as the model computes it. Only its first `dimensions` components are kept (Matryoshka). */
  readonly computedDimensions: number;
  readonly pooling: Pooling;
  /** Size of a chunk in tokens. It is used if this is the default embedder. */
  readonly chunkTokens: number;
  /** Text that is put before each input, by the purpose of the input. */
  readonly prefixes: Readonly<Record<Purpose, string>>;
  /** Id of the reranker for the passages that this model finds; null for none. */
  readonly reranker: string | null;
  readonly tuning: RetrievalTuning;
}

/** A model that scores a (query, passage) pair. */
export interface RerankerDescription extends ModelDescription {
  readonly kind: "reranker";
  /** Maximum number of tokens of the query, special tokens not included. */
  readonly queryTokensMax: number;
}

/** A model that says whether a passage answers a question. It uses the word table of an embedder. */
export interface ReaderDescription extends ModelDescription {
  readonly kind: "reader";
  /** Maximum number of tokens of the question, special tokens not included. */
  readonly queryTokensMax: number;
  readonly tuning: ReaderTuning;
}

/** Any model. */
export type AnyModelDescription = EmbedderDescription | RerankerDescription | ReaderDescription;

/** The models of a folder, by id. */
export interface ModelCatalogue {
  readonly folder: string;
  readonly embedders: ReadonlyMap<string, EmbedderDescription>;
  readonly rerankers: ReadonlyMap<string, RerankerDescription>;
  readonly readers: ReadonlyMap<string, ReaderDescription>;
  /** Why a folder with a manifest cannot be used, by the name of the folder. */
  readonly problems: ReadonlyMap<string, ModelFilesError>;
}

/** Maximum length of a vector. The largest known models have vectors of this length. */
const DIMENSIONS_MAX = 8_192;

const MODEL_KINDS = ["embedder", "reranker", "reader"] as const;

/** Name of the manifest in the folder of a model. */
const MANIFEST = "model.json";

/**
 * Reads the manifests of all folders in `modelsDir`. Folders without one are ignored.
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
  const readers = new Map<string, ReaderDescription>();
  const problems = new Map<string, ModelFilesError>();
  for (const name of names) {
    const folder = join(modelsDir, name);
    if (!existsSync(join(folder, MANIFEST))) continue;
    try {
      const model = readModelFolder(folder);
      if (model.kind === "embedder") embedders.set(name, model);
      else if (model.kind === "reranker") rerankers.set(name, model);
      else readers.set(name, model);
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
  for (const [id, { words }] of readers) {
    const embedder = words && embedders.get(words.id);
    if (embedder && embedder.modelSha256 === words.sha256 && embedder.tokenizer.kind === "unigram") continue;
    readers.delete(id);
    const why = `uses the words of ${words?.id} with sha256 ${words?.sha256}, which ${modelsDir} does not have`;
    problems.set(id, new ModelFilesError(`${join(modelsDir, id, MANIFEST)} ${why}`));
  }
  return { folder: modelsDir, embedders, rerankers, readers, problems };
}

/**
 * The models that ship with the program, and the default embedder if it is one that was added.
 * @param installedDir folder of the models that were added; null: there is none
 * @throws ModelFilesError as `readModels`
 */
export function readModelsWith(modelsDir: string, installedDir: string | null, defaultId: string): ModelCatalogue {
  const shipped = readModels(modelsDir);
  if (installedDir === null || shipped.embedders.has(defaultId) || !existsSync(join(installedDir, defaultId, MANIFEST)))
    return shipped;
  const added = readAddableFolder(join(installedDir, defaultId));
  if (added.kind !== "embedder") return shipped;
  return { ...shipped, embedders: new Map([...shipped.embedders, [defaultId, added]]) };
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

/** Whether the file of a model is on this machine: in its own folder, or among the models that were added. */
export function isInstalled({ id, modelPath }: ModelDescription, installedDir: string | null): boolean {
  return existsSync(modelPath) || (installedDir !== null && existsSync(join(installedDir, id, basename(modelPath))));
}

/** Path of the manifest in the folder of a model. */
export function manifestPath(folder: string): string {
  return join(folder, MANIFEST);
}

/** Reads the manifest of a model's folder. @throws ModelFilesError if it is not valid */
export function readModelFolder(folder: string): AnyModelDescription {
  return ManifestFields.readFile(manifestPath(folder), (fields) => {
    const kind = fields.oneOf("kind", MODEL_KINDS);
    if (kind === "reader") return readReader(folder, fields);
    return kind === "embedder" ? readEmbedder(folder, fields) : readReranker(folder, fields);
  });
}

/**
 * Like `readModelFolder`, for a model that is added.
 * @throws ModelFilesError also for a reader, which belongs to an embedder that ships with the program
 */
export function readAddableFolder(folder: string): EmbedderDescription | RerankerDescription {
  const model = readModelFolder(folder);
  if (model.kind !== "reader") return model;
  throw new ModelFilesError(`${manifestPath(folder)}: a model of kind "reader" cannot be added`);
}

function readEmbedder(folder: string, fields: ManifestFields): EmbedderDescription {
  const model = readModel(folder, fields, ownTokenizer(folder, fields));
  const computedDimensions = fields.count("dimensions", DIMENSIONS_MAX);
  const dimensions = fields.has("stored_dimensions")
    ? fields.count("stored_dimensions", computedDimensions)
    : computedDimensions;
  return {
    kind: "embedder",
    ...model,
    dimensions,
    computedDimensions,
    pooling: fields.oneOf("pooling", POOLINGS),
    chunkTokens: fields.has("chunk_tokens")
      ? fields.count("chunk_tokens", model.tokensMax)
      : Math.min(CHUNK_TOKENS, model.tokensMax),
    prefixes: fields.object("prefixes", (prefixes) => ({
      query: prefixes.anyText("query"),
      passage: prefixes.anyText("passage"),
    })),
    reranker: fields.has("reranker") ? fields.textOrNull("reranker") : null,
    tuning: fields.objectOr("retrieval", NEUTRAL_TUNING, (tuning) => readTuning(tuning, dimensions)),
  };
}

function readReranker(folder: string, fields: ManifestFields): RerankerDescription {
  const model = readModel(folder, fields, ownTokenizer(folder, fields));
  const queryTokensMax = fields.has("max_query_tokens")
    ? fields.count("max_query_tokens", model.tokensMax)
    : Math.max(1, Math.floor(model.tokensMax * QUERY_SHARE));
  return { kind: "reranker", ...model, queryTokensMax };
}

function readReader(folder: string, fields: ManifestFields): ReaderDescription {
  const shared = fields.object("words", (words) => ({ id: words.file("model"), sha256: words.sha256("sha256") }));
  const embedder = embedderIn(join(folder, "..", shared.id));
  if (embedder === null) {
    throw new ModelFilesError(`${manifestPath(folder)}: there is no embedder ${shared.id} beside it`);
  }
  const model = readModel(folder, fields, embedder.tokenizer);
  return {
    kind: "reader",
    ...model,
    words: { ...shared, path: embedder.modelPath },
    queryTokensMax: fields.count("max_query_tokens", model.tokensMax),
    tuning: {
      evidence: fields.object("evidence", (curve) => ({
        ...readEvidenceCurve(curve),
        answerSlope: curve.number("answer_slope", 0),
      })),
      evidenceMin: fields.numbers("min_evidence", MODE_NAMES, 0, 1),
    },
  };
}

/** The embedder of a folder; null if it has none. It reads no reader, as two readers could refer to each other. */
function embedderIn(folder: string): EmbedderDescription | null {
  const path = manifestPath(folder);
  if (!existsSync(path) || kindOf(path) !== "embedder") return null;
  return ManifestFields.readFile(path, (fields) => {
    fields.oneOf("kind", ["embedder"]);
    return readEmbedder(folder, fields);
  });
}

/** The value of the field `kind`; undefined if there is none. */
function kindOf(path: string): unknown {
  const manifest: unknown = ManifestFields.readJson(path);
  return isRecord(manifest) ? manifest.kind : undefined;
}

function ownTokenizer(folder: string, fields: ManifestFields): ModelDescription["tokenizer"] {
  return fields.object("tokenizer", (tokenizer) => ({
    kind: tokenizer.oneOf("kind", TOKENIZER_KINDS),
    path: join(folder, tokenizer.file("file")),
    sha256: tokenizer.sha256("sha256"),
  }));
}

function readModel(folder: string, fields: ManifestFields, tokenizer: ModelDescription["tokenizer"]): ModelDescription {
  const path = (file: string) => join(folder, file);
  return {
    id: fields.oneOf("id", [basename(folder)]),
    name: fields.text("name"),
    modelPath: path(fields.file("file")),
    modelSha256: fields.sha256("sha256"),
    tokenizer,
    words: null,
    weights: fields.list("weights", (weights) => ({
      path: path(weights.file("file")),
      sha256: weights.sha256("sha256"),
    })),
    referencePath: path(fields.file("reference")),
    tokensMax: fields.count("max_tokens"),
    languages: fields.languages("languages"),
    licence: fields.text("licence"),
  };
}

/**
 * Evidence curve of manifests without `evidence`: the evidence is the score, reduced if passages lack numbers or names
 * of the question.
 */
const SCORE_AS_EVIDENCE: EvidenceCurve = { scoreSlope: 1, codesSlope: 4, namesSlope: 1, offset: 0 };

function readTuning(fields: ManifestFields, dimensions: number): RetrievalTuning {
  return {
    calibration: "shipped",
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
    evidence: fields.objectOr("evidence", SCORE_AS_EVIDENCE, readEvidenceCurve),
    replacement: fields.objectOr<ReplacementTuning | null>("replacement", null, (replacement) =>
      readReplacement(replacement, dimensions),
    ),
    evidenceMin: fields.numbers("min_evidence", MODE_NAMES, 0, 1),
  };
}

function readEvidenceCurve(curve: ManifestFields): EvidenceCurve {
  return {
    scoreSlope: curve.number("score_slope", 0),
    codesSlope: curve.number("codes_slope", 0),
    namesSlope: curve.number("names_slope", 0),
    offset: curve.number("offset"),
  };
}

/**
 * Identifies the vectors of an embedder, by everything that determines them: model, tokeniser, truncation, prefixes,
 * pooling. Padding is left out, because it does not change the vector of a text.
 */
export function fingerprintOf(model: EmbedderDescription): string {
  const { name, modelSha256, tokenizer, tokensMax, prefixes, pooling, dimensions, computedDimensions, weights } = model;
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
  // only what differs from the shipped models is added, so that their fingerprints stay as they are in stored indexes
  if (pooling !== "in the graph" || dimensions !== computedDimensions || weights.length > 0) {
    const others = [pooling, dimensions, weights.map(({ sha256 }) => sha256)];
    parts.push(digest(createHash("sha256").update(JSON.stringify(others)).digest("hex")));
  }
  return parts.map((part) => String(part).replace(/\s+/g, "_")).join("/");
}

/** Size of the files of a model in bytes; a missing one counts as 0. */
export function bytesOf({ modelPath, weights }: Pick<ModelDescription, "modelPath" | "weights">): number {
  const paths = [modelPath, ...weights.map(({ path }) => path)];
  return paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/**
 * Verifies the SHA-256 of the files of a model.
 * @param isMapped maps the files instead of reading them, which takes half of the time and lets nothing else run
 * @throws ModelFilesError if one differs from the manifest
 */
export async function verifyModelFiles(model: ModelDescription, isMapped = false): Promise<void> {
  const files = [{ path: model.modelPath, sha256: model.modelSha256 }, model.tokenizer, ...model.weights];
  for (const { path, sha256 } of files) await verifyFile(path, sha256, isMapped);
}

async function verifyFile(path: string, expected: string, isMapped: boolean): Promise<void> {
  const hash = createHash("sha256");
  try {
    if (isMapped) hash.update(Bun.mmap(path));
    else for await (const bytes of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(bytes);
  } catch (cause) {
    if (!existsSync(path)) throw new ModelFilesError(`${path} is missing, but its ${MANIFEST} names it`, { cause });
    throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
  }
  const found = hash.digest("hex");
  if (found !== expected) {
    throw new ModelFilesError(`${path} does not match its ${MANIFEST}: expected sha256 ${expected}, found ${found}`);
  }
}
