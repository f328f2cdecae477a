// The attributes of memories (domain/memory-attributes.ts) as columns of the table `memories`: types, values, and the
// fragments of SQL that name all of them.

import {
  ATTRIBUTES,
  type AttributeName,
  type AttributeType,
  type ColumnName,
  GIVEN_ATTRIBUTES,
  type GivenAttribute,
  type MemoryAttribute,
  type MemoryAttributes,
  type NamedAttribute,
  type ServerAttribute,
  type TypeOf,
} from "../../domain/memory-attributes.ts";
import { parseJson } from "../../kit/exact-json.ts";

/** Value of a column: times are integers, lists and objects are JSON. */
type Stored<Name extends AttributeName> = TypeOf<Name> extends "time" | "future" ? bigint : string;
/** The attributes in a row. `user_id` is read from the table `users`. */
export type AttributeColumns = {
  readonly [Name in AttributeName as ColumnName<Name>]: Name extends ServerAttribute
    ? Stored<Name>
    : Stored<Name> | null;
};
/** An attribute that callers can set and that the table `memories` has itself. */
type OwnAttribute = Exclude<GivenAttribute, "userId">;
/** The columns about the current text of a row: its number, when it replaced another one, and the key that sent it. */
export type TextColumns = {
  readonly text_version: bigint;
  readonly text_since: bigint | null;
  readonly text_by: string | null;
};
/** The columns that callers can set: attributes, which of the extractable ones were given, user, and text. */
export type GivenColumns = Pick<AttributeColumns, ColumnName<OwnAttribute>> &
  TextColumns & {
    readonly title_folded: string | null;
    readonly given: string;
    readonly user_key: bigint | null;
  };

/** The attributes that callers can set, except the user. */
export const OWN_ATTRIBUTES = GIVEN_ATTRIBUTES.filter(
  (attribute): attribute is NamedAttribute<OwnAttribute> => attribute.property !== "userId",
).map(({ property, column, type, setBy }) => ({ property, column, type, setBy })); // equal shapes are read faster
/** The columns that callers can set, for INSERT and UPDATE, with their types in PostgreSQL. */
export const GIVEN_COLUMNS: readonly { readonly name: keyof GivenColumns; readonly type: "text" | "bigint" }[] = [
  ...OWN_ATTRIBUTES.map(({ column, type }) => ({ name: column, type: isTime(type) ? "bigint" : "text" }) as const),
  { name: "title_folded", type: "text" },
  { name: "given", type: "text" },
  { name: "user_key", type: "bigint" },
  { name: "text_version", type: "bigint" },
  { name: "text_since", type: "bigint" },
  { name: "text_by", type: "text" },
];
/** Names of the columns that callers can set, for INSERT. */
export const GIVEN_NAMES = GIVEN_COLUMNS.map(({ name }) => name).join(", ");
/** Parameters with the values of these columns. */
export const GIVEN_PARAMETERS = GIVEN_COLUMNS.map(({ name }) => `$${name}`).join(", ");
/** Assignments of these parameters. */
export const SET_GIVEN = GIVEN_COLUMNS.map(({ name }) => `${name} = $${name}`).join(", ");

/** The id of a memory's user. */
export const USER_ID = "(SELECT users.id FROM users WHERE users.user_key = memories.user_key)";
/** The columns with attributes, for SELECT and RETURNING. */
export const ATTRIBUTE_COLUMNS = ATTRIBUTES.map(({ property, column }) =>
  property === "userId" ? `${USER_ID} AS ${column}` : `memories.${column}`,
).join(", ");

const READ = ATTRIBUTES.map(({ property, column, type }) => ({
  property,
  column,
  isTime: isTime(type),
  isJson: isJson(type),
}));

/** The attributes of a row. */
export function attributesIn(row: AttributeColumns): MemoryAttributes {
  const attributes: Partial<Record<AttributeName, unknown>> = {};
  for (const { property, column, isTime, isJson } of READ) {
    const value = row[column];
    if (value === null || (!isTime && !isJson)) attributes[property] = value;
    else attributes[property] = isTime ? Number(value) : parseJson(value as string);
  }
  return attributes as MemoryAttributes;
}

/** The value of a column for a value of an attribute. */
export function toColumn({ type }: Pick<MemoryAttribute, "type">, value: unknown): string | bigint {
  if (isTime(type)) return BigInt(value as number);
  return isJson(type) ? JSON.stringify(value) : (value as string);
}

/** Whether columns have values of a type as JSON. */
export function isJson(type: AttributeType): boolean {
  return type === "texts" || type === "object";
}

/** Whether columns have values of a type as integers. */
export function isTime(type: AttributeType): boolean {
  return type === "time" || type === "future";
}
