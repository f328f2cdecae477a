// Building blocks of the API's schemas: objects that refuse unknown fields, optional and nullable fields, lists, and
// fields that several resources share. Types, validation and the OpenAPI document all derive from these schemas.

import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import { ObjectOfAnything, Text } from "../check.ts";

/** Objects in requests refuse unknown fields. If a misspelt scope or filter were silently ignored, data would leak. */
const closed = { additionalProperties: false } as const;

/** An object in a request, which can have only these fields. */
export function Body<P extends TProperties>(properties: P) {
  return Type.Object(properties, closed);
}

/** Query parameters that are all optional. None can be null. */
export function Query<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties), closed);
}

/** Query parameters, some of them required. */
export function QueryWith<R extends TProperties, P extends TProperties>(required: R, optional: P) {
  return Type.Object({ ...required, ...Query(optional).properties }, closed);
}

/** An operation without query parameters. */
export const NoQuery = Query({});

/** An optional field of a request. The operation decides whether `null` means "absent" or "clear it". */
export function Optional<S extends TSchema>(schema: S) {
  return Type.Optional(Nullable(schema));
}

/**
 * A value or null. The schema repeats type and bounds of the value outside of the union, so that error messages can
 * name them.
 */
export function Nullable<S extends TSchema>(schema: S) {
  const { type, minLength, maxLength, minimum, maximum, minItems, maxItems, description } = schema;
  const shown = { type, minLength, maxLength, minimum, maximum, minItems, maxItems, description };
  return Type.Union(
    [schema, Type.Null()],
    Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
  );
}

/** A string that must be one of these names. */
export function OneOf<const Names extends readonly string[]>(names: Names, description?: string) {
  return Type.Unsafe<Names[number]>(
    Type.Union(
      names.map((name) => Type.Literal(name)),
      description === undefined ? {} : { description },
    ),
  );
}

/** A schema with another description. */
export function described<S extends TSchema>(schema: S, description: string): S {
  return { ...schema, description };
}

/** One page of a list. @param name of the schema in the OpenAPI document */
export function ListOf<Item extends TSchema>(name: string, item: Item) {
  return Type.Object(
    {
      data: Type.Array(item),
      has_more: Type.Boolean(),
      cursor: Nullable(Text({ description: "pass it to the next request; null on the last page" })),
    },
    { $id: name },
  );
}

/** A time in an answer: ISO 8601 in UTC with milliseconds. */
export const Time = Type.Unsafe<string>({ ...Text({ description: "ISO 8601, UTC" }), format: "date-time" });
/** A time in the future, in a request; `checkFuture` in drafts.ts parses it. */
export function FutureTime(description: string) {
  return Type.Unsafe<string>({
    ...Text({ minLength: 1, maxLength: LIMITS.timeCharacters, description }),
    format: "date-time",
  });
}

/** A time or a date in a request; `checkTime` in drafts.ts parses it. */
export function AnyTime(description: string) {
  return Text({ minLength: 1, maxLength: LIMITS.timeCharacters, description });
}

/** The time at which a question is asked. */
export const AsOf = AnyTime(
  "ISO 8601 time, or a date: when the question is asked, so that `last week` is counted from there; default: now. Its offset is the zone of the days if `time_zone` is absent",
);

/** The earlier time whose state of memories is shown. */
export const KnownAt = AnyTime(
  "ISO 8601 time: only memories that were accepted by then, with their texts and relations of then; all else is as today, and deleted memories are absent. At most `retention_days` back",
);

/** A time zone; `checkTimeZone` in drafts.ts checks it. */
export function TimeZone(description: string) {
  return Text({ minLength: 1, maxLength: LIMITS.timeZoneCharacters, description });
}

/** The time zone of a question. */
export const AskedTimeZone = TimeZone(
  "IANA name, such as `Europe/Zurich`: the zone in which times in the question are read; default: the offset in `asOf`, else the zone of the user, else that of the project, else UTC",
);

/** Query parameters of every list. */
export const paging = {
  limit: Type.Integer({ minimum: 1, maximum: LIMITS.pageItems, default: LIMITS.pageItemsDefault }),
  // The length is not limited here, so that every text that is not a cursor, even an empty or long one, is refused with
  // `invalid_cursor`.
  cursor: Text({ description: "`cursor` of the previous page" }),
};
/** An id that the caller's application chose. */
export const CallerId = Text({ minLength: 1, maxLength: LIMITS.callerIdCharacters });
/** A JSON object with arbitrary fields. */
export const JsonMap = ObjectOfAnything();
/** A retrieval mode. */
export const Mode = OneOf(
  MODE_NAMES,
  "signals of the search, fastest mode first: `fast` vectors; `hybrid` vectors and full text; `balanced` also the reranker; `precise` also the graph; default: the project's `default_mode`, which is `balanced` unless it is set",
);
/** A filter, as the reference describes it; domain/filter.ts parses it. */
export const Filters = Type.Unsafe<unknown>({
  ...Type.Unknown(),
  type: "object",
  description: 'conditions on attributes and metadata, such as {"tags": "invoice", "metadata.year": {"$gte": 2024}}',
});
/** Maximum number of passages of an answer. */
export const MaxSources = Type.Integer({
  minimum: 1,
  maximum: LIMITS.sources,
  description: `default ${LIMITS.sourcesDefault}`,
});
/** Instructions for the answer. */
export const Instructions = Text({
  minLength: 1,
  maxLength: LIMITS.instructionsCharacters,
  description: "for the language model; no effect without one",
});
