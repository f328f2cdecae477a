// A lane: the child process that runs the models. The only importer of onnxruntime-node. What is computed when, and on
// which lane, is decided in the server (lanes.ts); this side only makes good batches of what it is given.

import { InferenceSession, Tensor } from "onnxruntime-node";
import type { JsonObject } from "../../children/frames.ts";
import { type ChildMessage, ChildRefusal, serveChild } from "../../children/serve.ts";
import { invariant } from "../../domain/fault.ts";
import { loadWordPiece, type WordPiece } from "../../kit/wordpiece.ts";
import { packRuns } from "./batches.ts";
import { MODELS_DIR_VARIABLE, REQUEST_TEXTS_MAX } from "./lane-protocol.ts";
import {
  describeEmbedder,
  describeReranker,
  type EmbedderDescription,
  ModelFilesError,
  type RerankerDescription,
  verifyModelFiles,
} from "./model-files.ts";

/**
 * One thread per lane: parallelism comes from the number of lanes, and spinning pool threads doubled the time of a
 * rerank. Without memory patterns the lane stays 40 MB smaller at the same speed (bench/embedder.ts).
 */
const SESSION_OPTIONS: InferenceSession.SessionOptions = {
  executionProviders: ["cpu"],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  graphOptimizationLevel: "all",
  logSeverityLevel: 3,
  enableMemPattern: false,
};

/**
 * Padded tokens of one run of a model. Larger batches gain 5 % at most, but memory grows with the run: 512 keeps a lane
 * with both models under 250 MB. Holds every single input, whose own limit is 256.
 */
const RUN_TOKENS_MAX = 512;

/**
 * Loads both models, checks that they are the ones described, and serves until the server is gone.
 * @throws ChildRefusal when a model file is missing or not the one that model.json describes
 */
export async function runLane(socketPath: string): Promise<void> {
  const modelsDir = process.env[MODELS_DIR_VARIABLE];
  invariant(modelsDir, `a lane was started without ${MODELS_DIR_VARIABLE}`);
  const { embedder, reranker } = await load(modelsDir);
  // Loading leaves 30 MB of garbage behind, and a lane that waits would keep it.
  Bun.gc(true);
  await serveChild(
    socketPath,
    {
      embed: async ({ header }) => float32Reply(await embedder.embed(textsOf(header, "texts"))),
      score: async ({ header }) => float32Reply(await reranker.score(queryOf(header), textsOf(header, "passages"))),
    },
    { provider: "cpu", loadMs: Math.round(performance.now()) },
  );
}

async function load(modelsDir: string): Promise<{ embedder: LoadedEmbedder; reranker: LoadedReranker }> {
  try {
    return {
      embedder: await LoadedEmbedder.load(describeEmbedder(modelsDir)),
      reranker: await LoadedReranker.load(describeReranker(modelsDir)),
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
    private readonly session: InferenceSession,
  ) {}

  static async load(model: EmbedderDescription): Promise<LoadedEmbedder> {
    await verifyModelFiles(model);
    const session = await InferenceSession.create(model.modelPath, SESSION_OPTIONS);
    return new LoadedEmbedder(model, loadWordPiece(model.tokenizerPath), session);
  }

  /** Vectors of `texts`, `[n, dimensions]`. */
  async embed(texts: readonly string[]): Promise<Float32Array> {
    const { dimensions, tokensMax } = this.model;
    const inputs = texts.map((text) => this.tokenizer.encode(text, tokensMax));
    const vectors = new Float32Array(texts.length * dimensions);
    for (const run of packRuns(lengthsOf(inputs), RUN_TOKENS_MAX)) {
      const batch = new Batch(run.indices.length, run.length);
      run.indices.forEach((index, row) => {
        batch.setRow(row, inputs[index]);
      });
      const feeds = { input_ids: batch.ids(), attention_mask: batch.mask() };
      const output = await this.session.run(feeds, ["sentence_embedding"]);
      const rows = float32Of(output.sentence_embedding, run.indices.length * dimensions);
      run.indices.forEach((index, row) => {
        vectors.set(rows.subarray(row * dimensions, (row + 1) * dimensions), index * dimensions);
      });
    }
    return vectors;
  }
}

class LoadedReranker {
  private constructor(
    private readonly model: RerankerDescription,
    private readonly tokenizer: WordPiece,
    private readonly session: InferenceSession,
  ) {}

  static async load(model: RerankerDescription): Promise<LoadedReranker> {
    await verifyModelFiles(model);
    const session = await InferenceSession.create(model.modelPath, SESSION_OPTIONS);
    return new LoadedReranker(model, loadWordPiece(model.tokenizerPath), session);
  }

  /** One logit per passage. */
  async score(query: string, passages: readonly string[]): Promise<Float32Array> {
    const { queryTokensMax, tokensMax } = this.model;
    const pairs = passages.map((passage) => this.tokenizer.encodePair(query, passage, queryTokensMax, tokensMax));
    const logits = new Float32Array(passages.length);
    for (const run of packRuns(lengthsOf(pairs.map((pair) => pair.ids)), RUN_TOKENS_MAX)) {
      const batch = new Batch(run.indices.length, run.length);
      run.indices.forEach((index, row) => {
        batch.setRow(row, pairs[index]?.ids, pairs[index]?.firstLength);
      });
      const feeds = { input_ids: batch.ids(), attention_mask: batch.mask(), token_type_ids: batch.types() };
      const output = await this.session.run(feeds, ["logits"]);
      const scores = float32Of(output.logits, run.indices.length);
      run.indices.forEach((index, row) => {
        logits[index] = scores[row] ?? Number.NaN;
      });
    }
    return logits;
  }
}

/**
 * Padded input tensors of one run, `[rows, length]` int64. Written through 32-bit views of their low halves: ids are
 * small, and filling a BigInt64Array with BigInts costs more than tokenising.
 */
class Batch {
  private readonly idCells: BigInt64Array;
  private readonly maskCells: BigInt64Array;
  private readonly typeCells: BigInt64Array;

  constructor(
    private readonly rows: number,
    private readonly length: number,
  ) {
    this.idCells = new BigInt64Array(rows * length);
    this.maskCells = new BigInt64Array(rows * length);
    this.typeCells = new BigInt64Array(rows * length);
  }

  /** @param firstLength tokens of type 0; the rest has type 1 */
  setRow(row: number, tokens: Int32Array | undefined, firstLength = tokens?.length): void {
    invariant(tokens !== undefined && firstLength !== undefined, "a run was packed with an input that does not exist");
    const ids = new Int32Array(this.idCells.buffer);
    const mask = new Int32Array(this.maskCells.buffer);
    const types = new Int32Array(this.typeCells.buffer);
    let cell = row * this.length * 2;
    for (let at = 0; at < tokens.length; at += 1) {
      ids[cell] = tokens[at] ?? 0;
      mask[cell] = 1;
      if (at >= firstLength) types[cell] = 1;
      cell += 2;
    }
  }

  ids(): Tensor {
    return this.tensor(this.idCells);
  }

  mask(): Tensor {
    return this.tensor(this.maskCells);
  }

  types(): Tensor {
    return this.tensor(this.typeCells);
  }

  private tensor(cells: BigInt64Array): Tensor {
    return new Tensor("int64", cells, [this.rows, this.length]);
  }
}

function lengthsOf(inputs: readonly Int32Array[]): readonly number[] {
  return inputs.map((ids) => ids.length);
}

function float32Of(tensor: Tensor | undefined, length: number): Float32Array {
  const data = tensor?.data;
  invariant(
    data instanceof Float32Array && data.length === length,
    "a model's output has another shape than described",
  );
  return data;
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
