// JSON of which no schema was checked: recognises objects and lists of objects.

import { isExactInteger, parseJson } from "./exact-json.ts";

/** A JSON object with any fields. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactInteger(value);
}

/** The value if it is an object, otherwise null. */
export function recordOrNull(value: unknown): JsonRecord | null {
  return isRecord(value) ? value : null;
}

/** The objects of a JSON list; none if the value is no list. */
export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Parses a JSON text as `parseJson` does, but returns undefined instead of throwing if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // the caller says what that means
  }
}
