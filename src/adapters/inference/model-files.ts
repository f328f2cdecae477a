// Reads the description (`model.json`) of a model folder and verifies the checksums of its files. open-encoder.ts loads
// the models.

import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";

/** Files and parameters of a model, from its `model.json`. */
export interface ModelDescription {
  readonly id: string;
  readonly modelPath: string;
  readonly modelSha256: string;
  readonly tokenizerPath: string;
  readonly tokenizerSha256: string;
  /** Maximum number of tokens of one input, special tokens included. */
  readonly tokensMax: number;
}

/** A model that turns a text into a unit vector. */
export interface EmbedderDescription extends ModelDescription {
  readonly dimensions: number;
  /** BCP 47 tags. */
  readonly languages: readonly string[];
}

/** A model that scores a (query, passage) pair. */
export interface RerankerDescription extends ModelDescription {
  /** Maximum number of tokens of the query, special tokens not included. */
  readonly queryTokensMax: number;
}

/** Error for a model folder that cannot be used. The message names file and reason in one line. */
export class ModelFilesError extends Error {
  override readonly name = "ModelFilesError";
}

/**
 * Reads the description of `<modelsDir>/embedder`.
 * @throws ModelFilesError if its model.json is missing or incomplete
 */
export function describeEmbedder(modelsDir: string): EmbedderDescription {
  const fields = readFields(modelsDir, "embedder");
  return { ...describe(fields), dimensions: fields.number("dimensions"), languages: fields.languages() };
}

/**
 * Reads the description of `<modelsDir>/reranker`.
 * @throws ModelFilesError if its model.json is missing or incomplete
 */
export function describeReranker(modelsDir: string): RerankerDescription {
  const fields = readFields(modelsDir, "reranker");
  return { ...describe(fields), queryTokensMax: fields.number("max_query_tokens") };
}

/**
 * Hash of everything that determines a vector: model, tokeniser, truncation. Padding is left out, because these models
 * compute the same vector for a text in any batch.
 */
export function fingerprintOf(model: EmbedderDescription): string {
  const digest = (sha256: string) => sha256.slice(0, 16);
  return `${model.id}/${digest(model.modelSha256)}/${digest(model.tokenizerSha256)}/${model.tokensMax}`;
}

/** Verifies the SHA-256 of both files of a model. @throws ModelFilesError if one differs from model.json */
export async function verifyModelFiles(model: ModelDescription): Promise<void> {
  await verifyFile(model.modelPath, model.modelSha256);
  await verifyFile(model.tokenizerPath, model.tokenizerSha256);
}

async function verifyFile(path: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  try {
    for await (const bytes of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(bytes);
  } catch (cause) {
    throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
  }
  const found = hash.digest("hex");
  if (found !== expected) {
    throw new ModelFilesError(`${path} does not match its model.json: expected sha256 ${expected}, found ${found}`);
  }
}

interface Fields {
  readonly folder: string;
  text(name: string): string;
  number(name: string): number;
  languages(): readonly string[];
}

function describe(fields: Fields): ModelDescription {
  return {
    id: fields.text("id"),
    modelPath: join(fields.folder, fields.text("file")),
    modelSha256: fields.text("sha256"),
    tokenizerPath: join(fields.folder, fields.text("tokenizer")),
    tokenizerSha256: fields.text("tokenizer_sha256"),
    tokensMax: fields.number("max_tokens"),
  };
}

function readFields(modelsDir: string, name: string): Fields {
  const folder = join(modelsDir, name);
  const path = join(folder, "model.json");
  let values: Record<string, unknown>;
  try {
    values = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
  }
  return {
    folder,
    text(field) {
      const value = values[field];
      if (typeof value !== "string" || value === "") throw new ModelFilesError(`${path} has no "${field}"`);
      return value;
    },
    number(field) {
      const value = values[field];
      if (!Number.isInteger(value) || Number(value) < 1) throw new ModelFilesError(`${path} has no "${field}"`);
      return Number(value);
    },
    languages() {
      const tags = values.languages;
      const isTag = (tag: unknown) => typeof tag === "string" && /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(tag);
      if (!Array.isArray(tags) || tags.length === 0 || !tags.every(isTag)) {
        throw new ModelFilesError(`${path} has no "languages"`);
      }
      return tags;
    },
  };
}
