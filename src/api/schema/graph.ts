// Requests and answers of /v1/graph.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { ENTITY_KIND_NAMES } from "../../ports/chunk-index.ts";
import { Text } from "../check.ts";
import { Body, CallerId, ListOf, OneOf, Optional, paging, Query, QueryWith } from "./fields.ts";

const Kind = OneOf(ENTITY_KIND_NAMES, "how it was recognised");
const AskedId = Text({ minLength: 1, maxLength: 64, description: "ent_…" });
const UserId = { ...CallerId, description: "only what memories of this user mention" };

/** Query parameters of listEntities. */
export const ListEntities = Query({
  ...paging,
  q: Text({ minLength: 1, maxLength: LIMITS.titleCharacters, description: "part of the name, case-insensitive" }),
  kind: Kind,
  userId: UserId,
});
/** Query parameters of getEntity. */
export const GetEntity = Query({
  userId: UserId,
  limit: Type.Integer({
    minimum: 1,
    maximum: LIMITS.neighbours,
    default: LIMITS.neighboursDefault,
    description: "maximum number of neighbours",
  }),
});
/** Query parameters of findPath. */
export const FindPath = QueryWith({ from: AskedId, to: AskedId }, { userId: UserId });
/** Body of updateEntity; null takes a name or a merge back. */
export const UpdateEntity = Body({
  name: Optional(Text({ minLength: 1, maxLength: LIMITS.nameCharacters, description: "the name to show" })),
  merged_into: Optional(Text({ ...AskedId, description: "ent_… of the entity that it is the same as" })),
});

const fields = {
  id: Text({ description: "ent_…" }),
  name: Text(),
  kind: Kind,
  memories: Type.Integer({ description: "number of memories that mention it" }),
};
/** An entity that memories mention. */
export const Entity = Type.Object(fields, { $id: "Entity" });
/** One page of entities. */
export const EntityList = ListOf("EntityList", Entity);
/** An entity with its surroundings. */
export const EntitySurroundings = Type.Object(
  {
    ...fields,
    neighbours: Type.Array(
      Type.Object({
        id: fields.id,
        name: Text(),
        kind: Kind,
        weight: Type.Number({ description: "strength of the connection, 0 to 1; the strongest one has 1" }),
      }),
      { description: "entities of the same passages, the strongest connection first" },
    ),
    passages: Type.Array(Type.Object({ chunk_id: Text(), memory_id: Text(), content: Text() }), {
      description: "that mention it, newest first, at most 20",
    }),
  },
  { $id: "EntitySurroundings" },
);
/** A path between two entities. */
export const EntityPath = Type.Object(
  {
    entities: Type.Array(Entity, { description: "from the first to the last; empty if there is no path" }),
    links: Type.Array(Type.Object({ chunk_id: Text(), memory_id: Text() }), {
      description: "passages that mention an entity and the next one",
    }),
  },
  { $id: "EntityPath" },
);
