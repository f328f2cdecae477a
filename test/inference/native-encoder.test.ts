// The native encoder with every model that ships with Mneme, on any processor that can run it. lanes.test.ts tests it
// as part of a lane, where it runs only if it is faster; native/encoder has tests with small synthetic models.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ModelEncoder, type TokenSequence } from "../../src/adapters/native/model-encoder.ts";
import { ENGLISH, MODELS_DIR } from "../support/shipped-models.ts";
import { LOGIT_TOLERANCE, VECTOR_TOLERANCE } from "./references.ts";

interface Reference {
  readonly token_ids: readonly number[];
  readonly token_type_ids?: readonly number[];
  readonly vector?: readonly number[];
  readonly logit?: number;
  /** Of a reader: relevance and answer. */
  readonly logits?: readonly number[];
}

const FOLDERS = readdirSync(MODELS_DIR).filter((name) => existsSync(join(MODELS_DIR, name, "model.onnx")));

/** Maximum growth of the process when a model is opened. As 32-bit floats, the multilingual word table takes 384 MB. */
const OPEN_BYTES_MAX = 150_000_000;

function referencesOf(folder: string): readonly Reference[] {
  return JSON.parse(readFileSync(join(MODELS_DIR, folder, "reference.json"), "utf8"));
}

function sequenceOf({ token_ids, token_type_ids }: Reference): TokenSequence {
  const second = token_type_ids?.indexOf(1) ?? -1;
  return { ids: Int32Array.from(token_ids), firstLength: second === -1 ? token_ids.length : second };
}

/** The model file with the word table of a model that has none of its own; null for others. */
function wordsOf(folder: string): string | null {
  const { words = null } = JSON.parse(readFileSync(join(MODELS_DIR, folder, "model.json"), "utf8"));
  return words === null ? null : join(MODELS_DIR, words.model, "model.onnx");
}

/** Opens a model. Returns null, and prints why, if the processor cannot run it. */
function open(path: string, words: string | null = null): ModelEncoder | null {
  try {
    return ModelEncoder.open(path, words);
  } catch (error) {
    if (!String(error).includes("needs a processor with AVX2")) throw error;
    console.warn("skipped: this processor has no AVX2");
    return null;
  }
}

test("there are models of both kinds", () => {
  const kinds = FOLDERS.map((folder) => (referencesOf(folder)[0]?.vector ? "embedder" : "reranker"));
  expect(kinds).toContain("embedder");
  expect(kinds).toContain("reranker");
});

describe.each(FOLDERS)("%s", (folder) => {
  const words = wordsOf(folder);
  const encoder = open(join(MODELS_DIR, folder, "model.onnx"), words);
  const references = referencesOf(folder);

  test("gives every reference input its output, alone, beside others and on two threads", () => {
    if (encoder === null) return;
    const together = encoder.encode(references.map(sequenceOf), false);
    const width = together.length / references.length;
    expect(references.length).toBeGreaterThan(0);
    references.forEach((reference, row) => {
      const expected = reference.vector ?? reference.logits ?? [reference.logit ?? Number.NaN];
      const tolerance = reference.vector ? VECTOR_TOLERANCE : LOGIT_TOLERANCE;
      const output = encoder.encode([sequenceOf(reference)], false);
      expect(output).toHaveLength(expected.length);
      expected.forEach((value, at) => {
        expect(Math.abs((output[at] ?? Number.NaN) - value)).toBeLessThan(tolerance);
      });
      expect(together.subarray(row * width, (row + 1) * width)).toEqual(output);
      expect(encoder.encode([sequenceOf(reference)], true)).toEqual(output);
    });
  });

  test("refuses tokens outside of its vocabulary and sequences that are too long", () => {
    if (encoder === null) return;
    for (const ids of [[4_000_000], Array<number>(513).fill(5), []]) {
      const sequence = { ids: Int32Array.from(ids), firstLength: 0 };
      expect(() => encoder.encode([sequence], false), `${ids.length} tokens`).toThrow(
        expect.objectContaining({ code: "invalid" }),
      );
    }
  });

  test("leaves the word table packed in memory", () => {
    if (encoder === null) return;
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const second = open(join(MODELS_DIR, folder, "model.onnx"), words);
    const spread = Int32Array.from({ length: 100 }, (_, at) => at * 250);
    second?.encode([{ ids: spread, firstLength: spread.length }], false);
    expect(process.memoryUsage().rss - before).toBeLessThan(OPEN_BYTES_MAX);
  });
});

test("a file that is not a supported model is refused with the reason", () => {
  for (const [file, reason] of [
    ["model.json", "is not an ONNX model"],
    ["none.onnx", "No such file"],
  ] as const) {
    const path = join(MODELS_DIR, ENGLISH, file);
    if (open(join(MODELS_DIR, ENGLISH, "model.onnx")) === null) return;
    expect(() => ModelEncoder.open(path)).toThrow(reason);
  }
});
