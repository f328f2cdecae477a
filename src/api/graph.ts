// The operations on /v1/graph: entities of all memories, and paths between them.

import type { EntityId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Entity, EntityPath, EntityService, EntitySurroundings } from "../services/entities.ts";
import { checkNotBlank, refuseEmptyChange } from "./drafts.ts";
import { pathId } from "./ids.ts";
import { changing, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/graph.ts";
import { listView, type View } from "./views.ts";

/** The operations on entities. */
export function entityOperations(entities: EntityService): readonly Operation[] {
  const entityId = (text: string | undefined, param = "id") => pathId<EntityId>("ent", text, "entity_not_found", param);
  return [
    reading({
      name: "listEntities",
      group: "Graph",
      summary: "List the entities that memories mention, those that most memories mention first.",
      method: "GET",
      path: "/v1/graph/entities",
      scope: "memories:read",
      query: schema.ListEntities,
      answers: { 200: schema.EntityList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query }) => {
        const page = await entities.list(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, entityView) };
      },
    }),

    reading({
      name: "getEntity",
      group: "Graph",
      summary:
        "Read an entity, those of the same passages, and passages that mention it. One that was merged into another answers with the other.",
      method: "GET",
      path: "/v1/graph/entities/:id",
      scope: "memories:read",
      query: schema.GetEntity,
      answers: { 200: schema.EntitySurroundings },
      faults: ["entity_not_found"],
      read: async ({ principal, params, query }) => {
        const asked = { limit: LIMITS.neighboursDefault, ...query };
        return { status: 200, body: surroundingsView(await entities.get(principal, entityId(params.id), asked)) };
      },
    }),

    reading({
      name: "findPath",
      group: "Graph",
      summary:
        "Find a shortest path between two entities, over at most four passages that mention both ends of a link.",
      method: "GET",
      path: "/v1/graph/path",
      scope: "memories:read",
      query: schema.FindPath,
      answers: { 200: schema.EntityPath },
      faults: ["entity_not_found"],
      read: async ({ principal, query: { from, to, userId } }) => {
        const path = await entities.path(principal, entityId(from, "from"), entityId(to, "to"), userId);
        return { status: 200, body: pathView(path) };
      },
    }),

    changing({
      name: "updateEntity",
      group: "Graph",
      summary:
        "Name an entity, or say that it is the same as another one (`merged_into`). null takes it back. It stays when the index is rebuilt.",
      method: "PUT",
      path: "/v1/graph/entities/:id",
      scope: "memories:write",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.UpdateEntity,
      answers: { 200: schema.Entity },
      faults: ["entity_not_found", "invalid_state"],
      prepare: async ({ principal, params, body }) => {
        const id = entityId(params.id);
        refuseEmptyChange(body);
        const { name, merged_into: into } = body;
        if (name != null) checkNotBlank(name, "name", "give the name to show");
        const mergedInto = into == null ? into : entityId(into, "merged_into");
        await entities.refuseUnknown(principal, id, "id");
        if (mergedInto != null) await entities.refuseUnknown(principal, mergedInto, "merged_into");
        return { id, change: { ...(name !== undefined && { name }), ...(mergedInto !== undefined && { mergedInto }) } };
      },
      change: async (tx, { principal }, { id, change }) => {
        await entities.change(tx, principal, id, change);
        return id;
      },
      answer: () => ({ status: 200, body: null }),
      finish: async ({ status }, id, { principal }) => {
        return { status, body: entityView((await entities.get(principal, id, { limit: 1 })).entity) };
      },
    }),
  ];
}

/** Converts an entity to the schema `Entity`. */
function entityView({ id, name, kind, memories }: Entity): View<typeof schema.Entity> {
  return { id, name, kind, memories };
}

function surroundingsView(found: EntitySurroundings): View<typeof schema.EntitySurroundings> {
  return {
    ...entityView(found.entity),
    neighbours: found.neighbours.map(({ id, name, kind, weight }) => ({ id, name, kind, weight })),
    passages: found.passages.map(({ chunkId, memoryId, content }) => {
      return { chunk_id: chunkId, memory_id: memoryId, content };
    }),
  };
}

function pathView({ entities, links }: EntityPath): View<typeof schema.EntityPath> {
  return {
    entities: entities.map(entityView),
    links: links.map(({ chunkId, memoryId }) => ({ chunk_id: chunkId, memory_id: memoryId })),
  };
}
