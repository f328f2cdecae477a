// A lane: the child process that runs the models. It tokenises texts, runs the encoders and sends the outputs back. The
// server decides what runs when and on which lane (lanes.ts); loaded-models.ts loads and frees models.

import { type ChildMessage, ChildRefusal, serveChild } from "../../children/serve.ts";
import { invariant } from "../../domain/fault.ts";
import type { JsonObject } from "../../domain/json.ts";
import { type EarlyExit, READING_WIDTH } from "../../ports/models.ts";
import { GPU_VARIABLE, type GpuTarget } from "./gpu/gpu-target.ts";
import {
  INSTALLED_DIR_VARIABLE,
  type LaneHello,
  MODELS_DIR_VARIABLE,
  type ModelRuntime,
  PRELOAD_VARIABLE,
  REQUEST_TEXTS_MAX,
  RUNTIME_VARIABLE,
} from "./lane-protocol.ts";
import { type Loaded, LoadedModels, type LoadedReader } from "./loaded-models.ts";
import { ModelFilesError } from "./manifest-fields.ts";
import type { EmbedderDescription, RerankerDescription } from "./model-files.ts";
import { openEncoder, openGpuEncoder } from "./open-encoder.ts";
import { readingOf } from "./reading.ts";

/**
 * Loads the models for the start, and serves requests until the server is gone. Further models are loaded when they are
 * needed; if one cannot be loaded, its requests fail with `ModelFilesError`.
 * @throws ChildRefusal if a model for the start cannot be loaded
 */
export async function runLane(socketPath: string): Promise<void> {
  const modelsDir = process.env[MODELS_DIR_VARIABLE];
  const preload = process.env[PRELOAD_VARIABLE];
  invariant(modelsDir && preload, `a lane was started without ${MODELS_DIR_VARIABLE} or ${PRELOAD_VARIABLE}`);
  const gpu = process.env[GPU_VARIABLE];
  const target = gpu === undefined ? null : (JSON.parse(gpu) as GpuTarget);
  const models = new LoadedModels(modelsDir, process.env[INSTALLED_DIR_VARIABLE] ?? null, {
    onCpu: (model) => openEncoder(model, process.env[RUNTIME_VARIABLE] as ModelRuntime),
    onGpu: target && ((model) => openGpuEncoder(model, target)),
  });
  await loadAll(models, preload.split(","), target !== null);
  const reply = (values: Float32Array): ChildMessage => ({
    header: models.takeReports(),
    payload: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  });
  await serveChild(
    socketPath,
    {
      embed: async ({ header }) => {
        const embedder = await models.embedder(modelOf(header));
        return reply(await embed(models, embedder, textsOf(header, "texts"), header.isUrgent === true));
      },
      count: async ({ header }) => {
        const embedder = await models.embedder(modelOf(header));
        return reply(countTokens(embedder, textsOf(header, "texts")));
      },
      score: async ({ header }) => {
        const reranker = await models.reranker(modelOf(header));
        const passages = textsOf(header, "passages");
        return reply(await score(models, reranker, queryOf(header), passages, earlyExitOf(header, passages.length)));
      },
      read: async ({ header }) => {
        const reader = await models.reader(modelOf(header));
        return reply(await read(models, reader, queryOf(header), textsOf(header, "passages")));
      },
    },
    { ...models.takeReports(), loadMs: Math.round(performance.now()) } satisfies LaneHello,
  );
}

/**
 * Loads the models for the start.
 * @param hasGpu whether the lane tries a GPU. It then does not refuse to run, which would be final, because the failure
 *   may come from the GPU's libraries: the next process computes on the CPU, and refuses if that fails, too.
 * @throws ChildRefusal if the files of a model cannot be used, and there is no GPU; any other error as it is
 */
async function loadAll(models: LoadedModels, ids: readonly string[], hasGpu: boolean): Promise<void> {
  try {
    for (const id of ids) await models.get(id);
  } catch (error) {
    if (error instanceof ModelFilesError && !hasGpu) throw new ChildRefusal(error.message, { cause: error });
    throw error;
  }
}

/** Returns the vectors of `texts`, row-major `[n, dimensions]`. */
async function embed(
  models: LoadedModels,
  embedder: Loaded<EmbedderDescription>,
  texts: readonly string[],
  isUrgent: boolean,
): Promise<Float32Array> {
  const { model, tokenizer } = embedder;
  const sequences = texts.map((text) => {
    const ids = tokenizer.encode(text, model.tokensMax);
    return { ids, firstLength: ids.length };
  });
  const vectors = await models.encode(embedder, sequences, isUrgent);
  const isComplete = vectors.length === texts.length * model.dimensions;
  invariant(isComplete, "the embedder's vectors differ in length from model.json");
  return vectors;
}

/** Returns the number of tokens of each text, special tokens included, before truncation. */
function countTokens({ tokenizer }: Loaded<EmbedderDescription>, texts: readonly string[]): Float32Array {
  const special = tokenizer.encode("", 2).length;
  return Float32Array.from(texts, (text) => special + tokenizer.count(text));
}

/** Returns one logit per passage. */
async function score(
  models: LoadedModels,
  reranker: Loaded<RerankerDescription>,
  query: string,
  passages: readonly string[],
  earlyExit: EarlyExit | null,
): Promise<Float32Array> {
  const { tokenizer, encoder } = reranker;
  const { queryTokensMax, tokensMax } = reranker.model;
  const pairs = passages.map((passage) => tokenizer.encodePair(query, passage, queryTokensMax, tokensMax));
  const logits =
    earlyExit !== null && encoder.scoreWithEarlyExit !== null
      ? await encoder.scoreWithEarlyExit(pairs, earlyExit)
      : await models.encode(reranker, pairs, false);
  invariant(logits.length === passages.length, "the reranker did not return one logit per passage");
  return logits;
}

/** Returns `READING_WIDTH` values per passage. */
async function read(
  models: LoadedModels,
  reader: LoadedReader,
  question: string,
  passages: readonly string[],
): Promise<Float32Array> {
  const { queryTokensMax, tokensMax } = reader.model;
  const pairs = passages.map((passage) => reader.tokenizer.encodeReading(question, passage, queryTokensMax, tokensMax));
  const readings = new Float32Array(passages.length * READING_WIDTH);
  for (const [row, values] of (await models.read(reader, pairs)).entries()) {
    const [pair, passage] = [pairs[row], passages[row]];
    invariant(pair && passage !== undefined, "a reader returned too many rows");
    readings.set(readingOf(values, pair, passage), row * READING_WIDTH);
  }
  return readings;
}

function modelOf(header: JsonObject): string {
  const { model } = header;
  invariant(typeof model === "string", "a request names no model");
  return model;
}

function queryOf(header: JsonObject): string {
  const query = header.query;
  invariant(typeof query === "string", "a request has no query");
  return query;
}

function earlyExitOf(header: JsonObject, count: number): EarlyExit | null {
  const earlyExit = header.earlyExit as EarlyExit | null;
  const isComplete =
    earlyExit === null || (earlyExit.priorScores.length === count && earlyExit.priorScores.every(Number.isFinite));
  invariant(isComplete, "a score request has not one prior score per passage");
  return earlyExit;
}

function textsOf(header: JsonObject, field: string): readonly string[] {
  const texts = header[field];
  invariant(
    Array.isArray(texts) && texts.every((text) => typeof text === "string"),
    `a lane request has no list of ${field}`,
  );
  invariant(texts.length <= REQUEST_TEXTS_MAX, `a lane request has ${texts.length} ${field}`);
  return texts;
}
