// The operations on the relations of a memory.

import type { Relation } from "../domain/relation.ts";
import { isoTime } from "../kit/clock.ts";
import type { RelationService } from "../services/relations.ts";
import { memoryPathId } from "./ids.ts";
import { changing, NO_CONTENT, type Operation } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/relations.ts";
import type { View } from "./views.ts";

/** The operations on /v1/memories/{id}/relations. */
export function relationOperations(relations: RelationService): readonly Operation[] {
  const pair = (id: string | undefined, other: string) => ({
    id: memoryPathId(id),
    otherId: memoryPathId(other, "memory_id"),
  });
  return [
    changing({
      name: "setRelation",
      group: "Memories",
      summary:
        "Say what a memory is to another one, such as that it supersedes it. It replaces what was found of the two; nothing is hidden or deleted.",
      method: "PUT",
      path: "/v1/memories/:id/relations",
      scope: "memories:write",
      query: NoQuery,
      body: schema.SetRelation,
      answers: { 200: schema.RelationList },
      faults: ["memory_not_found", "invalid_state"],
      change: (tx, { principal, params, body: { memory_id, type } }) =>
        relations.set(tx, principal, { ...pair(params.id, memory_id), type }),
      answer: (list) => ({ status: 200, body: { data: list.map(relationView) } }),
    }),

    changing({
      name: "forgetRelation",
      group: "Memories",
      summary: "Forget what a person said of two memories. A relation may be found again by itself.",
      method: "DELETE",
      path: "/v1/memories/:id/relations",
      scope: "memories:write",
      query: schema.ForgetRelation,
      answers: { 204: null },
      faults: ["memory_not_found", "relation_not_found"],
      change: (tx, { principal, params, query }) => relations.forget(tx, principal, pair(params.id, query.memory_id)),
      answer: () => NO_CONTENT,
    }),
  ];
}

/** Converts a relation to the schema `Relation`. */
export function relationView(relation: Relation): View<typeof schema.Relation> {
  const { type, memoryId, state, by, confidence, evidence, createdAt } = relation;
  return { type, memory_id: memoryId, state, by, confidence, evidence, created_at: isoTime(createdAt) };
}
