// The attributes of memories (domain/memory-attributes.ts) in requests and answers.

import { type TNull, type TOptional, type TSchema, type TUnion, type TUnsafe, Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import {
  type ApiName,
  ATTRIBUTES,
  type AttributeName,
  type AttributesWith,
  type AttributeType,
  type AttributeValues,
  INPUT_ATTRIBUTES,
  type InputAttribute,
  type MemoryAttribute,
  type ScopeName,
  type TypeOf,
} from "../../domain/memory-attributes.ts";
import { Text } from "../check.ts";
import { AnyTime, FutureTime, JsonMap, Nullable, Optional, Time } from "./fields.ts";

/** Value of a type of attributes in JSON: times are ISO 8601. */
export type JsonValue<Type extends AttributeType> = Type extends "time" | "future" ? string : AttributeValues[Type];
/** Value of an attribute in the JSON of a memory. An absent `metadata` is an empty object. */
export type ShownValue<Name extends AttributeName> =
  | JsonValue<TypeOf<Name>>
  | (Name extends AttributesWith<{ readonly setBy: "server" }> | "metadata" ? never : null);

type GivenSchema<Name extends AttributeName> = TUnsafe<JsonValue<TypeOf<Name>>>;
type OrNull<Schema extends TSchema> = TUnion<[Schema, TNull]>;

/** A schema of each of these attributes, by its name in the API. */
function perAttribute(attributes: readonly MemoryAttribute[], schemaOf: (attribute: MemoryAttribute) => TSchema) {
  return Object.fromEntries(attributes.map((attribute) => [attribute.name, schemaOf(attribute)]));
}

/** A value that a caller gives as JSON. */
function given({ type, charactersMax = 0, meaning, otherwise }: MemoryAttribute): TSchema {
  const description = [meaning, otherwise && `default: ${otherwise}`].filter((part) => part !== undefined).join("; ");
  const described = description === "" ? {} : { description };
  switch (type) {
    case "texts":
      return Type.Array(Text({ minLength: 1, maxLength: charactersMax }), described);
    case "object":
      return { ...JsonMap, ...described };
    case "time":
      return AnyTime(description);
    case "future":
      return FutureTime(description);
    default:
      return Text({ minLength: 1, maxLength: charactersMax, ...described });
  }
}

/** A value that a caller gives in a form. An empty text counts as absent. */
function formField(attribute: MemoryAttribute): TSchema {
  switch (attribute.type) {
    case "texts":
      return Text({ description: "a JSON array of texts" });
    case "object":
      return Text({ description: "a JSON object" });
    case "id":
      return given(attribute);
    default:
      return Text({ maxLength: attribute.charactersMax ?? LIMITS.timeCharacters });
  }
}

/** A value in an answer, if there is one. */
function value({ type }: MemoryAttribute): TSchema {
  switch (type) {
    case "object":
      return JsonMap;
    case "texts":
      return Type.Array(Text());
    case "time":
    case "future":
      return Time;
    default:
      return Text();
  }
}

/** A value in answers that name every attribute: null if the memory has no value for it. */
function shown(attribute: MemoryAttribute): TSchema {
  const isNullable = attribute.setBy !== "server" && attribute.type !== "object";
  return isNullable ? Nullable(value(attribute)) : value(attribute);
}

const SCOPES = ATTRIBUTES.filter(({ isScope }) => isScope);
const RESULTS = ATTRIBUTES.filter(({ inResults }) => inResults !== "never");

/** Attributes in the body of a request. */
export const givenAttributes = perAttribute(INPUT_ATTRIBUTES, (attribute) => Optional(given(attribute))) as {
  readonly [Name in InputAttribute as ApiName<Name>]: TOptional<OrNull<GivenSchema<Name>>>;
};
/** Attributes in a form. */
export const formAttributes = perAttribute(INPUT_ATTRIBUTES, (attribute) => Type.Optional(formField(attribute))) as {
  readonly [Name in InputAttribute as ApiName<Name>]: TOptional<TUnsafe<string>>;
};
/** User, agent and session to which a request is limited, as parameters of a query. */
export const scopeParameters = perAttribute(SCOPES, given) as { readonly [Name in ScopeName]: TUnsafe<string> };
/** User, agent and session to which a request is limited, in its body. */
export const scopeFields = perAttribute(SCOPES, (attribute) => Optional(given(attribute))) as {
  readonly [Name in ScopeName]: TOptional<OrNull<TUnsafe<string>>>;
};
/** Attributes of a memory in answers. */
export const shownAttributes = perAttribute(ATTRIBUTES, shown) as {
  readonly [Name in AttributeName as ApiName<Name>]: TUnsafe<ShownValue<Name>>;
};
/** Attributes of a memory in answers that leave out those without a value. */
export const presentAttributes = perAttribute(ATTRIBUTES, (attribute) =>
  Type.Optional({ ...value(attribute), ...(attribute.meaning !== undefined && { description: attribute.meaning }) }),
) as { readonly [Name in AttributeName as ApiName<Name>]: TOptional<TUnsafe<NonNullable<ShownValue<Name>>>> };
/** User, agent and session of a chat in answers. */
export const shownScope = perAttribute(SCOPES, shown) as { readonly [Name in ScopeName]: TUnsafe<string | null> };
/** Attributes of the memory of a search result. */
export const resultAttributes = perAttribute(RESULTS, (attribute) =>
  attribute.inResults === "always" ? shown(attribute) : Type.Optional(shown(attribute)),
) as {
  readonly [Name in AttributesWith<{ readonly inResults: "always" }> as ApiName<Name>]: TUnsafe<ShownValue<Name>>;
} & {
  readonly [Name in AttributesWith<{ readonly inResults: "since later" }> as ApiName<Name>]: TOptional<
    TUnsafe<ShownValue<Name>>
  >;
};
