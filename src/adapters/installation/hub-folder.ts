// Makes the manifest of a folder in the form of model hubs: `config.json`, `tokenizer.json`, ONNX weights, and the
// files of sentence-transformers. model-folder.ts installs the files that it names.

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileSha256 } from "../../kit/file-sha256.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";
import { isRecord, type JsonRecord } from "../../kit/record.ts";
import { ModelFilesError } from "../inference/manifest-fields.ts";

/** What a folder says of its model, and where its files are. */
export interface HubFolder {
  /** Fields of a manifest; some may be missing. */
  readonly manifest: JsonRecord;
  /** Paths of the files by the names that the manifest gives them. */
  readonly files: ReadonlyMap<string, string>;
}

/** ONNX files in order of preference. If a folder has none of them, its only ONNX file is taken. */
const MODEL_FILES = ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx"];
/** Number of tokens that the model reads of a text if no file says it. */
const TOKENS_DEFAULT = 512;
/** Maximum number of tokens that the model reads of a text, because memory grows with it. */
const TOKENS_MAX = 8_192;
/** Models that count positions from 2. */
const ROBERTA = /roberta|camembert/;
/** Maximum size of a file with JSON or text that is read, in bytes. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Reads what a folder says of its model.
 * @throws ModelFilesError if it has no ONNX model or no tokeniser
 */
export async function readHubFolder(folder: string): Promise<HubFolder> {
  const model = await modelFile(folder);
  const tokenizer = join(folder, "tokenizer.json");
  if ((await stat(tokenizer).catch(nullIfMissing)) === null) {
    throw new ModelFilesError(
      "The folder has no tokenizer.json: put it there, or convert the model and its tokeniser as docs/models.md says.",
    );
  }
  const files = new Map([
    ["model.onnx", model],
    ["tokenizer.json", tokenizer],
  ]);
  const weights = await weightsBeside(model);
  for (const name of weights) files.set(name, join(dirname(model), name));
  const reference = join(folder, "reference.json");
  if ((await stat(reference).catch(nullIfMissing)) !== null) files.set("reference.json", reference);
  const manifest = {
    file: "model.onnx",
    sha256: await fileSha256(model),
    tokenizer: { kind: "huggingface", file: "tokenizer.json", sha256: await fileSha256(tokenizer) },
    ...(weights.length > 0 && {
      weights: await Promise.all(
        weights.map(async (file) => ({ file, sha256: await fileSha256(join(dirname(model), file)) })),
      ),
    }),
    reference: "reference.json",
    ...(await propertiesIn(folder)),
  };
  return { manifest, files };
}

async function propertiesIn(folder: string): Promise<JsonRecord> {
  const config = await readJson(join(folder, "config.json"));
  const card = await readCard(join(folder, "README.md"));
  const shared = { ...card, max_tokens: await tokensMaxIn(folder, config) };
  const architectures = Array.isArray(config.architectures) ? config.architectures.map(String) : [];
  if (architectures.some((name) => name.endsWith("ForSequenceClassification"))) return { kind: "reranker", ...shared };
  const isStatic = config.model_type === "model2vec";
  const pooling = isStatic ? "output" : await poolingIn(folder);
  const prompts = (await readJson(join(folder, "config_sentence_transformers.json"))).prompts;
  const dimensions = isStatic ? config.hidden_dim : config.hidden_size;
  return {
    kind: "embedder",
    ...shared,
    ...(typeof dimensions === "number" && { dimensions }),
    ...(pooling !== null && { pooling }),
    prefixes: prefixesOf(isRecord(prompts) ? prompts : {}),
  };
}

/** The texts before queries and passages, under the names that sentence-transformers uses. */
function prefixesOf(prompts: JsonRecord): JsonRecord {
  const textOf = (...names: readonly string[]) => {
    const found = names.map((name) => prompts[name]).find((text) => typeof text === "string");
    return found ?? "";
  };
  return { query: textOf("query"), passage: textOf("passage", "document") };
}

/** How sentence-transformers pools; `output` if the graph does; null if the folder does not say it. */
async function poolingIn(folder: string): Promise<string | null> {
  const modules = await readJson(join(folder, "modules.json"));
  if (Object.values(modules).some((module) => isRecord(module) && String(module.type).endsWith(".Dense")))
    return "output";
  const pooling = await readJson(join(folder, "1_Pooling/config.json"));
  if (pooling.pooling_mode_cls_token === true) return "cls";
  if (pooling.pooling_mode_mean_tokens === true) return "mean";
  if (pooling.pooling_mode_lasttoken === true) return "last";
  return null;
}

async function tokensMaxIn(folder: string, config: JsonRecord): Promise<number> {
  const chosen = (await readJson(join(folder, "sentence_bert_config.json"))).max_seq_length;
  const ofTokenizer = (await readJson(join(folder, "tokenizer_config.json"))).model_max_length;
  const reserved = ROBERTA.test(String(config.model_type)) ? 2 : 0;
  const positions = Number(config.max_position_embeddings ?? Number.NaN) - reserved;
  const given = [chosen, ofTokenizer, positions].filter((value) => Number.isInteger(value) && Number(value) > 0);
  return given.length === 0 ? TOKENS_DEFAULT : Math.min(TOKENS_MAX, ...given.map(Number));
}

/** Licence and languages in the head of a model card. */
async function readCard(path: string): Promise<JsonRecord> {
  const head = /^---\n([\s\S]*?)\n---/.exec((await readText(path)).replaceAll("\r", ""))?.[1] ?? "";
  const licence = /^license:\s*["']?([\w.+-]+)/m.exec(head)?.[1];
  const inline = /^language:[ \t]*\[?([^\n\]]+)/m.exec(head)?.[1]?.split(",") ?? [];
  const listed = /^language:[ \t]*\n((?:[ \t]*-[^\n]*\n?)+)/m.exec(`${head}\n`)?.[1]?.split("\n") ?? [];
  const tags = [...inline, ...listed].map((tag) => tag.replace(/^[\s-]+/, "").replace(/["'\s]/g, ""));
  const languages = tags.filter((tag) => /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(tag));
  return { licence: SPDX[licence ?? ""] ?? licence ?? "unknown", languages: [...new Set(languages)] };
}

/** SPDX names of licences that hubs write in lower case. */
const SPDX: Readonly<Record<string, string>> = { mit: "MIT", "apache-2.0": "Apache-2.0" };

async function modelFile(folder: string): Promise<string> {
  for (const name of MODEL_FILES) {
    if ((await stat(join(folder, name)).catch(nullIfMissing))?.isFile() === true) return join(folder, name);
  }
  const found: string[] = [];
  for (const place of [folder, join(folder, "onnx")]) {
    const names = (await readdir(place).catch(nullIfMissing)) ?? [];
    found.push(...names.filter((name) => name.endsWith(".onnx")).map((name) => join(place, name)));
  }
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  throw new ModelFilesError(
    first === undefined
      ? "The folder has no ONNX model (model.onnx, or onnx/model.onnx). docs/models.md says how to make one."
      : "The folder has several ONNX models: call the one to use model.onnx.",
  );
}

/** Names of files with the weights of a large model. */
async function weightsBeside(model: string): Promise<readonly string[]> {
  const names = await readdir(dirname(model));
  return names.filter((name) => /\.onnx[._]data(_\d+)?$/.test(name) && /^[\w-][\w.-]*$/.test(name)).sort();
}

/** A JSON object or list; empty if the file is missing or too large. @throws ModelFilesError if it is not JSON */
async function readJson(path: string): Promise<JsonRecord> {
  const text = await readText(path);
  if (text === "") return {};
  try {
    return Object(JSON.parse(text));
  } catch (cause) {
    throw new ModelFilesError(`The file ${basename(path)} of the folder is not JSON.`, { cause });
  }
}

async function readText(path: string): Promise<string> {
  const found = await stat(path).catch(nullIfMissing);
  return found === null || found.size > TEXT_BYTES_MAX ? "" : readFile(path, "utf8");
}
