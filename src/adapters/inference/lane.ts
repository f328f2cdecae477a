// A lane: the child process that runs the models. What is computed when, and on which lane, is decided in the server
// (lanes.ts), what computes it in encoder.ts; this side turns texts into tokens and answers into replies.

import type { JsonObject } from "../../children/frames.ts";
import { type ChildMessage, ChildRefusal, serveChild } from "../../children/serve.ts";
import { invariant } from "../../domain/fault.ts";
import { loadWordPiece, type WordPiece } from "../../kit/wordpiece.ts";
import type { EarlyExit } from "../../ports/models.ts";
import { type Encoder, openEncoder } from "./encoder.ts";
import { MODELS_DIR_VARIABLE, type ModelRuntime, REQUEST_TEXTS_MAX, RUNTIME_VARIABLE } from "./lane-protocol.ts";
import {
  describeEmbedder,
  describeReranker,
  type EmbedderDescription,
  type ModelDescription,
  ModelFilesError,
  type RerankerDescription,
  verifyModelFiles,
} from "./model-files.ts";

/**
 * Loads both models, checks that they are the ones described, and serves until the server is gone.
 * @throws ChildRefusal when a model file is missing or not the one that model.json describes
 */
export async function runLane(socketPath: string): Promise<void> {
  const modelsDir = process.env[MODELS_DIR_VARIABLE];
  invariant(modelsDir, `a lane was started without ${MODELS_DIR_VARIABLE}`);
  const { embedder, reranker } = await loadBoth(modelsDir, process.env[RUNTIME_VARIABLE] as ModelRuntime);
  // Loading leaves 30 MB of garbage behind, and a lane that waits would keep it.
  Bun.gc(true);
  await serveChild(
    socketPath,
    {
      embed: async ({ header }) =>
        float32Reply(await embed(embedder, textsOf(header, "texts"), header.isUrgent === true)),
      score: async ({ header }) => {
        const passages = textsOf(header, "passages");
        return float32Reply(await score(reranker, queryOf(header), passages, earlyExitOf(header, passages.length)));
      },
    },
    {
      provider: [...new Set([embedder.encoder.provider, reranker.encoder.provider])].join(" and "),
      supportsEarlyExit: reranker.encoder.judge !== null,
      complaints: [embedder.encoder.complaint, reranker.encoder.complaint].filter((complaint) => complaint !== null),
      loadMs: Math.round(performance.now()),
    },
  );
}

/** A model that is ready, with what makes tokens of texts for it. */
interface Loaded<Model> {
  readonly model: Model;
  readonly tokenizer: WordPiece;
  readonly encoder: Encoder;
}

async function loadBoth(
  modelsDir: string,
  runtime: ModelRuntime,
): Promise<{ embedder: Loaded<EmbedderDescription>; reranker: Loaded<RerankerDescription> }> {
  try {
    return {
      embedder: await load(describeEmbedder(modelsDir), runtime),
      reranker: await load(describeReranker(modelsDir), runtime),
    };
  } catch (error) {
    if (error instanceof ModelFilesError) throw new ChildRefusal(error.message, { cause: error });
    throw error;
  }
}

async function load<Model extends ModelDescription>(model: Model, runtime: ModelRuntime): Promise<Loaded<Model>> {
  await verifyModelFiles(model);
  return { model, tokenizer: loadWordPiece(model.tokenizerPath), encoder: await openEncoder(model, runtime) };
}

/** Vectors of `texts`, `[n, dimensions]`. */
async function embed(
  { model, tokenizer, encoder }: Loaded<EmbedderDescription>,
  texts: readonly string[],
  isUrgent: boolean,
): Promise<Float32Array> {
  const sequences = texts.map((text) => {
    const ids = tokenizer.encode(text, model.tokensMax);
    return { ids, firstLength: ids.length };
  });
  const vectors = await encoder.answer(sequences, isUrgent);
  invariant(vectors.length === texts.length * model.dimensions, "a model's vectors have another length than described");
  return vectors;
}

/** One logit per passage. */
async function score(
  { model, tokenizer, encoder }: Loaded<RerankerDescription>,
  query: string,
  passages: readonly string[],
  earlyExit: EarlyExit | null,
): Promise<Float32Array> {
  const { queryTokensMax, tokensMax } = model;
  const pairs = passages.map((passage) => tokenizer.encodePair(query, passage, queryTokensMax, tokensMax));
  const isJudged = earlyExit !== null && encoder.judge !== null;
  const logits = isJudged ? await encoder.judge(pairs, earlyExit) : await encoder.answer(pairs, false);
  invariant(logits.length === passages.length, "a reranker gave another number of logits than it was asked for");
  return logits;
}

function float32Reply(values: Float32Array): ChildMessage {
  return { header: {}, payload: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

function queryOf(header: JsonObject): string {
  const query = header.query;
  invariant(typeof query === "string", "a lane was asked to score without a query");
  return query;
}

function earlyExitOf(header: JsonObject, count: number): EarlyExit | null {
  const earlyExit = header.earlyExit as EarlyExit | null;
  const isWhole =
    earlyExit === null || (earlyExit.priorScores.length === count && earlyExit.priorScores.every(Number.isFinite));
  invariant(isWhole, "a lane was asked to score with other head starts than passages");
  return earlyExit;
}

function textsOf(header: JsonObject, field: string): readonly string[] {
  const texts = header[field];
  invariant(Array.isArray(texts) && texts.every((text) => typeof text === "string"), `a lane got no ${field}`);
  invariant(texts.length <= REQUEST_TEXTS_MAX, `a lane got ${texts.length} ${field} at once`);
  return texts;
}
