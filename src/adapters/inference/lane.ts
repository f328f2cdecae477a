// A lane: the child process that runs the models. What is computed when, and on which lane, is decided in the server
// (lanes.ts), what computes it in encoder.ts; this side turns texts into tokens and answers into replies.

import type { JsonObject } from "../../children/frames.ts";
import { type ChildMessage, ChildRefusal, serveChild } from "../../children/serve.ts";
import { invariant } from "../../domain/fault.ts";
import { loadWordPiece, type WordPiece } from "../../kit/wordpiece.ts";
import { type Encoder, openEncoder } from "./encoder.ts";
import { MODELS_DIR_VARIABLE, type ModelRuntime, REQUEST_TEXTS_MAX, RUNTIME_VARIABLE } from "./lane-protocol.ts";
import {
  describeEmbedder,
  describeReranker,
  type EmbedderDescription,
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
  const { embedder, reranker } = await load(modelsDir, process.env[RUNTIME_VARIABLE] as ModelRuntime);
  // Loading leaves 30 MB of garbage behind, and a lane that waits would keep it.
  Bun.gc(true);
  await serveChild(
    socketPath,
    {
      embed: async ({ header }) => float32Reply(await embedder.embed(textsOf(header, "texts"))),
      score: async ({ header }) => float32Reply(await reranker.score(queryOf(header), textsOf(header, "passages"))),
    },
    {
      provider: [...new Set([embedder.provider, reranker.provider])].join(" and "),
      loadMs: Math.round(performance.now()),
    },
  );
}

async function load(
  modelsDir: string,
  runtime: ModelRuntime,
): Promise<{ embedder: LoadedEmbedder; reranker: LoadedReranker }> {
  try {
    return {
      embedder: await LoadedEmbedder.load(describeEmbedder(modelsDir), runtime),
      reranker: await LoadedReranker.load(describeReranker(modelsDir), runtime),
    };
  } catch (error) {
    if (error instanceof ModelFilesError) throw new ChildRefusal(error.message, { cause: error });
    throw error;
  }
}

class LoadedEmbedder {
  private constructor(
    private readonly model: EmbedderDescription,
    private readonly tokenizer: WordPiece,
    private readonly encoder: Encoder,
  ) {}

  static async load(model: EmbedderDescription, runtime: ModelRuntime): Promise<LoadedEmbedder> {
    await verifyModelFiles(model);
    return new LoadedEmbedder(model, loadWordPiece(model.tokenizerPath), await openEncoder(model, runtime));
  }

  get provider(): string {
    return this.encoder.provider;
  }

  /** Vectors of `texts`, `[n, dimensions]`. */
  async embed(texts: readonly string[]): Promise<Float32Array> {
    const { dimensions, tokensMax } = this.model;
    const sequences = texts.map((text) => {
      const ids = this.tokenizer.encode(text, tokensMax);
      return { ids, firstLength: ids.length };
    });
    const vectors = await this.encoder.answer(sequences);
    invariant(vectors.length === texts.length * dimensions, "a model's vectors have another length than described");
    return vectors;
  }
}

class LoadedReranker {
  private constructor(
    private readonly model: RerankerDescription,
    private readonly tokenizer: WordPiece,
    private readonly encoder: Encoder,
  ) {}

  static async load(model: RerankerDescription, runtime: ModelRuntime): Promise<LoadedReranker> {
    await verifyModelFiles(model);
    return new LoadedReranker(model, loadWordPiece(model.tokenizerPath), await openEncoder(model, runtime));
  }

  get provider(): string {
    return this.encoder.provider;
  }

  /** One logit per passage. */
  async score(query: string, passages: readonly string[]): Promise<Float32Array> {
    const { queryTokensMax, tokensMax } = this.model;
    const pairs = passages.map((passage) => this.tokenizer.encodePair(query, passage, queryTokensMax, tokensMax));
    const logits = await this.encoder.answer(pairs);
    invariant(logits.length === passages.length, "a reranker gave another number of logits than it was asked for");
    return logits;
  }
}

function float32Reply(values: Float32Array): ChildMessage {
  return { header: {}, payload: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

function queryOf(header: JsonObject): string {
  const query = header.query;
  invariant(typeof query === "string", "a lane was asked to score without a query");
  return query;
}

function textsOf(header: JsonObject, field: string): readonly string[] {
  const texts = header[field];
  invariant(Array.isArray(texts) && texts.every((text) => typeof text === "string"), `a lane got no ${field}`);
  invariant(texts.length <= REQUEST_TEXTS_MAX, `a lane got ${texts.length} ${field} at once`);
  return texts;
}
