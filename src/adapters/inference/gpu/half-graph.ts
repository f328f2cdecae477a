// Converts the graph of a model from 8-bit integers to 16-bit floats. GPUs have no fast kernels for
// MatMulIntegerToFloat, in which the shipped models multiply. Everything up to the last LayerNormalization computes in
// 16 bits; pooling and heads, which are small, stay at 32 bits. The word table stays as it is.

import {
  castNode,
  castTypeOf,
  ELEMENT,
  type OnnxModel,
  type OnnxNode,
  type OnnxTensor,
  readOnnx,
  writeOnnx,
} from "./onnx-model.ts";
import { UnsupportedGraph } from "./unsupported-graph.ts";

/** Operator that multiplies 8-bit matrices. */
const INTEGER_PRODUCT = "MatMulIntegerToFloat";
/** Suffix of the name of a value that has 16 bits instead of 32. */
const HALF = ".half";

/**
 * Converts a model file. A model without 8-bit products, such as one of 32-bit floats, is returned as it is.
 * @throws UnsupportedGraph if the graph multiplies 8-bit matrices in another form than `export_onnx.py` writes
 */
export function toHalfPrecision(file: Uint8Array): Uint8Array {
  const model = readOnnx(file);
  if (!model.nodes.some(({ operator }) => operator === INTEGER_PRODUCT)) return file;
  return writeOnnx(withHalves(withFloatProducts(model)));
}

/** Replaces each 8-bit product and the quantisation of its input by a product of 32-bit floats. */
function withFloatProducts(model: OnnxModel): OnnxModel {
  const graph = new Wiring(model);
  const tensors = new Map(model.tensors);
  const nodes: OnnxNode[] = [];
  for (const node of model.nodes) {
    const product = node.operator === "Mul" ? graph.productBefore(node) : null;
    if (product === null) {
      nodes.push(node);
      continue;
    }
    const { input, weights, name } = product;
    tensors.set(name, weights);
    nodes.push({ operator: "MatMul", inputs: [input, name], outputs: node.outputs, rest: [] });
  }
  const needed = neededNodes(nodes, model.outputs);
  const left = needed.find(({ operator }) => operator === INTEGER_PRODUCT);
  if (left !== undefined) throw new UnsupportedGraph(`its product ${left.outputs[0]} has an unknown form`);
  return { ...model, nodes: needed, tensors: usedTensors(needed, tensors) };
}

/** A product of floats that replaces one of integers. */
interface FloatProduct {
  readonly input: string;
  /** Name of `weights`. */
  readonly name: string;
  readonly weights: OnnxTensor;
}

/** Finds the node that computes a value. */
class Wiring {
  readonly #producers = new Map<string, OnnxNode>();

  constructor(private readonly model: OnnxModel) {
    for (const node of model.nodes) for (const output of node.outputs) this.#producers.set(output, node);
  }

  /**
   * The float product that computes the same as `rescaling`, a node that multiplies an 8-bit product by the scale of
   * each row. null if `rescaling` is another kind of node, or what it rescales has an unknown form.
   */
  productBefore(rescaling: OnnxNode): FloatProduct | null {
    const [left, right] = rescaling.inputs.map((name) => this.#producers.get(name));
    const [product, rowScale] = left?.operator === INTEGER_PRODUCT ? [left, right] : [right, left];
    if (product?.operator !== INTEGER_PRODUCT || rowScale?.operator !== "Unsqueeze") return null;
    const [quantised = "", integers = "", unit = "", scales = "", , secondZero = "", bias = ""] = product.inputs;
    const quantisation = this.#producers.get(quantised);
    if (quantisation?.operator !== "QuantizeLinear" || secondZero !== "" || bias !== "") return null;
    const [input = "", scale] = quantisation.inputs;
    if (scale !== rowScale.inputs[0] || this.#floats(unit)?.[0] !== 1) return null;
    const smoothed = this.#smoothing(input);
    const weights = this.#weights(integers, scales, smoothed?.factors ?? null);
    return weights && { input: smoothed?.input ?? input, name: `${integers}.float`, weights };
  }

  /** If a value is `input` times constant `factors`, returns both. */
  #smoothing(name: string): { readonly input: string; readonly factors: Float32Array } | null {
    const node = this.#producers.get(name);
    const [input = "", vector = ""] = node?.inputs ?? [];
    const factors = node?.operator === "Mul" && this.model.tensors.get(vector)?.shape.length === 1;
    const values = factors ? this.#floats(vector) : null;
    return values && { input, factors: values };
  }

  /**
   * Weights as 32-bit floats `[rows, columns]`: each integer times the scale of its column and the factor of its row.
   * null if they are stored in another form.
   */
  #weights(integers: string, scales: string, factors: Float32Array | null): OnnxTensor | null {
    const stored = this.model.tensors.get(integers);
    const columnScales = this.#floats(scales);
    const [rows = 0, columns = 0] = stored?.shape ?? [];
    const isExpected = stored?.type === ELEMENT.int8 && columnScales?.length === columns;
    if (!isExpected || (factors !== null && factors.length !== rows)) return null;
    const bytes = new Int8Array(stored.bytes.buffer, stored.bytes.byteOffset, rows * columns);
    const floats = new Float32Array(rows * columns);
    for (let row = 0, at = 0; row < rows; row += 1) {
      const factor = factors?.[row] ?? 1;
      for (let column = 0; column < columns; column += 1, at += 1) {
        floats[at] = (bytes[at] ?? 0) * (columnScales[column] ?? 0) * factor;
      }
    }
    return { type: ELEMENT.float32, shape: [rows, columns], bytes: new Uint8Array(floats.buffer) };
  }

  #floats(name: string): Float32Array | null {
    const tensor = this.model.tensors.get(name);
    return tensor?.type === ELEMENT.float32 ? floatsOf(tensor) : null;
  }
}

/** Converts everything that the last LayerNormalization depends on, and that node itself, to 16 bits. */
function withHalves({ nodes, tensors, ...rest }: OnnxModel): OnnxModel {
  const last = nodes.findLast(({ operator }) => operator === "LayerNormalization");
  const [result] = last?.outputs ?? [];
  if (last === undefined || result === undefined) throw new UnsupportedGraph("it has no LayerNormalization");
  const halved = new Set(neededNodes(nodes, [result]));
  const isFloat = (name: string) => tensors.get(name)?.type === ELEMENT.float32;
  const all = new Map(tensors);
  const converted = nodes.flatMap((node) => {
    if (!halved.has(node)) return [node];
    for (const name of node.inputs.filter(isFloat)) all.set(name + HALF, halfOf(all.get(name)));
    const inputs = node.inputs.map((name) => (isFloat(name) ? name + HALF : name));
    if (node === last)
      return [{ ...node, inputs, outputs: [result + HALF] }, castNode(result + HALF, result, ELEMENT.float32)];
    const [input = "", output = ""] = [inputs[0], node.outputs[0]];
    if (castTypeOf(node) === ELEMENT.float32) return [castNode(input, output, ELEMENT.float16)];
    return [{ ...node, inputs }];
  });
  return { ...rest, nodes: converted, tensors: usedTensors(converted, all) };
}

/** The nodes on which `outputs` depend, in their order. */
function neededNodes(nodes: readonly OnnxNode[], outputs: readonly string[]): readonly OnnxNode[] {
  const needed = new Set(outputs);
  const kept = nodes.toReversed().filter((node) => {
    if (!node.outputs.some((name) => needed.has(name))) return false;
    for (const name of node.inputs) needed.add(name);
    return true;
  });
  return kept.reverse();
}

function usedTensors(
  nodes: readonly OnnxNode[],
  tensors: ReadonlyMap<string, OnnxTensor>,
): ReadonlyMap<string, OnnxTensor> {
  const used = new Set(nodes.flatMap(({ inputs }) => inputs));
  return new Map([...tensors].filter(([name]) => used.has(name)));
}

function halfOf(tensor: OnnxTensor | undefined): OnnxTensor {
  if (tensor === undefined) throw new UnsupportedGraph("a constant is missing");
  const halves = new Float16Array(floatsOf(tensor));
  return { type: ELEMENT.float16, shape: tensor.shape, bytes: new Uint8Array(halves.buffer) };
}

/** The elements of a tensor of 32-bit floats. They are copied, because those in a file are not aligned. */
function floatsOf({ bytes }: OnnxTensor): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
