// Reads the properties that the author of an ONNX file stored in it, which onnxruntime's binding does not return.

import { protobufFields } from "./protobuf.ts";

/** Number of the field `metadata_props` of an ONNX model (onnx.proto). Its entries have a key (1) and a value (2). */
const PROPERTIES_FIELD = 14;
const KEY_FIELD = 1;
const VALUE_FIELD = 2;

/** The value of a property; null if the file has none of this name, or is not an ONNX file. */
export function onnxProperty(file: Uint8Array, name: string): string | null {
  for (const { number, content } of protobufFields(file)) {
    if (number !== PROPERTIES_FIELD) continue;
    const texts = new Map(
      [...protobufFields(content)].map((entry) => [entry.number, Buffer.from(entry.content).toString("utf8")]),
    );
    if (texts.get(KEY_FIELD) === name) return texts.get(VALUE_FIELD) ?? null;
  }
  return null;
}
