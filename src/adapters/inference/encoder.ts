// What computes a model, and how is it known to be right? Opens the native core's encoder where it is the faster one and
// answers as the model's references say, else onnxruntime. Both answer in the same way.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EarlyExit } from "../../ports/models.ts";
import {
  type EarlyExitProbe,
  isEncoderMadeForThisProcessor,
  ModelEncoder,
  type TokenSequence,
} from "../native/model-encoder.ts";
import { type ProbeReference, readEarlyExitProbe } from "./early-exit-probe.ts";
import type { ModelRuntime } from "./lane-protocol.ts";
import type { ModelDescription } from "./model-files.ts";

/** A model that is ready. */
export interface Encoder {
  /** What computes it, for people. */
  readonly provider: string;
  /** What is slower than it could be on this processor, and why; null: nothing. */
  readonly complaint: string | null;
  /** One row of numbers per sequence, in their order. What is urgent may take more than one core. */
  answer(sequences: readonly TokenSequence[], isUrgent: boolean): Promise<Float32Array>;
  /** Logits of the pairs that may exit early. null: this one reads all to the end. */
  readonly judge: ((pairs: readonly TokenSequence[], earlyExit: EarlyExit) => Promise<Float32Array>) | null;
}

/** The references that are asked: enough to tell a wrong answer, soon done. */
const REFERENCES_ASKED = 4;
/** The shortest of so many tokens: eight rows, four and one are computed in three ways, and of 13 there are all. */
const REFERENCE_TOKENS_MIN = 13;

/**
 * How far an answer may lie from the reference: a unit vector from a unit vector, a logit from a logit. Rounding to bytes makes of
 * the last bit of a sum up to .2, and the more precise of two ways is no nearer; an encoder that computes something else is off by
 * 1 and more.
 */
const DIFFERENCE_MAX = { vector: 0.25, logit: 0.4 };
/** The same of a logit that is told early: off by .1 in the middle, by .4 at most in 800 pairs. */
const TOLD_DIFFERENCE_MAX = 0.8;

/** Opens a model whose files are in order. `wanted` is what the operator asked for. */
export async function openEncoder(model: ModelDescription, wanted: ModelRuntime): Promise<Encoder> {
  const own = wanted === "auto" && isEncoderMadeForThisProcessor() ? openOwn(model) : null;
  if (own !== null && typeof own !== "string") return own;
  return (await import("./onnxruntime-encoder.ts")).openWithOnnxruntime(model, own);
}

/** The core's own encoder; or why it is not for this model, or not known to be. */
function openOwn(model: ModelDescription): Encoder | string {
  try {
    const encoder = ModelEncoder.open(model.modelPath);
    const references = readReferences(join(dirname(model.modelPath), "reference.json"));
    const isRight = references.length > 0 && answersAs(encoder, references);
    if (!isRight) throw new Error("it does not answer as the model's reference.json says");
    return {
      provider: "cpu-avx2",
      answer: async (sequences, isUrgent) => encoder.answer(sequences, isUrgent),
      ...judging(model, encoder),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `${model.id} is computed by onnxruntime, not by the core's own encoder: ${why}`;
  }
}

function judging(model: ModelDescription, encoder: ModelEncoder): Pick<Encoder, "judge" | "complaint"> {
  try {
    const found = readEarlyExitProbe(model);
    if (found === null) return { judge: null, complaint: null };
    const { probe, references } = found;
    if (!tells(encoder, probe, references)) throw new Error("logits are not told as its early-exit.json says");
    const judge: Encoder["judge"] = async (pairs, { priorScores, fullTokensMax }) =>
      encoder.judge(pairs, priorScores, fullTokensMax, probe);
    return { judge, complaint: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { judge: null, complaint: `${model.id} reads all passages to the end: ${why}` };
  }
}

/** Whether the encoder tells logits early as was done where the weights were fitted. */
function tells(encoder: ModelEncoder, probe: EarlyExitProbe, references: readonly ProbeReference[]): boolean {
  const [first] = references;
  if (first === undefined) return false;
  // the first once more, and far ahead: one pair is read to the end in any case
  const logits = encoder.judge([first, ...references], [1e6, ...references.map(() => 0)], 0, probe).subarray(1);
  return references.every(
    ({ logitEstimate }, at) => Math.abs(logitEstimate - (logits[at] ?? Number.NaN)) <= TOLD_DIFFERENCE_MAX,
  );
}

/** What a model answered where it was exported; a file of another shape makes this throw. */
interface Reference {
  readonly token_ids: readonly number[];
  readonly token_type_ids?: readonly number[];
  readonly vector?: readonly number[];
  readonly logit?: number;
}

function readReferences(path: string): readonly Reference[] {
  const references = JSON.parse(readFileSync(path, "utf8")) as readonly Reference[];
  const telling = references.filter(({ token_ids }) => token_ids.length >= REFERENCE_TOKENS_MIN);
  return telling.sort((a, b) => a.token_ids.length - b.token_ids.length).slice(0, REFERENCES_ASKED);
}

function answersAs(encoder: ModelEncoder, references: readonly Reference[]): boolean {
  const sequences = references.map(({ token_ids, token_type_ids }) => {
    const second = token_type_ids?.indexOf(1) ?? -1;
    return { ids: Int32Array.from(token_ids), firstLength: second === -1 ? token_ids.length : second };
  });
  const answers = encoder.answer(sequences, false);
  const width = answers.length / references.length;
  return references.every(({ vector, logit }, row) => {
    const expected = vector ?? [logit ?? Number.NaN];
    const answer = answers.subarray(row * width, (row + 1) * width);
    return (
      expected.length === width &&
      Math.hypot(...expected.map((value, at) => value - (answer[at] ?? 0))) <=
        DIFFERENCE_MAX[vector ? "vector" : "logit"]
    );
  });
}
