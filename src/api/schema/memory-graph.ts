// The contract of /v1/memories/{id}/graph: what a memory is linked to.

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
    description: "of neighbours",
  }),
});

const Entity = Type.Object({
  name: Text(),
  kind: OneOf(["title", "name", "quote", "identifier", "date", "phrase"]),
  mentions: Type.Integer({ description: "in this memory's passages" }),
  memories: Type.Integer({ description: "with it, this one included" }),
  chunk_ids: Type.Array(Text({ description: "chunk_…" }), { description: "at most 100" }),
});

const Relation = Type.Object({ subject: Text(), predicate: Text(), object: Text() });

const Neighbour = Type.Object({
  memory_id: Text(),
  title: Nullable(Text()),
  score: Type.Number({ minimum: 0, maximum: 1, description: "the nearest has 1" }),
  entities: Type.Array(Text(), { description: "named in both" }),
});

/** What getMemoryGraph answers. */
export const MemoryGraph = Type.Object(
  {
    memory_id: Text(),
    status: OneOf(["processing", "completed", "failed"], "nothing is linked before it is completed"),
    entities: Type.Array(Entity, { description: "most telling first" }),
    relations: Type.Array(Relation, { description: "facts that a language model read in it" }),
    neighbours: Type.Array(Neighbour, { description: "memories that name the same, nearest first" }),
  },
  { $id: "MemoryGraph" },
);
