// Probe texts: what a remote model computed for them when it was added. They are part of every request, so that a
// server that computes another model, or mixes up its results, is noticed before a vector is stored.

import type { RemoteProbes } from "../../domain/installed-model.ts";
import { BadAnswer } from "./forms.ts";

/** The texts. One goes before the others of a request, one after them. */
export const PROBE_TEXTS = [
  "The kettle on the stove is red.",
  "Trains to the harbour leave at noon and at dusk.",
] as const;

/** Questions, each with a passage that answers it. They show how far cosines of a model are apart. */
export const PAIRS = [
  ["When does the library open?", "The library opens at nine in the morning from Monday to Friday."],
  ["Who wrote the report on water quality?", "The report on water quality was written by Ines Keller."],
  ["How is the oven cleaned?", "Clean the oven with a damp cloth and baking soda once it is cold."],
  ["What does the annual pass cost?", "The annual pass costs 240 euros, or 20 euros a month."],
] as const;

/**
 * Maximum distance of two vectors of the same text. Servers with 8-bit weights round differently in other batches; half
 * precision gives 0.01. Vectors of the two texts are at least `APART_MIN` apart.
 */
const SAME_MAX = 0.2;
/** Minimum distance of the vectors of the two texts. */
const APART_MIN = 0.3;

/** Checks that the two texts have different vectors. @throws BadAnswer if they are nearly the same */
export function checkDifferent(probes: readonly Float32Array[]): void {
  const [first, second] = probes;
  if (!(distance(first, second) >= APART_MIN)) {
    throw new BadAnswer("computes nearly the same vector for different texts");
  }
}

/**
 * Checks that the probes of a request have the vectors that they had when the model was added.
 * @param found vectors of the request, whose first and last are those of the probes
 * @throws BadAnswer if not
 */
export function checkSame(found: readonly Float32Array[], known: readonly Float32Array[]): void {
  const [first, last] = known;
  if (isNear(found.at(0), first) && isNear(found.at(-1), last)) return;
  const areElsewhere = known.every((vector) => found.some((other) => isNear(other, vector)));
  throw new BadAnswer(
    areElsewhere
      ? "sent its vectors in another order than the texts"
      : "computes other vectors than when the model was added: add what it serves under another id",
  );
}

function isNear(vector: Float32Array | undefined, known: Float32Array | undefined): boolean {
  return distance(vector, known) <= SAME_MAX;
}

/** Vectors as texts, for the store. */
export function encodedProbes(vectors: readonly Float32Array[]): readonly string[] {
  return vectors.map((vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64"));
}

/** The vectors of `encodedProbes`. */
export function decodedProbes(probes: RemoteProbes["query"]): Float32Array[] {
  return probes.map((text) => {
    const bytes = Buffer.from(text, "base64");
    return Float32Array.from({ length: bytes.byteLength / 4 }, (_, at) => bytes.readFloatLE(4 * at));
  });
}

function distance(left: Float32Array | undefined, right: Float32Array | undefined): number {
  if (left === undefined || left.length !== right?.length) return Number.NaN;
  return Math.sqrt(left.reduce((sum, value, at) => sum + (value - (right[at] ?? 0)) ** 2, 0));
}
