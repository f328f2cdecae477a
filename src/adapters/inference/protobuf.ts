// Reads the fields of messages in the encoding of Protocol Buffers, without a schema
// (https://protobuf.dev/programming-guides/encoding/).

/** How the content of a field is encoded ("wire type"). Groups, which nothing writes, are unknown. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** A field of a message. */
export interface ProtobufField {
  readonly number: number;
  /** A value of `WIRE`. */
  readonly wire: number;
  /** The value of a varint, read without a sign and inexact from 2⁵³ on; 0 for other fields. */
  readonly value: number;
  /** The content of a field of bytes, a view of the message; empty for other fields. */
  readonly content: Uint8Array;
  /** The whole field with its key, a view of the message. */
  readonly encoded: Uint8Array;
}

/** Maximum length of a varint, in bytes: 64 bits, 7 in a byte. */
const VARINT_BYTES_MAX = 10;
const NOTHING: Uint8Array = new Uint8Array();

/**
 * The fields of a message, in their order. Ends before the first field that is invalid or cut off.
 * @returns Whether all fields were valid
 */
export function* protobufFields(message: Uint8Array): Generator<ProtobufField, boolean> {
  let at = 0;
  /** The number at `at`; NaN if it is cut off or too long. */
  const varint = (): number => {
    let value = 0;
    for (let length = 0; length < VARINT_BYTES_MAX; length += 1) {
      const byte = message[at++];
      if (byte === undefined) return Number.NaN;
      value += (byte & 0x7f) * 0x80 ** length;
      if (byte < 0x80) return value;
    }
    return Number.NaN;
  };
  while (at < message.length) {
    const start = at;
    const key = varint();
    const [number, wire] = [Math.floor(key / 8), key % 8];
    let value = 0;
    let content = NOTHING;
    if (wire === WIRE.varint) value = varint();
    else if (wire === WIRE.fixed32) at += 4;
    else if (wire === WIRE.fixed64) at += 8;
    else if (wire === WIRE.bytes) {
      const length = varint();
      content = message.subarray(at, at + length);
      at += length;
    } else return false;
    // not `at > message.length`, which is false for NaN
    if (!(at <= message.length) || Number.isNaN(value)) return false;
    yield { number, wire, value, content, encoded: message.subarray(start, at) };
  }
  return true;
}
