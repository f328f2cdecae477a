// A small reader for tests: one layer of the multilingual embedder, with heads of random numbers.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ELEMENT,
  type OnnxNode,
  type OnnxTensor,
  readOnnx,
  writeOnnx,
} from "../../src/adapters/inference/gpu/onnx-model.ts";
import { NO_TELEMETRY_VARIABLE } from "../../src/adapters/inference/lane-protocol.ts";
import { openWithOnnxruntime } from "../../src/adapters/inference/onnxruntime-encoder.ts";
import { invariant } from "../../src/domain/fault.ts";
import { loadUnigram } from "../../src/tokenizers/unigram.ts";
import { seeded } from "./seeded.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "./shipped-models.ts";

/** Id of the reader. */
export const SMALL_READER = "small-reader";
/** Maximum number of tokens of a pair, and of its question. */
export const READER_TOKENS_MAX = 40;
export const QUESTION_TOKENS_MAX = 12;

/** Pairs whose outputs are in the reader's folder (reference.json). */
export const READ_PAIRS: readonly (readonly [question: string, passage: string])[] = [
  ["Where is the spare key?", "The spare key is under the blue flower pot beside the back door."],
  ["Wann fährt der Zug nach Zürich?", "Der Zug nach Zürich fährt um acht Uhr von Gleis 7."],
  ["鍵はどこですか", "予備の鍵は青い植木鉢の下にあります。"],
  ["Where is the spare key?", "Notes of the club: 🎾 Tuesday at six, court 4; bring the balls, Ana has the racket."],
];

const HIDDEN = 384;
const [ATTENTION_MASK, TOKEN_TYPES] = ["attention_mask", "token_type_ids"];
/** First bytes of the fields of a graph that name an input, and an output. */
const [INPUT_FIELD, OUTPUT_FIELD] = [0x5a, 0x62];

/** What can differ from a reader that works. */
export interface SmallReaderChanges {
  /** Changes the manifest. */
  readonly manifest?: (manifest: Record<string, unknown>) => void;
  /** Added to the logits in the reader's folder, so that they differ from those that it computes. */
  readonly referenceError?: number;
}

/** A folder with the shipped embedders, the reranker, and the reader; the caller removes it. */
export async function smallReaderFolder({ manifest: change, referenceError = 0 }: SmallReaderChanges = {}) {
  const folder = mkdtempSync(join(tmpdir(), "mneme-reader-"));
  for (const id of [ENGLISH, MULTILINGUAL, "mneme-reranker-minilm-l6"]) {
    symlinkSync(join(MODELS_DIR, id), join(folder, id));
  }
  const own = join(folder, SMALL_READER);
  mkdirSync(own);
  made ??= makeReader();
  const { bytes, references } = await made;
  writeFileSync(join(own, "model.onnx"), bytes);
  const { sha256, languages } = JSON.parse(readFileSync(join(MODELS_DIR, MULTILINGUAL, "model.json"), "utf8"));
  const shifted = references.map(({ logits, ...rest }) => ({ ...rest, logits: logits.map((x) => x + referenceError) }));
  writeFileSync(join(own, "reference.json"), JSON.stringify(shifted));
  const thresholds = { fast: 0.5, hybrid: 0.5, balanced: 0.5, precise: 0.5 };
  const manifest: Record<string, unknown> = {
    ...{ id: SMALL_READER, name: SMALL_READER, kind: "reader", file: "model.onnx", sha256: sha256Of(bytes) },
    ...{ words: { model: MULTILINGUAL, sha256 }, reference: "reference.json", licence: "MIT", languages },
    ...{ max_tokens: READER_TOKENS_MAX, max_query_tokens: QUESTION_TOKENS_MAX },
    evidence: { score_slope: 1, codes_slope: 4, names_slope: 1, answer_slope: 0.5, offset: 0.25 },
    min_evidence: thresholds,
  };
  change?.(manifest);
  writeFileSync(join(own, "model.json"), JSON.stringify(manifest));
  return folder;
}

/** The model and its outputs. They are made once per process. */
let made: ReturnType<typeof makeReader> | undefined;

async function makeReader() {
  const folder = mkdtempSync(join(tmpdir(), "mneme-reader-"));
  const bytes = graphOf(readFileSync(join(MODELS_DIR, MULTILINGUAL, "model.onnx")));
  writeFileSync(join(folder, "model.onnx"), bytes);
  const references = await referencesOf(folder);
  rmSync(folder, { recursive: true });
  return { bytes, references };
}

async function referencesOf(folder: string) {
  process.env[NO_TELEMETRY_VARIABLE] = "1";
  const words = { id: MULTILINGUAL, path: join(MODELS_DIR, MULTILINGUAL, "model.onnx"), sha256: "" };
  const encoder = await openWithOnnxruntime({ modelPath: join(folder, "model.onnx"), words }, null);
  const tokenizer = loadUnigram(join(MODELS_DIR, MULTILINGUAL, "unigram.bin"));
  const references = [];
  for (const [query, passage] of READ_PAIRS) {
    const pair = tokenizer.encodeReading(query, passage, QUESTION_TOKENS_MAX, READER_TOKENS_MAX);
    const [values] = (await encoder.read?.([pair])) ?? [];
    invariant(values, "the small reader reads");
    const [relevance = 0, answer = 0, ...spans] = values;
    references.push({
      ...{ query, passage, token_ids: [...pair.ids] },
      token_type_ids: [...pair.ids].map((_, at) => Number(at >= pair.firstLength && at < pair.secondEnd)),
      logits: [relevance, answer],
      begin: spans.filter((_, at) => at % 2 === 0),
      end: spans.filter((_, at) => at % 2 === 1),
    });
  }
  await encoder.close();
  return references;
}

/** The graph of the embedder up to its first layer, with token types and the heads of a reader. */
function graphOf(file: Uint8Array): Uint8Array {
  const model = readOnnx(file);
  const random = seeded(7);
  const floats = (scale: number, ...shape: readonly number[]): OnnxTensor => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => scale * (random() - 0.5));
    return { type: ELEMENT.float32, shape, bytes: new Uint8Array(values.buffer) };
  };
  const last = model.nodes.findIndex(({ inputs }) => inputs.includes("l0.ln2.g"));
  const layer = model.nodes.slice(0, last + 1);
  const states = layer.at(-1)?.outputs[0] ?? "";
  const shape = layer.find(({ operator, outputs }) => operator === "Concat" && outputs[0] === "Concat_3_out");
  const sum = layer.find(
    ({ operator, inputs }) => operator === "Add" && inputs.some((name) => name.startsWith("Slice")),
  );
  invariant(shape && sum, "the embedder has the form that export_onnx.py writes");
  const [untyped = "", batch = ""] = [sum.outputs[0], shape.outputs[0]];
  const node = (operator: string, inputs: readonly string[], output: string, ...rest: Uint8Array[]): OnnxNode => {
    return { operator, inputs, outputs: [output], rest };
  };
  const nodes = layer.flatMap((each) => {
    const inputs = each.inputs.map((name) => (name === untyped ? "typed" : name));
    if (each !== sum) return [{ ...each, inputs }];
    return [each, node("Gather", ["emb.type", TOKEN_TYPES], "types"), node("Add", [untyped, "types"], "typed")];
  });
  nodes.push(
    node("Reshape", [states, batch], "states"),
    node("Gather", ["states", "first.index"], "first", axisAttribute(1)),
    node("Gemm", ["first", "pool.w", "pool.b"], "pool.sum"),
    node("Tanh", ["pool.sum"], "pooled"),
    node("Gemm", ["pooled", "cls.w", "cls.b"], "logits"),
    node("MatMul", ["states", "span.w"], "span.sum"),
    node("Add", ["span.sum", "span.b"], "spans"),
  );
  const tensors = new Map(model.tensors);
  for (const name of ["emb.q4", "emb.q4s"]) tensors.delete(name);
  const used = new Set(nodes.flatMap(({ inputs }) => inputs));
  for (const name of tensors.keys()) if (!used.has(name)) tensors.delete(name);
  tensors.set("emb.type", floats(0.2, 2, HIDDEN));
  tensors.set("first.index", { type: 7, shape: [], bytes: new Uint8Array(8) });
  tensors.set("pool.w", floats(0.2, HIDDEN, HIDDEN));
  tensors.set("pool.b", floats(0.2, HIDDEN));
  tensors.set("cls.w", floats(0.5, HIDDEN, 2));
  tensors.set("cls.b", floats(0.5, 2));
  tensors.set("span.w", floats(0.5, HIDDEN, 2));
  tensors.set("span.b", floats(0.5, 2));
  const graphRest = model.graphRest.filter(([first]) => first !== OUTPUT_FIELD);
  const mask = graphRest.find((field) => field[0] === INPUT_FIELD && Buffer.from(field).includes(ATTENTION_MASK));
  invariant(mask && ATTENTION_MASK.length === TOKEN_TYPES.length, "the graph has an attention mask");
  const types = Buffer.from(mask);
  types.write(TOKEN_TYPES, types.indexOf(ATTENTION_MASK));
  const outputs = ["logits", "spans"].map((name) =>
    Buffer.from([OUTPUT_FIELD, name.length + 2, 0x0a, name.length, ...Buffer.from(name)]),
  );
  return writeOnnx({ ...model, nodes, tensors, graphRest: [...graphRest, types, ...outputs] });
}

/** The attribute `axis` of a node, encoded. */
function axisAttribute(axis: number): Uint8Array {
  const attribute = [0x0a, 4, ...Buffer.from("axis"), 0x18, axis, 0xa0, 0x01, 2];
  return Uint8Array.from([0x2a, attribute.length, ...attribute]);
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
