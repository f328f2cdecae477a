// Runs a model in onnxruntime, in batches of similar length. Only this file and onnxruntime-pictures.ts import
// onnxruntime-node.

import { InferenceSession, Tensor } from "onnxruntime-node";
import { invariant } from "../../domain/fault.ts";
import type { TokenSequence } from "../native/model-encoder.ts";
import { packRuns } from "./batches.ts";
import type { Encoder } from "./encoder.ts";
import type { GpuTarget } from "./gpu/gpu-target.ts";
import { NO_TELEMETRY_VARIABLE } from "./lane-protocol.ts";
import type { ModelDescription } from "./model-files.ts";
import { type Outputs, outputName, rowsOf } from "./pooling.ts";
import { wholeModel } from "./whole-model.ts";

/**
 * Options of a session. It has one thread, because lanes run in parallel: with more, waiting threads of the pools kept
 * the cores busy and doubled the time of a rerank. Without memory patterns, a lane takes 40 MB less at the same speed.
 */
export const SESSION_OPTIONS: InferenceSession.SessionOptions = {
  executionProviders: ["cpu"],
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  graphOptimizationLevel: "all",
  logSeverityLevel: 3,
  enableMemPattern: false,
};

/**
 * Maximum number of tokens of one batch, padding included. Larger batches are at most 5 % faster, but take more memory;
 * with 512, a lane with two small models takes less than 250 MB. A longer input is a batch of its own.
 */
const RUN_TOKENS_MAX = 512;

/** Names of the outputs of a reader; their shapes are `[pairs, 2]` and `[pairs, tokens, 2]`. */
const [LOGITS, SPANS] = ["logits", "spans"];

/** The parts of a description that say where a model is and how its outputs become rows. */
type Readable = Pick<ModelDescription, "modelPath"> & Partial<Pick<ModelDescription, "words">> & Partial<Outputs>;

/**
 * Loads a model into a session on the CPU.
 * @param warning why the native encoder does not run the model; null if onnxruntime is meant to run it
 * @throws Error of onnxruntime or of the operating system if the model cannot be loaded
 */
export async function openWithOnnxruntime(model: Readable, warning: string | null): Promise<Encoder> {
  refuseTelemetry();
  const { modelPath, words = null } = model;
  const session =
    words === null
      ? await InferenceSession.create(modelPath, SESSION_OPTIONS)
      : await InferenceSession.create(wholeModel({ modelPath, words }), SESSION_OPTIONS);
  return encoderOf(session, model, { provider: "cpu", warning, runTokensMax: RUN_TOKENS_MAX });
}

/**
 * Loads a graph into a session on a GPU.
 * @param graph bytes of the model, converted for a GPU (gpu/half-graph.ts)
 * @throws Error of onnxruntime if the GPU or its libraries cannot be used
 */
export async function openOnGpu(
  model: Readable,
  graph: Uint8Array,
  { device, batchTokensMax }: GpuTarget,
): Promise<Encoder> {
  refuseTelemetry();
  const executionProviders = [{ name: "cuda", deviceId: device }, "cpu"] as const;
  const session = await InferenceSession.create(graph, { ...SESSION_OPTIONS, executionProviders });
  return encoderOf(session, model, { provider: `cuda:${device}`, warning: null, runTokensMax: batchTokensMax });
}

/** Throws unless this process has switched telemetry off. */
export function refuseTelemetry(): void {
  invariant(
    process.env[NO_TELEMETRY_VARIABLE] === "1",
    `a process uses onnxruntime without ${NO_TELEMETRY_VARIABLE}=1`,
  );
}

function encoderOf(
  session: InferenceSession,
  { pooling = "in the graph", dimensions = null }: Partial<Outputs>,
  { provider, warning, runTokensMax }: Pick<Encoder, "provider" | "warning"> & { readonly runTokensMax: number },
): Encoder {
  const outputs = { pooling, dimensions };
  return {
    provider,
    warning,
    encode: (sequences) => encode(session, sequences, outputs, runTokensMax),
    scoreWithEarlyExit: null,
    read: session.outputNames.includes(SPANS) ? (pairs) => read(session, pairs, runTokensMax) : null,
    close: () => session.release(),
  };
}

async function encode(
  session: InferenceSession,
  sequences: readonly TokenSequence[],
  reading: Outputs,
  runTokensMax: number,
): Promise<Float32Array> {
  const output = outputName(session.outputNames, reading.pooling);
  invariant(output !== undefined, "a model file has no outputs");
  let outputs = new Float32Array();
  let width = 0;
  const lengths = sequences.map(({ ids }) => ids.length);
  for (const run of packRuns(lengths, runTokensMax)) {
    const batch = new Batch(run.indices.length, run.length);
    run.indices.forEach((index, row) => {
      batch.setRow(row, sequences[index]);
    });
    const ran = (await session.run(batch.feeds(session.inputNames), [output]))[output];
    const rows = rowsOf(ran, batch.lengths, reading);
    if (width === 0) {
      width = rows.length / run.indices.length;
      outputs = new Float32Array(sequences.length * width);
    }
    run.indices.forEach((index, row) => {
      outputs.set(rows.subarray(row * width, (row + 1) * width), index * width);
    });
  }
  return outputs;
}

/** Implements `Encoder.read`. */
async function read(
  session: InferenceSession,
  pairs: readonly TokenSequence[],
  runTokensMax: number,
): Promise<readonly Float32Array[]> {
  const found: Float32Array[] = [];
  const lengths = pairs.map(({ ids }) => ids.length);
  for (const run of packRuns(lengths, runTokensMax)) {
    const batch = new Batch(run.indices.length, run.length);
    run.indices.forEach((index, row) => {
      batch.setRow(row, pairs[index]);
    });
    const ran = await session.run(batch.feeds(session.inputNames), [LOGITS, SPANS]);
    const [logits, spans] = [ran[LOGITS]?.data, ran[SPANS]?.data];
    invariant(
      logits instanceof Float32Array && spans instanceof Float32Array && spans.length === logits.length * run.length,
      "a reader did not compute two logits per pair and per token",
    );
    run.indices.forEach((index, row) => {
      const values = new Float32Array(2 + 2 * (lengths[index] ?? 0));
      values.set(logits.subarray(2 * row, 2 * row + 2));
      values.set(spans.subarray(2 * row * run.length, 2 * row * run.length + values.length - 2), 2);
      found[index] = values;
    });
  }
  return found;
}

/**
 * Padded input tensors of one batch, int64 `[rows, length]`. Values are written through 32-bit views of the tensors,
 * into the lower half of each element: ids are small, and filling a BigInt64Array with BigInts takes longer than
 * tokenising.
 */
class Batch {
  private readonly ids: BigInt64Array;
  private readonly mask: BigInt64Array;
  private readonly types: BigInt64Array;
  /** Number of tokens of each row. */
  readonly lengths: number[] = [];

  constructor(
    private readonly rows: number,
    private readonly length: number,
  ) {
    this.ids = new BigInt64Array(rows * length);
    this.mask = new BigInt64Array(rows * length);
    this.types = new BigInt64Array(rows * length);
  }

  /** Writes one sequence. Tokens of its first text get type 0, those of the second type 1. */
  setRow(row: number, sequence: TokenSequence | undefined): void {
    invariant(sequence !== undefined, "a batch has an input that does not exist");
    this.lengths[row] = sequence.ids.length;
    const ids = new Int32Array(this.ids.buffer);
    const mask = new Int32Array(this.mask.buffer);
    const types = new Int32Array(this.types.buffer);
    const { secondEnd = sequence.ids.length } = sequence;
    let cell = row * this.length * 2;
    for (let at = 0; at < sequence.ids.length; at += 1) {
      ids[cell] = sequence.ids[at] ?? 0;
      mask[cell] = 1;
      if (at >= sequence.firstLength && at < secondEnd) types[cell] = 1;
      cell += 2;
    }
  }

  /** Returns only the tensors that the model declares as inputs. */
  feeds(names: readonly string[]): Record<string, Tensor> {
    if (names.includes("offsets")) return this.flat();
    const positions = () =>
      BigInt64Array.from({ length: this.rows * this.length }, (_, at) => BigInt(at % this.length));
    const known = { input_ids: this.ids, attention_mask: this.mask, token_type_ids: this.types };
    const wanted = Object.entries(known).filter(([name]) => names.includes(name));
    if (names.includes("position_ids")) wanted.push(["position_ids", positions()]);
    return Object.fromEntries(
      wanted.map(([name, cells]) => [name, new Tensor("int64", cells, [this.rows, this.length])]),
    );
  }

  /**
   * The tokens of all rows one after the other, and the position at which each row begins: inputs of an EmbeddingBag.
   */
  private flat(): Record<string, Tensor> {
    const total = this.lengths.reduce((sum, length) => sum + length, 0);
    const [ids, offsets] = [new BigInt64Array(total), new BigInt64Array(this.rows)];
    let at = 0;
    for (const [row, length] of this.lengths.entries()) {
      offsets[row] = BigInt(at);
      ids.set(this.ids.subarray(row * this.length, row * this.length + length), at);
      at += length;
    }
    return { input_ids: new Tensor("int64", ids, [total]), offsets: new Tensor("int64", offsets, [this.rows]) };
  }
}
