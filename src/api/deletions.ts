// The operations that delete memories by conditions, and read the progress of a deletion.

import type { Deletion, DeletionConditions } from "../domain/deletion.ts";
import { Fault } from "../domain/fault.ts";
import { type Filter, parseFilter } from "../domain/filter.ts";
import type { DeletionId } from "../domain/ids.ts";
import type { Json } from "../domain/json.ts";
import { SCOPE_NAMES, scopeOf } from "../domain/memory-attributes.ts";
import { isoTime } from "../kit/clock.ts";
import { type DeletionService, otherNumber } from "../services/deletions.ts";
import { pathId } from "./ids.ts";
import { changing, type Operation, reading, Unchanged } from "./operation.ts";
import * as schema from "./schema/deletions.ts";
import { NoQuery } from "./schema/fields.ts";
import type { View } from "./views.ts";

/** The operations deleteMemories and getJob. */
export function deletionOperations(deletions: DeletionService): readonly Operation[] {
  return [
    changing({
      name: "deleteMemories",
      group: "Memories",
      summary:
        "Delete all memories that match. `dryRun` counts them; otherwise 202 with a job, which deletes from the newest to the oldest.",
      method: "DELETE",
      path: "/v1/memories",
      scope: "memories:write",
      query: NoQuery,
      body: schema.DeleteMemories,
      answers: { 200: schema.MatchedMemories, 202: schema.Job },
      faults: ["invalid_filter", "invalid_state"],
      prepare: async ({ principal, body, signal }) => {
        const conditions = conditionsOf(body);
        const matched = await deletions.count(principal, conditions, signal);
        if (body.dryRun === true) return new Unchanged({ status: 200, body: { matched } });
        const expected = body.matched ?? matched;
        if (expected !== matched) throw otherNumber(expected, matched);
        return { conditions, matched, isExact: body.matched != null };
      },
      change: (tx, { principal }, { conditions, ...expected }) => deletions.begin(tx, principal, conditions, expected),
      answer: (deletion) => ({ status: 202, body: deletionView(deletion) }),
    }),

    reading({
      name: "getJob",
      group: "Memories",
      summary: "Read the progress of a deletion. It can be read for 7 days after its end.",
      method: "GET",
      path: "/v1/jobs/:id",
      scope: "memories:write",
      query: NoQuery,
      answers: { 200: schema.Job },
      faults: ["job_not_found"],
      read: async ({ principal, params }) => {
        const id = pathId<DeletionId>("job", params.id, "job_not_found");
        return { status: 200, body: deletionView(await deletions.get(principal, id)) };
      },
    }),
  ];
}

/** @throws Fault `invalid_filter`; `invalid_request` if nothing limits the deletion */
function conditionsOf({ filters, ...body }: schema.DeleteMemories): DeletionConditions {
  const scope = scopeOf(body);
  const isFiltered = filters !== undefined && hasCondition(parseFilter(filters));
  if (Object.keys(scope).length === 0 && !isFiltered) {
    const [last, ...others] = SCOPE_NAMES.map((name) => `'${name}'`).reverse();
    throw new Fault(
      "invalid_request",
      `Say which memories to delete: give 'filters' with a condition, ${others.reverse().join(", ")} or ${last}.`,
    );
  }
  return { ...scope, ...(filters !== undefined && { filters: filters as Json }) };
}

/** Whether a filter has a condition on a field. One without, such as `{}` or `{"$not": {"$or": []}}`, may match all. */
function hasCondition(filter: Filter): boolean {
  switch (filter.kind) {
    case "field":
      return true;
    case "not":
      return hasCondition(filter.filter);
    default:
      return filter.filters.some(hasCondition);
  }
}

/** Converts a deletion to the schema `Job`. */
function deletionView(deletion: Deletion): View<typeof schema.Job> {
  const { id, status, matched, deleted, error, createdAt, updatedAt } = deletion;
  return {
    ...{ id, status, matched, deleted, created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
    ...(error === null ? {} : { error: { code: "processing_error", message: error } }),
  };
}
