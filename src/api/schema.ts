// The contract as schemas: what requests may hold. Types, validation and, later, the OpenAPI page come from here.

import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../domain/limits.ts";
import { MODE_NAMES } from "../domain/ranking.ts";
import { Text } from "./check.ts";

const closed = { additionalProperties: false } as const;

/** A field that may be left out; `null` counts as left out. */
function Optional<S extends Parameters<typeof Type.Union>[0][number]>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()], { ...describing(schema) }));
}

// The bounds of the inner schema, so that an error message can name them.
function describing(schema: object): object {
  const { type, minLength, maxLength, minimum, maximum, minItems, maxItems } = schema as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries({ type, minLength, maxLength, minimum, maximum, minItems, maxItems }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

const CallerId = Text({ minLength: 1, maxLength: LIMITS.callerIdCharacters });
const Metadata = Type.Record(Type.String(), Type.Unknown());

/** Body of createMemory, and an item of batchCreate. */
export const CreateMemory = Type.Object(
  {
    content: Text({ minLength: 1, description: "the text to store" }),
    title: Optional(Text({ minLength: 1, maxLength: LIMITS.titleCharacters })),
    type: Optional(Text({ minLength: 1, maxLength: LIMITS.typeCharacters })),
    tags: Optional(Type.Array(Text({ minLength: 1, maxLength: LIMITS.tagCharacters }))),
    metadata: Optional(Metadata),
    userId: Optional(CallerId),
    language: Optional(Text({ minLength: 1, maxLength: 64 })),
    externalId: Optional(CallerId),
    expires_at: Optional(Text({ minLength: 1, maxLength: 40 })),
  },
  closed,
);
/** A checked body of createMemory. */
export type CreateMemory = Static<typeof CreateMemory>;

/** Body of batchCreate; items are checked one by one, so that one bad item refuses only itself. */
export const BatchCreate = Type.Object({ memories: Type.Array(Type.Unknown(), { minItems: 1 }) }, closed);

/** Query parameters of listMemories. */
export const ListMemories = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: LIMITS.pageItems, default: LIMITS.pageItemsDefault }),
    cursor: Text({ minLength: 1, maxLength: 512 }),
    status: Type.Union([Type.Literal("processing"), Type.Literal("completed"), Type.Literal("failed")]),
    type: Text({ minLength: 1, maxLength: LIMITS.typeCharacters }),
    userId: CallerId,
  },
  closed,
);
/** listMemories with every parameter optional, as callers send it. */
export const ListMemoriesQuery = Type.Partial(ListMemories, closed);

/** Body of searchMemories. */
export const SearchMemories = Type.Object(
  {
    query: Text({ minLength: 1, maxLength: LIMITS.queryCharacters }),
    mode: Optional(Type.Union(MODE_NAMES.map((name) => Type.Literal(name)))),
    limit: Optional(Type.Integer({ minimum: 1, maximum: LIMITS.searchResults })),
    userId: Optional(CallerId),
    filters: Type.Optional(Type.Unknown()),
    includeGraph: Optional(Type.Boolean()),
    explain: Optional(Type.Boolean()),
    min_score: Optional(Type.Number({ minimum: 0, maximum: 1 })),
  },
  closed,
);
/** A checked body of searchMemories. */
export type SearchMemories = Static<typeof SearchMemories>;

/** Operations without query parameters refuse any. */
export const NoQuery = Type.Object({}, closed);
