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

/**
 * One thread per lane, because lanes run in parallel: with more, waiting threads of the pools kept the cores busy and
 * doubled the time of a rerank. Without memory patterns, a lane takes 40 MB less at the same speed.
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
 * Maximum number of tokens of one batch, padding included. Larger batches are at most 5 % faster, but memory grows with
 * the batch: with 512, a lane with two small models takes less than 250 MB. A longer input is a batch of its own.
 */
const RUN_TOKENS_MAX = 512;

/**
 * Loads a model into a session. `warning` says why the native encoder does not run the model; null if onnxruntime is
 * the best choice.
 */
export async function openWithOnnxruntime(
  model: Pick<ModelDescription, "modelPath">,
  warning: string | null,
): Promise<Encoder> {
  refuseTelemetry();
  const session = await InferenceSession.create(model.modelPath, SESSION_OPTIONS);
  return encoderOf(session, { provider: "cpu", warning, runTokensMax: RUN_TOKENS_MAX });
}

/** Loads a model into a session on a GPU. @throws Error of onnxruntime if that cannot be used */
export async function openOnGpu(graph: Uint8Array, { device, batchTokensMax }: GpuTarget): Promise<Encoder> {
  refuseTelemetry();
  const executionProviders = [{ name: "cuda", deviceId: device }, "cpu"] as const;
  const session = await InferenceSession.create(graph, { ...SESSION_OPTIONS, executionProviders });
  return encoderOf(session, { provider: `cuda:${device}`, warning: null, runTokensMax: batchTokensMax });
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
  { provider, warning, runTokensMax }: Pick<Encoder, "provider" | "warning"> & { readonly runTokensMax: number },
): Encoder {
  return {
    provider,
    warning,
    encode: (sequences) => encode(session, sequences, runTokensMax),
    scoreWithEarlyExit: null,
    close: () => session.release(),
  };
}

async function encode(
  session: InferenceSession,
  sequences: readonly TokenSequence[],
  runTokensMax: number,
): Promise<Float32Array> {
  const [output] = session.outputNames; // vectors or logits; further outputs are token states
  invariant(output !== undefined, "a model file has no outputs; this is a bug in Mneme");
  let outputs = new Float32Array();
  let width = 0;
  const lengths = sequences.map(({ ids }) => ids.length);
  for (const run of packRuns(lengths, runTokensMax)) {
    const batch = new Batch(run.indices.length, run.length);
    run.indices.forEach((index, row) => {
      batch.setRow(row, sequences[index]);
    });
    const rows = float32Of((await session.run(batch.feeds(session.inputNames), [output]))[output], run.indices.length);
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

/**
 * Padded input tensors of one batch, int64 `[rows, length]`. Values are written through 32-bit views of the tensors,
 * into the lower half of each element: ids are small, and filling a BigInt64Array with BigInts takes longer than
 * tokenising.
 */
class Batch {
  private readonly ids: BigInt64Array;
  private readonly mask: BigInt64Array;
  private readonly types: BigInt64Array;

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
    invariant(sequence !== undefined, "a batch has an input that does not exist; this is a bug in Mneme");
    const ids = new Int32Array(this.ids.buffer);
    const mask = new Int32Array(this.mask.buffer);
    const types = new Int32Array(this.types.buffer);
    let cell = row * this.length * 2;
    for (let at = 0; at < sequence.ids.length; at += 1) {
      ids[cell] = sequence.ids[at] ?? 0;
      mask[cell] = 1;
      if (at >= sequence.firstLength) types[cell] = 1;
      cell += 2;
    }
  }

  /** Returns only the tensors that the model declares as inputs. */
  feeds(names: readonly string[]): Record<string, Tensor> {
    const known = { input_ids: this.ids, attention_mask: this.mask, token_type_ids: this.types };
    const wanted = Object.entries(known).filter(([name]) => names.includes(name));
    return Object.fromEntries(
      wanted.map(([name, cells]) => [name, new Tensor("int64", cells, [this.rows, this.length])]),
    );
  }
}

function float32Of(tensor: Tensor | undefined, rows: number): Float32Array {
  const data = tensor?.data;
  invariant(
    data instanceof Float32Array && data.length % rows === 0,
    "a model output is not a float32 matrix; this is a bug in Mneme",
  );
  return data;
}
