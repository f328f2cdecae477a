// Requests and answers of /v1/memories/{id}/history.

import { Type } from "@sinclair/typebox";
import { Text } from "../check.ts";
import { ListOf, Nullable, OneOf, paging, Query, Time } from "./fields.ts";
import { Relation } from "./relations.ts";

/** Query parameters of getMemoryHistory. */
export const ListHistory = Query(paging);

/** Who made a change to a memory. */
export const Actor = Type.Object(
  {
    kind: OneOf(["key", "rule", "model", "llm", "system"]),
    id: Nullable(Text({ description: "key_…; null for all other kinds" })),
  },
  { $id: "Actor" },
);

const TextEntry = Type.Object(
  {
    kind: Type.Literal("text"),
    version: Type.Integer({ minimum: 1, description: "number among the texts of the memory" }),
    content: Text(),
    from: Time,
    until: Nullable(Type.Unsafe<string>({ ...Time, description: "when it was replaced; null: it is the current one" })),
    by: Actor,
  },
  { $id: "HistoryText" },
);
const RelationEntry = Type.Object(
  {
    kind: Type.Literal("relation"),
    action: OneOf(["set", "removed"]),
    at: Time,
    relation: Relation,
    by: Actor,
  },
  { $id: "HistoryRelation" },
);

/** An entry of the history of a memory. */
export const HistoryEntry = Type.Union([TextEntry, RelationEntry]);
/** One page of the history of a memory, newest first. */
export const HistoryList = ListOf("HistoryList", HistoryEntry);
