// A model computed by onnxruntime. The only importer of onnxruntime-node; makes good batches of what it is given.

import { InferenceSession, Tensor } from "onnxruntime-node";
import { invariant } from "../../domain/fault.ts";
import type { TokenSequence } from "../native/model-encoder.ts";
import { packRuns } from "./batches.ts";
import type { Encoder } from "./encoder.ts";
import type { ModelDescription } from "./model-files.ts";

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

/** Loads a model into a session. */
export async function openWithOnnxruntime(model: ModelDescription, complaint: string | null): Promise<Encoder> {
  const session = await InferenceSession.create(model.modelPath, SESSION_OPTIONS);
  return { provider: "cpu", complaint, answer: (sequences) => answer(session, sequences), judge: null };
}

async function answer(session: InferenceSession, sequences: readonly TokenSequence[]): Promise<Float32Array> {
  const [output] = session.outputNames; // vectors or logits; what follows are states of tokens
  invariant(output !== undefined, "a model has no outputs");
  let answers = new Float32Array();
  let width = 0;
  const lengths = sequences.map(({ ids }) => ids.length);
  for (const run of packRuns(lengths, RUN_TOKENS_MAX)) {
    const batch = new Batch(run.indices.length, run.length);
    run.indices.forEach((index, row) => {
      batch.setRow(row, sequences[index]);
    });
    const rows = float32Of((await session.run(batch.feeds(session.inputNames), [output]))[output], run.indices.length);
    if (width === 0) {
      width = rows.length / run.indices.length;
      answers = new Float32Array(sequences.length * width);
    }
    run.indices.forEach((index, row) => {
      answers.set(rows.subarray(row * width, (row + 1) * width), index * width);
    });
  }
  return answers;
}

/**
 * Padded input tensors of one run, `[rows, length]` int64. Written through 32-bit views of their low halves: ids are
 * small, and filling a BigInt64Array with BigInts costs more than tokenising.
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

  /** Tokens of the first text have type 0, the rest type 1. */
  setRow(row: number, sequence: TokenSequence | undefined): void {
    invariant(sequence !== undefined, "a run was packed with an input that does not exist");
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

  /** The inputs that a model asks for. */
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
    "a model's output has another shape than described",
  );
  return data;
}
