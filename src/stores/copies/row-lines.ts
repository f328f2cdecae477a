// Rows of both databases as lines of JSON arrays, without loss: integers up to 64 bits, bytes, lists and nulls.

import { invariant } from "../../domain/fault.ts";

/** A value of SQLite or DuckDB. */
export type RowValue = string | bigint | number | Uint8Array | readonly string[] | null;

/** A row as a line without its line end. */
export function encodeRow(values: readonly RowValue[]): string {
  return JSON.stringify(values.map(encodeValue));
}

/** The values of a line. Integers are bigint. @throws Error if the line is not what `encodeRow` made */
export function decodeRow(line: string): RowValue[] {
  const values: unknown = JSON.parse(line);
  invariant(Array.isArray(values), "a row of a copy is no list");
  return values.map(decodeValue);
}

// JSON numbers are integers; texts, lists of texts and null are written as they are. Other values become objects with
// one field, whose name is the type.
function encodeValue(value: RowValue): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : { i: String(value) };
  }
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : { r: value };
  if (value instanceof Uint8Array) return { b: Buffer.from(value).toString("base64") };
  return value;
}

function decodeValue(value: unknown): RowValue {
  if (value === null || typeof value === "string") return value;
  if (typeof value === "number") return BigInt(value);
  if (Array.isArray(value)) return value as string[];
  const { i, r, b } = value as { readonly i?: string; readonly r?: number; readonly b?: string };
  if (i !== undefined) return BigInt(i);
  if (b !== undefined) return new Uint8Array(Buffer.from(b, "base64"));
  invariant(r !== undefined, "a value of a copy has no known type");
  return r;
}
