// Finds the memories that a filter of mem0 matches, for its lists and for deleting. The lists of the API know users,
// agents and sessions; everything else is decided here, memory by memory.

import type { Operations } from "../../api/operation-calls.ts";
import { Fault } from "../../domain/fault.ts";
import { type FilteredAttributes, matchesFilter, parseFilter } from "../../domain/filter.ts";
import { LIMITS } from "../../domain/limits.ts";
import { ATTRIBUTES } from "../../domain/memory-attributes.ts";
import type { JsonRecord } from "../../kit/record.ts";
import type { Selection } from "./filters.ts";
import { scopeOfEntities } from "./names.ts";

/** Maximum number of memories that are read for one request. */
const READ_MAX = 10_000;

/**
 * The memories that match, newest first.
 * @throws Fault `invalid_filter`; `invalid_request` if too many memories have to be read; and those of listMemories
 */
export async function* matching(selection: Selection, operations: Operations): AsyncGenerator<JsonRecord> {
  const filter = parseFilter(selection.filter);
  const scope = scopeOfEntities(selection.entities);
  let cursor: string | null = null;
  let read = 0;
  do {
    const query = { ...scope, limit: LIMITS.pageItems, cursor };
    const page: JsonRecord = await operations.call("listMemories", { query });
    const items = page.data as readonly JsonRecord[];
    read += items.length;
    for (const memory of items) if (matchesFilter(filter, filteredAttributes(memory))) yield memory;
    cursor = page.has_more === true ? (page.cursor as string) : null;
    if (cursor !== null && read >= READ_MAX) {
      throw new Fault(
        "invalid_request",
        `More than ${READ_MAX} memories would have to be read. Narrow the filters by user_id, agent_id or run_id, or use GET /v1/memories of Mneme.`,
        { param: "filters" },
      );
    }
  } while (cursor !== null);
}

function filteredAttributes(memory: JsonRecord): FilteredAttributes {
  const attributes = ATTRIBUTES.map(({ name, property, type }) => {
    const value = memory[name] ?? null;
    return [property, type === "time" && typeof value === "string" ? Date.parse(value) : value];
  });
  return { id: memory.id, source: memory.source, ...Object.fromEntries(attributes) } as FilteredAttributes;
}
