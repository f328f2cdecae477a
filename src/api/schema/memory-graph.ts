// Request and answer of /v1/memories/{id}/graph.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { Text } from "../check.ts";
import { Nullable, OneOf, Query } from "./fields.ts";

/** Query parameters of getMemoryGraph. */
export const MemoryGraphQuery = Query({
  limit: Type.Integer({
    minimum: 1,
    maximum: LIMITS.neighbours,
    default: LIMITS.neighboursDefault,
    description: "maximum number of neighbours",
  }),
});

const Entity = Type.Object({
  name: Text(),
  kind: OneOf(["title", "name", "quote", "identifier", "date", "phrase"]),
  mentions: Type.Integer({ description: "number of occurrences in this memory" }),
  memories: Type.Integer({ description: "number of memories with this entity, this one included" }),
  chunk_ids: Type.Array(Text({ description: "chunk_…" }), {
    description: "passages that mention it, at most 100",
  }),
});

const Fact = Type.Object({ subject: Text(), predicate: Text(), object: Text() });

const Neighbour = Type.Object({
  memory_id: Text(),
  title: Nullable(Text()),
  score: Type.Number({ minimum: 0, maximum: 1, description: "1 for the nearest neighbour" }),
  entities: Type.Array(Text(), { description: "entities that both memories mention" }),
});

/** Answer of getMemoryGraph. */
export const MemoryGraph = Type.Object(
  {
    memory_id: Text(),
    status: OneOf(["processing", "completed", "failed"], "a memory has no links before it is completed"),
    entities: Type.Array(Entity, { description: "most distinctive first" }),
    relations: Type.Array(Fact, { description: "facts that a language model extracted from the memory" }),
    neighbours: Type.Array(Neighbour, { description: "memories that mention the same entities, nearest first" }),
  },
  { $id: "MemoryGraph" },
);
