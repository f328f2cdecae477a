// The building blocks of the contract's schemas: closed objects, fields that may be left out, lists, and the fields that
// several resources share. Types, validation and the OpenAPI document all come from what is built of these.

import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import type { JsonObject } from "../../domain/memory.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import { Text } from "../check.ts";

/** Unknown fields are refused: a silently dropped scope or filter leaks data. */
const closed = { additionalProperties: false } as const;

/** An object of a request: exactly these fields. */
export function Body<P extends TProperties>(properties: P) {
  return Type.Object(properties, closed);
}

/** Query parameters: each may be left out, none may be null. */
export function Query<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties), closed);
}

/** Query parameters of which those in `required` must be there. */
export function QueryWith<R extends TProperties, P extends TProperties>(required: R, optional: P) {
  return Type.Object({ ...required, ...Query(optional).properties }, closed);
}

/** An operation without query parameters. */
export const NoQuery = Query({});

/** A field of a request that may be left out; what `null` means (left out, or cleared) is the operation's business. */
export function Optional<S extends TSchema>(schema: S) {
  return Type.Optional(Nullable(schema));
}

/** A value or null. The bounds stand outside as well, so that an error message can name them. */
export function Nullable<S extends TSchema>(schema: S) {
  const { type, minLength, maxLength, minimum, maximum, minItems, maxItems, description } = schema;
  const shown = { type, minLength, maxLength, minimum, maximum, minItems, maxItems, description };
  return Type.Union(
    [schema, Type.Null()],
    Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
  );
}

/** One of these texts. */
export function OneOf<const Names extends readonly string[]>(names: Names, description?: string) {
  return Type.Unsafe<Names[number]>(
    Type.Union(
      names.map((name) => Type.Literal(name)),
      description === undefined ? {} : { description },
    ),
  );
}

/** A list of the interface, under a name of its own in the documentation. */
export function ListOf<Item extends TSchema>(name: string, item: Item) {
  return Type.Object(
    {
      data: Type.Array(item),
      has_more: Type.Boolean(),
      cursor: Nullable(Text({ description: "pass it to the next request; null at the end" })),
    },
    { $id: name },
  );
}

/** ISO 8601 in UTC with milliseconds. */
export const Time = Type.Unsafe<string>({ ...Text({ description: "ISO 8601, UTC" }), format: "date-time" });
/** A time to come, in a request; read by drafts.ts. */
export function TimeToCome(description: string) {
  return Type.Unsafe<string>({ ...Text({ minLength: 1, maxLength: 40, description }), format: "date-time" });
}

/** Fields of every query that asks for a page. */
export const paging = {
  limit: Type.Integer({ minimum: 1, maximum: LIMITS.pageItems, default: LIMITS.pageItemsDefault }),
  // without bounds: whatever no page gave is `invalid_cursor`, an empty text and a long one too
  cursor: Text({ description: "of the page before" }),
};
/** An id that the caller's application chose. */
export const CallerId = Text({ minLength: 1, maxLength: LIMITS.callerIdCharacters });
/** Arbitrary JSON under names. */
export const JsonMap = Type.Unsafe<JsonObject>(Type.Record(Type.String(), Type.Unknown()));
/** A retrieval mode. */
export const Mode = OneOf(MODE_NAMES, "trades speed against quality; balanced when it is left out");
/** See the filter language in the documentation; checked by domain/filter.ts. */
export const Filters = Type.Unsafe<unknown>({
  ...Type.Unknown(),
  type: "object",
  description: 'conditions on attributes and metadata, such as {"tags": "invoice", "metadata.year": {"$gte": 2024}}',
});
/** Passages of a query or message, at most. */
export const MaxSources = Type.Integer({ minimum: 1, maximum: LIMITS.sources, description: "8 when it is left out" });
/** What the answer should heed beside the sources. */
export const Instructions = Text({
  minLength: 1,
  maxLength: LIMITS.instructionsCharacters,
  description: "for the language model; without one they have no effect",
});
