// JSON that is not validated.

import { isExactInteger, parseJson } from "./exact-json.ts";

/** A JSON object, not validated. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactInteger(value);
}

/** The objects of a JSON list; none if the value is no list. */
export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The value of a text; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // the caller says what that means
  }
}
