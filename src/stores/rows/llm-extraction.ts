// LLM extractions as JSON text in rows. Facts have their earlier name there, "relations".

import type { LlmExtraction } from "../../ports/llm-extraction-store.ts";

/** An extraction as JSON text; null if the reply was unusable. */
export function extractionToJson(extraction: LlmExtraction | null): string | null {
  if (extraction === null) return null;
  const { facts: relations, ...others } = extraction;
  return JSON.stringify({ ...others, relations });
}

/** The extraction of a JSON text by `extractionToJson`. */
export function extractionFromJson(json: string): LlmExtraction {
  const { relations: facts, ...others } = JSON.parse(json);
  return { ...others, facts };
}
