// Reads the properties that the author of an ONNX file stored in it, which onnxruntime's binding does not return.

/** Number of the field `metadata_props` of an ONNX model (onnx.proto). Its entries have a key (1) and a value (2). */
const PROPERTIES_FIELD = 14;
const KEY_FIELD = 1;
const VALUE_FIELD = 2;

/** The value of a property; null if the file has none of this name, or is not an ONNX file. */
export function onnxProperty(file: Uint8Array, name: string): string | null {
  for (const { field, bytes } of fieldsOf(file)) {
    if (field !== PROPERTIES_FIELD) continue;
    const texts = new Map(
      [...fieldsOf(bytes)].map((entry) => [entry.field, Buffer.from(entry.bytes).toString("utf8")]),
    );
    if (texts.get(KEY_FIELD) === name) return texts.get(VALUE_FIELD) ?? null;
  }
  return null;
}

/** The fields of a protobuf message whose wire type is `LEN` (2). Ends at the first byte that is not a valid field. */
function* fieldsOf(message: Uint8Array): Generator<{ readonly field: number; readonly bytes: Uint8Array }> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; at < message.length; factor *= 128) {
      const byte = message[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < message.length) {
    const tag = varint();
    const [field, kind] = [Math.floor(tag / 8), tag % 8];
    if (kind === 2) {
      const length = varint();
      yield { field, bytes: message.subarray(at, at + length) };
      at += length;
    } else if (kind === 0) varint();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else return;
  }
}
