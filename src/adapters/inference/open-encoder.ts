// Opens a model with the fastest encoder that gives the right outputs: the native core's own encoder or onnxruntime.
// The native encoder is used only if it reproduces the model's reference outputs. Both have the same interface.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type EarlyExitProbe,
  isEncoderMadeForThisProcessor,
  ModelEncoder,
  type TokenSequence,
} from "../native/model-encoder.ts";
import { type ProbeReference, readEarlyExitProbe } from "./early-exit-probe.ts";
import type { Encoder } from "./encoder.ts";
import type { GpuTarget } from "./gpu/gpu-target.ts";
import { toHalfPrecision } from "./gpu/half-graph.ts";
import type { ModelRuntime } from "./lane-protocol.ts";
import type { ModelDescription } from "./model-files.ts";

/** Maximum number of reference outputs that are compared: enough to notice wrong outputs, and fast. */
const REFERENCES_MAX = 4;
/**
 * Minimum number of tokens of a reference that is compared. The kernel computes rows in blocks of eight, four and one;
 * 13 tokens use all three block sizes.
 */
const REFERENCE_TOKENS_MIN = 13;

/**
 * Maximum distance between an output and its reference: the Euclidean distance of unit vectors, or the difference of
 * logits. Because values are rounded to int8, a difference in the last bit of a sum can change the output by up to .2,
 * even if the sum is more precise. The outputs of a wrong encoder differ more: those of different texts are at least .4
 * apart, also with models whose vectors have much in common.
 */
const DIFFERENCE_MAX = { vector: 0.25, logit: 0.4 };
/** Maximum difference of logits estimated by the early-exit probe. Typical is .1; the maximum of 800 pairs was .4. */
const ESTIMATE_DIFFERENCE_MAX = 0.8;

/** Opens a model whose files were verified. `runtime` is the operator's setting. */
export async function openEncoder(model: ModelDescription, runtime: ModelRuntime): Promise<Encoder> {
  const native = runtime === "auto" && isEncoderMadeForThisProcessor() ? openNative(model) : null;
  if (native !== null && typeof native !== "string") return native;
  return (await import("./onnxruntime-encoder.ts")).openWithOnnxruntime(model, native);
}

/**
 * Opens a model whose files were verified on a GPU, with 16-bit floats.
 * @throws if the GPU cannot be used, or computes something else than the model's references
 */
export async function openGpuEncoder(model: ModelDescription, target: GpuTarget): Promise<Encoder> {
  const graph = toHalfPrecision(readFileSync(model.modelPath));
  const encoder = await (await import("./onnxruntime-encoder.ts")).openOnGpu(graph, target);
  const references = readReferences(join(dirname(model.modelPath), "reference.json"));
  if (references.length > 0 && agree(references, await encoder.encode(sequencesOf(references), false))) return encoder;
  await encoder.close();
  throw new Error(`${model.id}: its outputs differ from the model's reference.json`);
}

/** Opens the native core's encoder. Returns the reason if it cannot be used for this model. */
function openNative(model: ModelDescription): Encoder | string {
  try {
    const encoder = ModelEncoder.open(model.modelPath);
    const references = readReferences(join(dirname(model.modelPath), "reference.json"));
    if (references.length === 0 || !agree(references, encoder.encode(sequencesOf(references), false))) {
      throw new Error("its outputs differ from the model's reference.json");
    }
    return {
      provider: "cpu-native",
      encode: async (sequences, isUrgent) => encoder.encode(sequences, isUrgent),
      // The garbage collection that follows frees the model.
      close: () => Promise.resolve(),
      ...openEarlyExit(model, encoder),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `${model.id} runs in onnxruntime, not in the faster native encoder: ${reason}`;
  }
}

function openEarlyExit(
  model: ModelDescription,
  encoder: ModelEncoder,
): Pick<Encoder, "scoreWithEarlyExit" | "warning"> {
  try {
    const found = readEarlyExitProbe(model);
    if (found === null) return { scoreWithEarlyExit: null, warning: null };
    const { probe, references } = found;
    if (!reproducesEstimates(encoder, probe, references)) {
      throw new Error("its estimates differ from the references in early-exit.json");
    }
    const scoreWithEarlyExit: Encoder["scoreWithEarlyExit"] = async (pairs, earlyExit) =>
      encoder.scoreWithEarlyExit(pairs, earlyExit, probe);
    return { scoreWithEarlyExit, warning: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { scoreWithEarlyExit: null, warning: `${model.id} runs without early exit: ${reason}` };
  }
}

/** Whether the encoder's early-exit estimates agree with those computed when the probe was fitted. */
function reproducesEstimates(
  encoder: ModelEncoder,
  probe: EarlyExitProbe,
  references: readonly ProbeReference[],
): boolean {
  const [first] = references;
  if (first === undefined) return false;
  // Even with `fullTokensMax` 0, one pair passes through all layers. A copy of the first pair, with a huge prior score,
  // makes sure that this is none of the compared ones.
  const earlyExit = { priorScores: [1e6, ...references.map(() => 0)], fullTokensMax: 0 };
  const logits = encoder.scoreWithEarlyExit([first, ...references], earlyExit, probe).subarray(1);
  return references.every(
    ({ logitEstimate }, at) => Math.abs(logitEstimate - (logits[at] ?? Number.NaN)) <= ESTIMATE_DIFFERENCE_MAX,
  );
}

/** An input of the model and its reference output, recorded when the model was exported. */
interface Reference {
  readonly token_ids: readonly number[];
  readonly token_type_ids?: readonly number[];
  readonly vector?: readonly number[];
  readonly logit?: number;
}

/**
 * Returns the shortest references with at least REFERENCE_TOKENS_MIN tokens.
 * @throws if the file has another structure
 */
function readReferences(path: string): readonly Reference[] {
  const references = JSON.parse(readFileSync(path, "utf8")) as readonly Reference[];
  const longEnough = references.filter(({ token_ids }) => token_ids.length >= REFERENCE_TOKENS_MIN);
  return longEnough.sort((a, b) => a.token_ids.length - b.token_ids.length).slice(0, REFERENCES_MAX);
}

function sequencesOf(references: readonly Reference[]): readonly TokenSequence[] {
  return references.map(({ token_ids, token_type_ids }) => {
    const second = token_type_ids?.indexOf(1) ?? -1;
    return { ids: Int32Array.from(token_ids), firstLength: second === -1 ? token_ids.length : second };
  });
}

/** Whether the outputs of an encoder are close enough to the recorded ones. */
function agree(references: readonly Reference[], outputs: Float32Array): boolean {
  const width = outputs.length / references.length;
  return references.every(({ vector, logit }, row) => {
    const expected = vector ?? [logit ?? Number.NaN];
    const output = outputs.subarray(row * width, (row + 1) * width);
    return (
      expected.length === width &&
      Math.hypot(...expected.map((value, at) => value - (output[at] ?? 0))) <=
        DIFFERENCE_MAX[vector ? "vector" : "logit"]
    );
  });
}
