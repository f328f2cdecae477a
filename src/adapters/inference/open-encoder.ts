// Opens a model with the fastest encoder that computes the right outputs: that of the native core, or onnxruntime. The
// native encoder is used only if it reproduces the model's reference outputs.

import { existsSync, readFileSync } from "node:fs";
import { errorMessage } from "../../kit/error-message.ts";
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
import { UnsupportedGraph } from "./gpu/unsupported-graph.ts";
import type { ModelRuntime } from "./lane-protocol.ts";
import type { ModelDescription } from "./model-files.ts";
import { truncatedVector } from "./text-references.ts";
import { wholeModel } from "./whole-model.ts";

/**
 * Maximum number of reference outputs that are compared. Four are enough to notice wrong outputs, and take little time.
 */
const REFERENCES_MAX = 4;
/**
 * Minimum number of tokens of a reference that is compared. The native encoder multiplies rows in blocks of eight, four
 * and one; 13 tokens use all three block sizes.
 */
const REFERENCE_TOKENS_MIN = 13;

/**
 * Maximum distance between an output and its reference: the Euclidean distance of unit vectors, or the difference of
 * logits. Values are rounded to int8, so a difference in the last bit of a sum can change the output by up to 0.2. The
 * outputs of a wrong encoder differ more: vectors of different texts are at least 0.4 apart, also with models whose
 * vectors have much in common.
 */
const DIFFERENCE_MAX = { vector: 0.25, logit: 0.4 };
/** Maximum difference of a logit of a span. These are logits of single tokens, which vary more. */
const SPAN_DIFFERENCE_MAX = 1.5;
/**
 * Maximum difference of a logit that the early-exit probe estimates. Typical is 0.1; of 800 pairs, the maximum was 0.4.
 */
const ESTIMATE_DIFFERENCE_MAX = 0.8;

/** Opens a model whose files were verified. `runtime` is the operator's setting. */
export async function openEncoder(model: ModelDescription, runtime: ModelRuntime): Promise<Encoder> {
  const canBeNative = runtime === "auto" && model.tokenizer.kind !== "huggingface" && isEncoderMadeForThisProcessor();
  const native = canBeNative ? openNative(model) : null;
  if (native !== null && typeof native !== "string") return native;
  return (await import("./onnxruntime-encoder.ts")).openWithOnnxruntime(model, native);
}

/**
 * Opens a model whose files were verified on a GPU, where it computes with 16-bit floats.
 * @throws UnsupportedGraph if the model cannot be converted; Error if the GPU cannot be used, or computes something
 *   else than the model's references
 */
export async function openGpuEncoder(model: ModelDescription, target: GpuTarget): Promise<Encoder> {
  if (model.weights.length > 0) throw new UnsupportedGraph("its weights are in files of their own");
  const references = existsSync(model.referencePath) ? readReferences(model.referencePath) : [];
  if (references.length === 0) throw new UnsupportedGraph("it has no references to compare with");
  const graph = toHalfPrecision(wholeModel(model));
  const encoder = await (await import("./onnxruntime-encoder.ts")).openOnGpu(model, graph, target);
  if (await reproduces(encoder, references)) return encoder;
  await encoder.close();
  throw new Error(`${model.id}: its outputs differ from the model's reference.json`);
}

/** Opens the native core's encoder. Returns the reason if it cannot be used for this model. */
function openNative(model: ModelDescription): Encoder | string {
  try {
    const encoder = ModelEncoder.open(model.modelPath, model.words?.path ?? null);
    const references = readReferences(model.referencePath);
    const pairs = sequencesOf(references);
    const isAlike =
      agree(references, encoder.encode(pairs, false)) &&
      (!encoder.hasSpans || haveSameSpans(references, encoder.read(pairs)));
    if (references.length === 0 || !isAlike) throw new Error("its outputs differ from the model's reference.json");
    return {
      provider: "cpu-native",
      read: encoder.hasSpans ? async (pairs) => encoder.read(pairs) : null,
      encode: async (sequences, isUrgent) => encoder.encode(sequences, isUrgent),
      // The garbage collection that follows frees the model.
      close: () => Promise.resolve(),
      ...openEarlyExit(model, encoder),
    };
  } catch (error) {
    const reason = errorMessage(error);
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
    const reason = errorMessage(error);
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

/** An input of a model and its output, recorded when the model was exported. */
interface Reference {
  readonly token_ids: readonly number[];
  readonly token_type_ids?: readonly number[];
  readonly vector?: readonly number[];
  readonly logit?: number;
  /** Of a reader: its two logits, and the logits of begin and end of each token. */
  readonly logits?: readonly number[];
  readonly begin?: readonly number[];
  readonly end?: readonly number[];
}

/** Whether an encoder computes the recorded outputs. */
async function reproduces(encoder: Encoder, references: readonly Reference[]): Promise<boolean> {
  const pairs = sequencesOf(references);
  if (!agree(references, await encoder.encode(pairs, false))) return false;
  return encoder.read === null || haveSameSpans(references, await encoder.read(pairs));
}

/** Whether the spans that a reader computed are close enough to the recorded ones. */
function haveSameSpans(references: readonly Reference[], read: readonly Float32Array[]): boolean {
  return references.every(({ begin = [], end = [] }, row) => {
    const values = read[row];
    const isNear = (expected: number, at: number) =>
      Math.abs(expected - (values?.[at] ?? Number.NaN)) <= SPAN_DIFFERENCE_MAX;
    return (
      values?.length === 2 + 2 * begin.length &&
      end.length === begin.length &&
      begin.every((expected, at) => isNear(expected, 2 + 2 * at)) &&
      end.every((expected, at) => isNear(expected, 3 + 2 * at))
    );
  });
}

/**
 * Reads references: the shortest `REFERENCES_MAX` of those with at least `REFERENCE_TOKENS_MIN` tokens.
 * @throws Error if the file cannot be read or has another structure
 */
function readReferences(path: string): readonly Reference[] {
  const references = JSON.parse(readFileSync(path, "utf8")) as readonly Reference[];
  const longEnough = references.filter(({ token_ids }) => token_ids.length >= REFERENCE_TOKENS_MIN);
  return longEnough.sort((a, b) => a.token_ids.length - b.token_ids.length).slice(0, REFERENCES_MAX);
}

function sequencesOf(references: readonly Reference[]): readonly TokenSequence[] {
  return references.map(({ token_ids, token_type_ids }) => {
    const second = token_type_ids?.indexOf(1) ?? -1;
    const secondEnd = (token_type_ids?.lastIndexOf(1) ?? -1) + 1 || token_ids.length;
    return { ids: Int32Array.from(token_ids), firstLength: second === -1 ? token_ids.length : second, secondEnd };
  });
}

/** Whether the outputs of an encoder are close enough to the recorded ones. */
function agree(references: readonly Reference[], outputs: Float32Array): boolean {
  const width = outputs.length / references.length;
  return references.every(({ vector, logit, logits }, row) => {
    const expected = vector === undefined ? (logits ?? [logit ?? Number.NaN]) : truncatedVector(vector, width);
    const output = outputs.subarray(row * width, (row + 1) * width);
    return (
      expected.length === width &&
      Math.hypot(...expected.map((value, at) => value - (output[at] ?? 0))) <=
        DIFFERENCE_MAX[vector ? "vector" : "logit"]
    );
  });
}
