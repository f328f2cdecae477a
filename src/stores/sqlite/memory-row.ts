// SQL fragments that several statements on memories use. rows/memory.ts converts the rows.

import { ATTRIBUTES } from "../../domain/memory-attributes.ts";
import { isJson, isTime, USER_ID } from "../rows/memory-columns.ts";

/**
 * SQL expression with the same result as `filteredAttributesJson`, for speed: opening a project needs the attributes of
 * all memories. It concatenates texts because SQLite's JSON functions refuse more than 1,000 levels.
 */
export const FILTERED_ATTRIBUTES = `'{' ${ATTRIBUTES.filter(({ isFilterable }) => isFilterable)
  .map(({ name, property, column, type }) => {
    const value = property === "userId" ? USER_ID : `memories.${column}`;
    const json = isTime(type) || isJson(type) ? `ifnull(${value}, 'null')` : `json_quote(${value})`;
    return `|| '"${name}":' || ${json} || ','`;
  })
  .join("\n  ")}
  || '"memory_id":' || json_quote(memories.id)
  || ',"source.media_type":' || json_quote(memories.source ->> '$.media_type')
  || ',"metadata":' || ifnull(memories.metadata, 'null') || '}'`;

/** Subquery for the keys in the parameter `$keys`, which `keyList` makes. */
export const KEYS = "(SELECT value FROM json_each($keys))";

/** Converts any number of keys to one parameter, a JSON array, because SQLite limits the number of parameters. */
export function keyList(keys: readonly bigint[]): string {
  return `[${keys.join(",")}]`;
}
