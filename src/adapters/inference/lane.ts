// A lane: the child process that runs the models. It tokenises texts, runs the encoders and sends the outputs back. The
// server decides what runs when and on which lane (lanes.ts); open-encoder.ts chooses the runtime.

import type { JsonObject } from "../../children/frames.ts";
import { type ChildMessage, ChildRefusal, serveChild } from "../../children/serve.ts";
import { invariant } from "../../domain/fault.ts";
import { loadTokenizer } from "../../kit/load-tokenizer.ts";
import type { Tokenizer } from "../../kit/tokenizer.ts";
import type { EarlyExit } from "../../ports/models.ts";
import type { Encoder } from "./encoder.ts";
import {
  type LaneHello,
  MODELS_DIR_VARIABLE,
  type ModelRuntime,
  REQUEST_TEXTS_MAX,
  RUNTIME_VARIABLE,
} from "./lane-protocol.ts";
import {
  describeEmbedder,
  describeReranker,
  type EmbedderDescription,
  type ModelDescription,
  ModelFilesError,
  type RerankerDescription,
  verifyModelFiles,
} from "./model-files.ts";
import { openEncoder } from "./open-encoder.ts";

/**
 * Loads both models, verifies their files, and serves requests until the server is gone.
 * @throws ChildRefusal if a model file is missing or differs from its model.json
 */
export async function runLane(socketPath: string): Promise<void> {
  const modelsDir = process.env[MODELS_DIR_VARIABLE];
  invariant(modelsDir, `a lane was started without ${MODELS_DIR_VARIABLE}`);
  const { embedder, reranker } = await loadBoth(modelsDir, process.env[RUNTIME_VARIABLE] as ModelRuntime);
  // Loading leaves 30 MB of garbage. Without this call, an idle lane would not free it.
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
      supportsEarlyExit: reranker.encoder.scoreWithEarlyExit !== null,
      warnings: [embedder.encoder.warning, reranker.encoder.warning].filter((warning) => warning !== null),
      loadMs: Math.round(performance.now()),
    } satisfies LaneHello,
  );
}

/** A loaded model and its tokeniser. */
interface Loaded<Model> {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
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
  return {
    model,
    tokenizer: loadTokenizer({ kind: "wordpiece", path: model.tokenizerPath }),
    encoder: await openEncoder(model, runtime),
  };
}

/** Returns the vectors of `texts`, row-major `[n, dimensions]`. */
async function embed(
  { model, tokenizer, encoder }: Loaded<EmbedderDescription>,
  texts: readonly string[],
  isUrgent: boolean,
): Promise<Float32Array> {
  const sequences = texts.map((text) => {
    const ids = tokenizer.encode(text, model.tokensMax);
    return { ids, firstLength: ids.length };
  });
  const vectors = await encoder.encode(sequences, isUrgent);
  const isComplete = vectors.length === texts.length * model.dimensions;
  invariant(isComplete, "the embedder's vectors differ in length from model.json; this is a bug in Mneme");
  return vectors;
}

/** Returns one logit per passage. */
async function score(
  { model, tokenizer, encoder }: Loaded<RerankerDescription>,
  query: string,
  passages: readonly string[],
  earlyExit: EarlyExit | null,
): Promise<Float32Array> {
  const { queryTokensMax, tokensMax } = model;
  const pairs = passages.map((passage) => tokenizer.encodePair(query, passage, queryTokensMax, tokensMax));
  const logits =
    earlyExit !== null && encoder.scoreWithEarlyExit !== null
      ? await encoder.scoreWithEarlyExit(pairs, earlyExit)
      : await encoder.encode(pairs, false);
  invariant(
    logits.length === passages.length,
    "the reranker did not return one logit per passage; this is a bug in Mneme",
  );
  return logits;
}

function float32Reply(values: Float32Array): ChildMessage {
  return { header: {}, payload: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

function queryOf(header: JsonObject): string {
  const query = header.query;
  invariant(typeof query === "string", "a score request has no query; this is a bug in Mneme");
  return query;
}

function earlyExitOf(header: JsonObject, count: number): EarlyExit | null {
  const earlyExit = header.earlyExit as EarlyExit | null;
  const isComplete =
    earlyExit === null || (earlyExit.priorScores.length === count && earlyExit.priorScores.every(Number.isFinite));
  invariant(isComplete, "a score request has not one prior score per passage; this is a bug in Mneme");
  return earlyExit;
}

function textsOf(header: JsonObject, field: string): readonly string[] {
  const texts = header[field];
  invariant(
    Array.isArray(texts) && texts.every((text) => typeof text === "string"),
    `a lane request has no list of ${field}; this is a bug in Mneme`,
  );
  invariant(texts.length <= REQUEST_TEXTS_MAX, `a lane request has ${texts.length} ${field}; this is a bug in Mneme`);
  return texts;
}
