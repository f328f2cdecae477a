// Models converted for GPUs: whether they compute the same as the originals, and which files are refused.

import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toHalfPrecision } from "../../../src/adapters/inference/gpu/half-graph.ts";
import {
  castNode,
  castTypeOf,
  ELEMENT,
  type OnnxModel,
  readOnnx,
  writeOnnx,
} from "../../../src/adapters/inference/gpu/onnx-model.ts";
import { UnsupportedGraph } from "../../../src/adapters/inference/gpu/unsupported-graph.ts";
import { createLanes } from "../../../src/adapters/inference/lanes.ts";
import { invariant } from "../../../src/domain/fault.ts";
import { createLog } from "../../../src/kit/log.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../../support/shipped-models.ts";
import { EMBEDDER_REFERENCE, MULTILINGUAL_REFERENCE, type PurposeCase, RERANKER_REFERENCE } from "../references.ts";

const RERANKER = "mneme-reranker-minilm-l6";
/** Number of 8-bit products of each model: six in each layer. */
const PRODUCTS = { [ENGLISH]: 36, [MULTILINGUAL]: 72, [RERANKER]: 36 };
const COSINE_MIN = 0.99;
const LOGIT_DIFFERENCE_MAX = 0.4;

const folder = mkdtempSync(join(tmpdir(), "mneme-half-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(model: string): Uint8Array {
  return readFileSync(join(MODELS_DIR, model, "model.onnx"));
}

function countOf({ nodes }: OnnxModel, operator: string): number {
  return nodes.filter((node) => node.operator === operator).length;
}

describe.each(Object.entries(PRODUCTS))("%s", (model, products) => {
  const original = readOnnx(fileOf(model));
  const half = readOnnx(toHalfPrecision(fileOf(model)));
  /** The word table, which stays as it is. */
  const gathered = new Set(half.nodes.flatMap(({ operator, inputs }) => (operator === "Gather" ? inputs : [])));
  const weights = [...half.tensors].flatMap(([name, tensor]) => (gathered.has(name) ? [] : [tensor]));

  test("multiplies floats instead of integers", () => {
    expect(countOf(original, "MatMulIntegerToFloat")).toBe(products);
    for (const operator of ["MatMulIntegerToFloat", "QuantizeLinear", "ReduceMax"])
      expect(countOf(half, operator)).toBe(0);
    expect(countOf(half, "MatMul") - countOf(original, "MatMul")).toBe(products);
    expect(weights.some(({ type }) => type === ELEMENT.int8)).toBe(false);
  });

  test("keeps what is not calculated: inputs, outputs, and the number of layers", () => {
    expect(half.outputs).toEqual(original.outputs);
    expect(half.graphRest).toEqual(original.graphRest);
    expect(countOf(half, "MultiHeadAttention")).toBe(countOf(original, "MultiHeadAttention"));
  });

  test("has 16-bit weights", () => {
    const matrices = weights.filter(({ shape }) => shape.length === 2 && (shape[0] ?? 0) >= 384);
    expect(matrices.length).toBeGreaterThanOrEqual(products);
    for (const { type, shape, bytes } of matrices.filter(({ type }) => type !== ELEMENT.float32)) {
      expect([type, bytes.length]).toEqual([ELEMENT.float16, 2 * (shape[0] ?? 0) * (shape[1] ?? 0)]);
    }
  });

  test("is converted once: a model without integers stays as it is", () => {
    const once = toHalfPrecision(fileOf(model));
    expect(toHalfPrecision(once)).toBe(once);
  });
});

test("what is read is written again", () => {
  const model = readOnnx(fileOf(ENGLISH));
  expect(readOnnx(writeOnnx(model))).toEqual(model);
});

test("a cast says its type, other nodes have none", () => {
  const cast = castNode("a", "b", ELEMENT.float16);
  expect(castTypeOf(cast)).toBe(ELEMENT.float16);
  expect(castTypeOf({ ...cast, operator: "Add" })).toBeNull();
  expect(castTypeOf({ ...cast, rest: [] })).toBeNull();
});

describe("the converted models, computed by onnxruntime on the CPU", () => {
  const models = [ENGLISH, MULTILINGUAL, RERANKER];
  for (const model of models) {
    cpSync(join(MODELS_DIR, model), join(folder, model), { recursive: true });
    const manifest = JSON.parse(readFileSync(join(folder, model, "model.json"), "utf8"));
    const half = toHalfPrecision(fileOf(model));
    manifest.sha256 = createHash("sha256").update(half).digest("hex");
    writeFileSync(join(folder, model, "model.onnx"), half);
    writeFileSync(join(folder, model, "model.json"), JSON.stringify(manifest));
  }
  const open = async () => {
    const options = { modelsDir: folder, embedder: ENGLISH, lanes: 1, runtime: "onnxruntime" } as const;
    return createLanes({ ...options, log: createLog("silent") });
  };

  test("give texts and pairs the outputs of the originals", async () => {
    const lanes = await open();
    try {
      const english = EMBEDDER_REFERENCE.map((each): PurposeCase => ({ ...each, purpose: "passage" }));
      for (const [model, cases] of [
        [ENGLISH, english],
        [MULTILINGUAL, MULTILINGUAL_REFERENCE],
      ] as const) {
        for (const { text, purpose, vector } of cases) {
          const [given] = [await lanes.embedders.get(model).embed([text], { purpose, priority: "query" })];
          const cosine = given.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0);
          expect(cosine, `${model}: ${text}`).toBeGreaterThan(COSINE_MIN);
        }
      }
      const reranker = lanes.rerankers.for(lanes.embedders.default);
      invariant(reranker, "the English embedder has a reranker");
      for (const { query, passage, logit } of RERANKER_REFERENCE) {
        const [given = Number.NaN] = await reranker.score(query, [passage]);
        expect(Math.abs(given - logit), query).toBeLessThan(LOGIT_DIFFERENCE_MAX);
      }
    } finally {
      await lanes.close();
    }
  });
});

describe("files that cannot be converted", () => {
  const refusalOf = (file: Uint8Array) => {
    try {
      toHalfPrecision(file);
    } catch (error) {
      if (error instanceof UnsupportedGraph) return error.message;
      throw error;
    }
    throw new Error("the file was converted");
  };
  /** The English model, changed. */
  const changed = (change: (model: OnnxModel) => Partial<OnnxModel>) => {
    const model = readOnnx(fileOf(ENGLISH));
    return writeOnnx({ ...model, ...change(model) });
  };

  test.each([
    ["an empty file", new Uint8Array()],
    ["a text", new TextEncoder().encode("this is no model")],
    ["zeros", new Uint8Array(1000)],
    ["endless numbers", new Uint8Array(100).fill(0xff)],
    ["half a model", fileOf(ENGLISH).subarray(0, 1_000_000)],
    ["the first bytes of a model", fileOf(ENGLISH).subarray(0, 40)],
  ])("%s", (_, file) => expect(refusalOf(file)).toBe("it is not an ONNX model"));

  test("a constant that is not stored as bytes", () => {
    const tensor = [0x08, 0x01, 0x10, 0x01, 0x42, 0x01, 0x61, 0x22, 0x04, 0, 0, 0, 0]; // dims 1, float, "a", float_data
    const graph = [0x2a, tensor.length, ...tensor];
    const file = Uint8Array.from([0x08, 0x09, 0x3a, graph.length, ...graph]);
    expect(refusalOf(file)).toBe("its constant a is not stored as bytes");
  });

  test("products of another form: unsigned weights, a second zero point, another scale", () => {
    const product = "its product MatMulIntegerToFloat_";
    const weights = changed(({ tensors }) => {
      const name = "l0.q.q";
      const tensor = tensors.get(name);
      invariant(tensor, "the model has these weights");
      return { tensors: new Map([...tensors, [name, { ...tensor, type: ELEMENT.uint8 }]]) };
    });
    expect(refusalOf(weights)).toStartWith(product);
    const zeroPoint = changed(({ nodes }) => ({
      nodes: nodes.map((node) =>
        node.operator === "MatMulIntegerToFloat" ? { ...node, inputs: [...node.inputs, "zp1"] } : node,
      ),
    }));
    expect(refusalOf(zeroPoint)).toStartWith(product);
    const scale = changed(({ tensors }) => {
      const tensor = tensors.get("one");
      invariant(tensor, "the model has this constant");
      return { tensors: new Map([...tensors, ["one", { ...tensor, bytes: new Uint8Array([0, 0, 0, 0x40]) }]]) };
    });
    expect(refusalOf(scale)).toStartWith(product);
  });

  test("a model without LayerNormalization", () => {
    const file = changed(({ nodes }) => ({
      nodes: nodes.map((node) => (node.operator === "LayerNormalization" ? { ...node, operator: "Other" } : node)),
    }));
    expect(refusalOf(file)).toBe("it has no LayerNormalization");
  });
});
