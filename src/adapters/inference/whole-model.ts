// Completes the model file of a reader, which lacks the word table: it is copied from its embedder. The native
// encoder does without this, because it maps both files into memory.

import { readFileSync } from "node:fs";
import { readOnnx, writeOnnx } from "./gpu/onnx-model.ts";
import type { ModelDescription } from "./model-files.ts";

/**
 * The bytes of a model file; for a reader, with the constants of its embedder that it refers to.
 * @throws Error of the operating system if a file cannot be read; UnsupportedGraph if it is not an ONNX model
 */
export function wholeModel({ modelPath, words }: Pick<ModelDescription, "modelPath" | "words">): Uint8Array {
  const file = readFileSync(modelPath);
  if (words === null) return file;
  const model = readOnnx(file);
  const shared = readOnnx(readFileSync(words.path));
  const computed = new Set(model.nodes.flatMap(({ outputs }) => outputs));
  const missing = model.nodes
    .flatMap(({ inputs }) => inputs)
    .filter((name) => !computed.has(name) && !model.tensors.has(name) && shared.tensors.has(name));
  const tensors = new Map(model.tensors);
  for (const name of missing) {
    const tensor = shared.tensors.get(name);
    if (tensor !== undefined) tensors.set(name, tensor);
  }
  return writeOnnx({ ...model, tensors });
}
