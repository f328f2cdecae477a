// Reads and writes ONNX files (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). Nodes and constants become
// objects; all other fields are kept as bytes. Constants are views of the file's bytes.

import { type ProtobufField, protobufFields, WIRE } from "../protobuf.ts";
import { UnsupportedGraph } from "./unsupported-graph.ts";

/** Types of elements, with the numbers of ONNX. */
export const ELEMENT = { float32: 1, uint8: 2, int8: 3, float16: 10 } as const;

/** An operation of the graph. */
export interface OnnxNode {
  /** Type of the operation, such as `MatMul`. */
  readonly operator: string;
  /** Names of the values that it reads. An optional input that is left out is empty. */
  readonly inputs: readonly string[];
  /** Names of the values that it computes. */
  readonly outputs: readonly string[];
  /** Name, domain and attributes, as encoded fields. */
  readonly rest: readonly Uint8Array[];
}

/** A constant of the graph. */
export interface OnnxTensor {
  /** Type of the elements: a number of `ELEMENT`, or another one of ONNX. */
  readonly type: number;
  readonly shape: readonly number[];
  /** The elements row by row, little-endian. */
  readonly bytes: Uint8Array;
}

/** An ONNX file. */
export interface OnnxModel {
  readonly nodes: readonly OnnxNode[];
  /** Constants by name. */
  readonly tensors: ReadonlyMap<string, OnnxTensor>;
  /** Names of the graph's outputs. */
  readonly outputs: readonly string[];
  /** The other fields of the graph and of the model, encoded. */
  readonly graphRest: readonly Uint8Array[];
  readonly modelRest: readonly Uint8Array[];
}

/** Numbers of the fields that are read, for each kind of message in onnx.proto. */
const MODEL = { graph: 7 } as const;
const GRAPH = { node: 1, tensor: 5, output: 12 } as const;
const NODE = { input: 1, output: 2, operator: 4, attribute: 5 } as const;
const TENSOR = { shape: 1, type: 2, name: 8, bytes: 9 } as const;
const VALUE_NAME = 1;
const ATTRIBUTE = { name: 1, integer: 3, type: 20 } as const;
const ATTRIBUTE_TYPE_INTEGER = 2;

const text = new TextDecoder();
const utf8 = new TextEncoder();

/** Reads a model. @throws UnsupportedGraph if `file` is not a model, or its constants are in another file */
export function readOnnx(file: Uint8Array): OnnxModel {
  const modelRest: Uint8Array[] = [];
  let graph: Uint8Array | null = null;
  for (const field of fieldsOf(file)) {
    if (field.number === MODEL.graph && field.wire === WIRE.bytes) graph = field.content;
    else modelRest.push(field.encoded);
  }
  if (graph === null) throw new UnsupportedGraph("it is not an ONNX model");
  const nodes: OnnxNode[] = [];
  const tensors = new Map<string, OnnxTensor>();
  const outputs: string[] = [];
  const graphRest: Uint8Array[] = [];
  for (const field of fieldsOf(graph)) {
    if (field.number === GRAPH.node) nodes.push(readNode(field.content));
    else if (field.number === GRAPH.tensor) tensors.set(...readTensor(field.content));
    else {
      if (field.number === GRAPH.output) outputs.push(nameOf(field.content));
      graphRest.push(field.encoded);
    }
  }
  return { nodes, tensors, outputs, graphRest, modelRest };
}

/** Writes a model. */
export function writeOnnx({ nodes, tensors, graphRest, modelRest }: OnnxModel): Uint8Array {
  const graph = [
    ...nodes.flatMap((node) => encoded(GRAPH.node, encodeNode(node))),
    ...[...tensors].flatMap(([name, tensor]) => encoded(GRAPH.tensor, encodeTensor(name, tensor))),
    ...graphRest,
  ];
  return join([...modelRest, ...encoded(MODEL.graph, graph)]);
}

/** A node that converts a value to another type of elements. */
export function castNode(input: string, output: string, type: number): OnnxNode {
  const attribute = [
    ...encodedText(ATTRIBUTE.name, "to"),
    encodedNumber(ATTRIBUTE.integer, type),
    encodedNumber(ATTRIBUTE.type, ATTRIBUTE_TYPE_INTEGER),
  ];
  return { operator: "Cast", inputs: [input], outputs: [output], rest: [join(encoded(NODE.attribute, attribute))] };
}

/** The type to which a `Cast` node converts; null for another node. */
export function castTypeOf({ operator, rest }: OnnxNode): number | null {
  if (operator !== "Cast") return null;
  for (const field of rest.flatMap((bytes) => [...fieldsOf(bytes)])) {
    if (field.number !== NODE.attribute) continue;
    for (const part of fieldsOf(field.content)) if (part.number === ATTRIBUTE.integer) return part.value;
  }
  return null;
}

/** The fields of a message, in their order. @throws UnsupportedGraph if one is invalid */
function* fieldsOf(message: Uint8Array): Generator<ProtobufField> {
  const isValid = yield* protobufFields(message);
  if (!isValid) throw new UnsupportedGraph("it is not an ONNX model");
}

function readNode(message: Uint8Array): OnnxNode {
  const inputs: string[] = [];
  const outputs: string[] = [];
  const rest: Uint8Array[] = [];
  let operator = "";
  for (const { number, content, encoded } of fieldsOf(message)) {
    if (number === NODE.input) inputs.push(text.decode(content));
    else if (number === NODE.output) outputs.push(text.decode(content));
    else if (number === NODE.operator) operator = text.decode(content);
    else rest.push(encoded);
  }
  return { operator, inputs, outputs, rest };
}

function readTensor(message: Uint8Array): [name: string, OnnxTensor] {
  const shape: number[] = [];
  let [name, type, bytes]: [string, number, Uint8Array | null] = ["", 0, null];
  for (const field of fieldsOf(message)) {
    if (field.number === TENSOR.shape && field.wire === WIRE.varint) shape.push(field.value);
    else if (field.number === TENSOR.shape) shape.push(...packed(field.content));
    else if (field.number === TENSOR.type) type = field.value;
    else if (field.number === TENSOR.name) name = text.decode(field.content);
    else if (field.number === TENSOR.bytes) bytes = field.content;
  }
  if (bytes === null) throw new UnsupportedGraph(`its constant ${name} is not stored as bytes`);
  return [name, { type, shape, bytes }];
}

/** The numbers of a packed list of varints. */
function packed(content: Uint8Array): readonly number[] {
  const numbers: number[] = [];
  let [value, factor] = [0, 1];
  for (const byte of content) {
    value += (byte & 0x7f) * factor;
    factor *= 0x80;
    if (byte >= 0x80) continue;
    numbers.push(value);
    [value, factor] = [0, 1];
  }
  return numbers;
}

function nameOf(message: Uint8Array): string {
  for (const { number, content } of fieldsOf(message)) if (number === VALUE_NAME) return text.decode(content);
  return "";
}

/** The pieces of an encoded message. They are joined only once, because constants are large. */
type Pieces = readonly Uint8Array[];

function encodeNode({ operator, inputs, outputs, rest }: OnnxNode): Pieces {
  return [
    ...inputs.flatMap((name) => encodedText(NODE.input, name)),
    ...outputs.flatMap((name) => encodedText(NODE.output, name)),
    ...encodedText(NODE.operator, operator),
    ...rest,
  ];
}

function encodeTensor(name: string, { type, shape, bytes }: OnnxTensor): Pieces {
  return [
    ...shape.map((side) => encodedNumber(TENSOR.shape, side)),
    encodedNumber(TENSOR.type, type),
    ...encodedText(TENSOR.name, name),
    ...encoded(TENSOR.bytes, [bytes]),
  ];
}

function encoded(number: number, content: Pieces): Pieces {
  return [varintOf(number * 8 + WIRE.bytes), varintOf(lengthOf(content)), ...content];
}

function encodedText(number: number, content: string): Pieces {
  return encoded(number, [utf8.encode(content)]);
}

function encodedNumber(number: number, value: number): Uint8Array {
  return join([varintOf(number * 8 + WIRE.varint), varintOf(value)]);
}

function varintOf(value: number): Uint8Array {
  const bytes: number[] = [];
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) + 0x80);
    left = Math.floor(left / 0x80);
  }
  return Uint8Array.from([...bytes, left]);
}

function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function join(pieces: Pieces): Uint8Array {
  const whole = new Uint8Array(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
