// Converts rows of memories to what the index needs of them. A node that opens a project reads all its rows, so only
// the necessary columns are read, and JSON that is passed on is not parsed.

import type { MemoryKey, UserKey } from "../../domain/ids.ts";
import { ATTRIBUTES } from "../../domain/memory-attributes.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import { type MemoryRow, numberOrNull, toSource } from "./memory.ts";
import { type AttributeColumns, isJson } from "./memory-columns.ts";

const FILTERABLE = ATTRIBUTES.filter(({ isFilterable }) => isFilterable).map(({ name, column, type }) => ({
  label: `"${name}":`,
  column,
  isJson: isJson(type),
}));

/** A row with the columns `VISIBLE_COLUMNS` (sql.ts). */
export type VisibleRow = AttributeColumns & Pick<MemoryRow, "memory_key" | "id" | "user_key" | "source">;

/** Converts a row to what the index needs to make the memory visible. */
export function visibleOf(row: VisibleRow): VisibleMemory {
  return {
    memoryKey: row.memory_key as MemoryKey,
    userKey: row.user_key as UserKey | null,
    expiresAt: numberOrNull(row.expires_at),
    attributes: filteredAttributesOf(row),
  };
}

/** The same text as `filteredAttributesJson` of the memory. Tags and metadata are JSON in the row already. */
function filteredAttributesOf(row: VisibleRow): string {
  let attributes = "";
  for (const { label, column, isJson } of FILTERABLE) attributes += `${label}${jsonOf(row[column], isJson)},`;
  const mediaType = toSource(row)?.media_type ?? null;
  return `{${attributes}"memory_id":${JSON.stringify(row.id)},"source.media_type":${JSON.stringify(mediaType)},\
"metadata":${row.metadata}}`;
}

function jsonOf(value: string | bigint | null, isJson: boolean): string | number | null {
  if (typeof value === "bigint") return Number(value); // a number becomes text in half the time of a bigint
  return value === null || isJson ? value : JSON.stringify(value);
}
