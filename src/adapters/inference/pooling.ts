// Turns the outputs of a model into one row per text: pools the states of tokens, truncates vectors, and scales them.

import { ModelFilesError } from "./manifest-fields.ts";
import type { Pooling } from "./model-files.ts";

/** How the outputs of a model are read. */
export interface Outputs {
  readonly pooling: Pooling;
  /** Length of a vector as it is stored; null: as the model computes it. */
  readonly dimensions: number | null;
}

/** An output tensor: its values, and the sizes of its dimensions. */
export interface OutputValues {
  readonly data: unknown;
  readonly dims: readonly number[];
}

/** Usual names of outputs with one vector per text, and of outputs with one per token. */
const VECTORS = ["sentence_embedding", "embeddings", "text_embeds", "pooler_output"];
const STATES = ["last_hidden_state", "token_embeddings", "hidden_states"];

/** Name of the output to read: a usual one if the model has it, otherwise the first. @throws ModelFilesError if none */
export function outputName(names: readonly string[], pooling: Pooling): string {
  const known = pooling === "in the graph" ? [] : pooling === "output" ? VECTORS : STATES;
  const found = known.find((name) => names.includes(name)) ?? names[0];
  if (found === undefined) throw new ModelFilesError("the model has no output");
  return found;
}

/**
 * One row per text: a vector, or a logit.
 * @param lengths number of tokens of each text
 * @throws ModelFilesError if the output has another form
 */
export function rowsOf(
  output: OutputValues | undefined,
  lengths: readonly number[],
  { pooling, dimensions }: Outputs,
): Float32Array {
  const data = output?.data;
  if (!(data instanceof Float32Array) || data.length % lengths.length !== 0) {
    throw new ModelFilesError("the output of the model is not a matrix of 32-bit floats");
  }
  if (pooling === "in the graph") return data;
  const width = output?.dims.at(-1) ?? 0;
  const states = pooling === "output" ? null : (output?.dims[1] ?? 0);
  if (output?.dims.length !== (states === null ? 2 : 3)) {
    const what = states === null ? "one vector per text" : "one vector per token";
    throw new ModelFilesError(`with the pooling ${JSON.stringify(pooling)}, the model must compute ${what}`);
  }
  const kept = Math.min(width, dimensions ?? width);
  const rows = new Float32Array(lengths.length * kept);
  for (const [row, length] of lengths.entries()) {
    const first = row * (states ?? 1) * width;
    const vector = rows.subarray(row * kept, (row + 1) * kept);
    const taken = pooling === "last" ? first + (length - 1) * width : first;
    if (pooling === "mean") addStates(vector, data.subarray(first, first + length * width), width);
    else vector.set(data.subarray(taken, taken + kept));
    scale(vector);
  }
  return rows;
}

/** Adds the states of tokens; the sum has the direction of their mean. */
function addStates(vector: Float32Array, states: Float32Array, width: number): void {
  for (let begin = 0; begin < states.length; begin += width) {
    for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) + (states[begin + at] ?? 0);
  }
}

/** Scales to unit length, in place. A vector of zeros stays as it is; `deliver` (calls.ts) refuses it. */
function scale(vector: Float32Array): void {
  let squared = 0;
  for (const value of vector) squared += value * value;
  if (squared === 0) return;
  const factor = 1 / Math.sqrt(squared);
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) * factor;
}
