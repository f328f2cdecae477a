// Reads the reference file in the folder of a model: the outputs for some texts, recorded when it was exported.

import { existsSync, readFileSync } from "node:fs";
import { isRecord } from "../../kit/record.ts";
import type { Reference } from "../../ports/models.ts";

/** Maximum number of references that are read. A test of the model makes one call for each. */
const REFERENCES_MAX = 32;
/** Maximum size of the file in bytes; a larger one counts as missing. */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * The references that have texts; none if the file is missing or has another form. References with token ids only are
 * left out; open-encoder.ts uses them.
 * @param dimensions length of the vectors as they are stored
 */
export function readTextReferences(path: string, dimensions: number): readonly Reference[] {
  if (!existsSync(path)) return [];
  const bytes = readFileSync(path);
  if (bytes.length > BYTES_MAX) return [];
  let found: unknown;
  try {
    found = JSON.parse(bytes.toString());
  } catch {
    return []; // open-encoder.ts reports it when the model is opened
  }
  if (!Array.isArray(found)) return [];
  return found.slice(0, REFERENCES_MAX).flatMap((item) => toReference(item, dimensions));
}

function toReference(item: unknown, dimensions: number): readonly Reference[] {
  if (!isRecord(item)) return [];
  const { text, query, passage, purpose, vector, logit, logits } = item;
  if (typeof text === "string" && isNumbers(vector)) {
    return [
      {
        text,
        purpose: purpose === "query" ? "query" : "passage",
        passage: null,
        values: truncatedVector(vector, dimensions),
      },
    ];
  }
  if (typeof query === "string" && typeof passage === "string" && typeof logit === "number") {
    return [{ text: query, purpose: "query", passage, values: [logit] }];
  }
  if (typeof query === "string" && typeof passage === "string" && isNumbers(logits)) {
    return [{ text: query, purpose: "query", passage, values: logits }];
  }
  return [];
}

/** A vector as it is stored: its first `dimensions` components, scaled to unit length; itself if it has no more. */
export function truncatedVector(vector: readonly number[], dimensions: number): readonly number[] {
  if (vector.length <= dimensions) return vector;
  const first = vector.slice(0, dimensions);
  const length = Math.hypot(...first);
  return first.map((value) => value / length);
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === "number");
}
