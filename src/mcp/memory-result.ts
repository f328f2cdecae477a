// Memories and passages as tools show them: compact, because a language model reads them. Fields without a value are
// left out.

import { type Static, Type } from "@sinclair/typebox";
import { Text } from "../api/check.ts";
import { presentAttributes } from "../api/schema/attributes.ts";
import { OneOf } from "../api/schema/fields.ts";
import type { JsonRecord } from "../kit/record.ts";

/** The attributes of a passage that are shown: those that help a language model. */
const { updated_at: _, expires_at: __, externalId: ___, ...ofPassage } = presentAttributes;

/** A memory in the result of a tool. */
export const MemoryResult = Type.Object({
  memory_id: Text({ description: "mem_…" }),
  content: Text({ description: "The text, or its beginning if it is cut" }),
  ...presentAttributes,
  status: OneOf(["processing", "completed", "failed"], "completed: searchable"),
  error: Type.Optional(Text({ description: "Why processing failed" })),
  relations: Type.Optional(
    Type.Array(Type.Object({ type: Text(), memory_id: Text() }), {
      description: "Other memories that it supersedes, refines or repeats, or that do so with it; only in get_memory",
    }),
  ),
});
/** A memory in the result of a tool. */
export type MemoryResult = Static<typeof MemoryResult>;

/** A passage in the result of a tool. */
export const PassageResult = Type.Object({
  memory_id: Text({ description: "mem_…" }),
  content: Text({ description: "The passage that was found" }),
  score: Type.Number({ minimum: 0, maximum: 1, description: "Estimated probability that the passage helps" }),
  ...ofPassage,
  place: Type.Optional(
    Type.Object(
      {
        page: Type.Optional(Type.Integer()),
        slide: Type.Optional(Type.Integer()),
        sheet: Type.Optional(Text()),
        cells: Type.Optional(Text()),
        line: Type.Optional(Type.Integer()),
        line_end: Type.Optional(Type.Integer()),
        symbol: Type.Optional(Text()),
        headings: Type.Optional(Type.Array(Text())),
        speaker: Type.Optional(Text()),
        date: Type.Optional(Text()),
      },
      { description: "Where in the memory the passage stands" },
    ),
  ),
});
/** A passage in the result of a tool. */
export type PassageResult = Static<typeof PassageResult>;

const MEMORY_FIELDS = ["status", ...Object.keys(presentAttributes)];
const PLACE_FIELDS = [
  "page",
  "slide",
  "sheet",
  "cells",
  "line",
  "line_end",
  "symbol",
  "headings",
  "speaker",
  "date",
] as const;

/** Converts a memory of the API to what tools show. */
export function memoryResult(memory: JsonRecord): MemoryResult {
  const relations = ((memory.relations ?? []) as JsonRecord[]).filter(({ state }) => state === "active");
  const error = memory.error as { readonly message: string } | undefined;
  return {
    memory_id: memory.id,
    content: memory.content,
    ...present(memory, MEMORY_FIELDS),
    ...(error !== undefined && { error: error.message }),
    ...(relations.length > 0 && { relations: relations.map(({ type, memory_id }) => ({ type, memory_id })) }),
  } as MemoryResult;
}

/** Converts a result of a search of the API to what tools show. */
export function passageResult(result: JsonRecord): PassageResult {
  const { _memory, _chunk, ...metadata } = result.metadata as JsonRecord;
  const place = present(_chunk as JsonRecord, PLACE_FIELDS);
  return {
    memory_id: result.memory_id,
    content: result.content,
    score: result.score,
    ...present(_memory as JsonRecord, Object.keys(ofPassage)),
    ...present({ metadata }, ["metadata"]),
    ...present(_chunk as JsonRecord, ["superseded_by"]),
    ...(Object.keys(place).length > 0 && { place }),
  } as PassageResult;
}

function present(value: JsonRecord, fields: readonly string[]): JsonRecord {
  const pairs = fields.map((field) => [field, value[field]] as const);
  return Object.fromEntries(pairs.filter(([, part]) => !isEmpty(part)));
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
