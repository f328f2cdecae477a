// Requests and answers of /v1/memories/{id}/relations.

import { Type } from "@sinclair/typebox";
import { RELATION_TYPES } from "../../domain/relation.ts";
import { Text } from "../check.ts";
import { Body, Nullable, OneOf, QueryWith, Time } from "./fields.ts";

const MemoryId = Text({ minLength: 1, maxLength: 64, description: "mem_… of the other memory" });

/** Body of setRelation. */
export const SetRelation = Body({
  memory_id: MemoryId,
  type: OneOf(
    [...RELATION_TYPES, "none"],
    "as seen from the memory in the path; `none`: the two are unrelated, and no relation of them is found by itself",
  ),
});
/** Query parameters of forgetRelation. */
export const ForgetRelation = QueryWith({ memory_id: MemoryId }, {});

const Span = Type.Object({
  start: Type.Integer({ description: "in the memory's content, in code points" }),
  end: Type.Integer(),
  text: Text({ description: "at most 400 characters" }),
});

/** A relation as seen from one of the two memories. */
export const Relation = Type.Object(
  {
    type: OneOf(RELATION_TYPES, "as seen from this memory"),
    memory_id: Text({ description: "mem_… of the other memory" }),
    state: OneOf(["active", "suggested"], "`suggested` has no effect until a person sets it"),
    by: OneOf(["rule", "model", "llm", "person"]),
    confidence: Nullable(Type.Number({ minimum: 0, maximum: 1, description: "null: a person set it" })),
    evidence: Nullable(Type.Object({ own: Span, other: Span }, { description: "null: a person set it" })),
    created_at: Time,
  },
  { $id: "Relation" },
);
/** Answer of setRelation: the relations of a memory, newest first. */
export const RelationList = Type.Object({ data: Type.Array(Relation) }, { $id: "RelationList" });
