// The attributes of a memory besides its content. This table is their only description: input, rows, filters, answers
// of the API, exports and tools are derived from it.

import type { JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";

/** The types of attributes, with their values in the code. The API writes times as ISO 8601. */
export interface AttributeValues {
  readonly text: string;
  /** A text that the caller's application chose, such as the id of a user. */
  readonly id: string;
  /** A BCP 47 tag. */
  readonly language: string;
  readonly texts: readonly string[];
  readonly object: JsonObject;
  /** Unix milliseconds. */
  readonly time: number;
  /** Unix milliseconds. When a caller gives it, it must lie in the future. */
  readonly future: number;
}
/** Type of an attribute. */
export type AttributeType = keyof AttributeValues;

/** Description of an attribute. */
export interface MemoryAttribute {
  /** Name in the API. */
  readonly name: string;
  /** Column of the rows of memories. That of `userId` comes from the table `users`. */
  readonly column: string;
  readonly type: AttributeType;
  /** Maximum length of a text, and of each of several texts, in code points. */
  readonly charactersMax?: number;
  /** Maximum number of texts. */
  readonly itemsMax?: number;
  /** Maximum size of an object as compact UTF-8 JSON. */
  readonly bytesMax?: number;
  /**
   * Who sets it. caller: only callers. extraction: ingestion, if no caller does. server: only the server. relations: it
   * follows from the relations of the memory. Callers clear what they can set with null; what the server sets is never
   * null.
   */
  readonly setBy: "caller" | "extraction" | "server" | "relations";
  /** Whether it is a field of requests. `occurredAtGiven` is not: it is taken from `occurredAt`. */
  readonly isInput: boolean;
  /** Whether filters can compare it. They compare parts of `metadata` by paths. */
  readonly isFilterable: boolean;
  /** Whether requests can be limited to the memories with one of its values. */
  readonly isScope: boolean;
  /** Whether search results show it. since later: yes, but message sources that earlier versions stored lack it. */
  readonly inResults: "always" | "since later" | "never";
  /**
   * Whether exports write it. always: also if it is null. since later: only if it has a value, because files of earlier
   * versions lack it. never: other records have it.
   */
  readonly inExports: "always" | "since later" | "never";
  /** Name in the records of exports, if it differs from the API. */
  readonly exportedAs?: string;
  /** Meaning and form, for the reference of the API. */
  readonly meaning?: string;
  /** Value that a memory gets if no caller sets it, for the reference of the API. */
  readonly otherwise?: string;
}

const plain = {
  setBy: "caller",
  isInput: true,
  isFilterable: true,
  isScope: false,
  inResults: "always",
  inExports: "always",
} as const;
const extracted = { ...plain, setBy: "extraction" } as const;
const ofServer = { ...plain, setBy: "server", isInput: false, type: "time" } as const;
const callerId = { ...plain, type: "id", charactersMax: LIMITS.callerIdCharacters } as const;
const scope = { ...callerId, isScope: true, inResults: "since later", inExports: "since later" } as const;

/** All attributes by their names in the code, in the order in which the API lists them. */
export const MEMORY_ATTRIBUTES = {
  title: {
    ...extracted,
    name: "title",
    column: "title",
    type: "text",
    charactersMax: LIMITS.titleCharacters,
    otherwise: "extracted from the text",
  },
  type: {
    ...extracted,
    name: "type",
    column: "type",
    type: "text",
    charactersMax: LIMITS.typeCharacters,
    exportedAs: "kind", // in exports, `type` is the type of the record
    otherwise: "extracted from the text",
  },
  tags: {
    ...extracted,
    name: "tags",
    column: "tags",
    type: "texts",
    charactersMax: LIMITS.tagCharacters,
    itemsMax: LIMITS.tagsPerMemory,
    meaning: `at most ${LIMITS.tagsPerMemory} tags`,
    otherwise: "tags extracted from the text",
  },
  metadata: {
    ...plain,
    name: "metadata",
    column: "metadata",
    type: "object",
    isFilterable: false,
    inResults: "never", // its members stand beside the other attributes
    bytesMax: LIMITS.metadataBytes,
    meaning: `at most ${LIMITS.metadataBytes} bytes as compact JSON; names must not begin with \`_\``,
  },
  userId: { ...scope, name: "userId", column: "user_id", inResults: "always", inExports: "always" },
  agentId: {
    ...scope,
    name: "agentId",
    column: "agent_id",
    meaning: "agent, such as an assistant: a scope beside `userId`",
  },
  sessionId: {
    ...scope,
    name: "sessionId",
    column: "session_id",
    meaning: "session, such as a conversation: a scope beside `userId`",
  },
  language: {
    ...extracted,
    name: "language",
    column: "language",
    type: "language",
    charactersMax: 64,
    meaning: "BCP 47 tag",
    otherwise: "detected in the text",
  },
  externalId: { ...callerId, name: "externalId", column: "external_id", inResults: "never" },
  createdAt: { ...ofServer, name: "created_at", column: "created_at" },
  updatedAt: { ...ofServer, name: "updated_at", column: "updated_at", inResults: "since later" },
  expiresAt: {
    ...plain,
    name: "expires_at",
    column: "expires_at",
    type: "future",
    isFilterable: false,
    inResults: "never",
    meaning: "ISO 8601; from then on the memory behaves as deleted",
  },
  occurredAt: {
    ...plain,
    name: "occurred_at",
    column: "occurred_at",
    type: "time",
    inResults: "since later",
    meaning:
      "ISO 8601 time, or a date, which begins at midnight in the time zone of the user, else of the project: when it happened, as opposed to `created_at`",
  },
  occurredAtGiven: {
    ...plain,
    name: "occurred_at_given",
    column: "occurred_at_given",
    type: "text",
    charactersMax: LIMITS.timeCharacters,
    isInput: false,
    isFilterable: false,
    inResults: "never",
    inExports: "since later",
    meaning: "`occurred_at` as it was sent",
  },
  supersededBy: {
    ...plain,
    setBy: "relations",
    isInput: false,
    name: "superseded_by",
    column: "superseded_by",
    type: "id",
    inResults: "since later",
    inExports: "never",
    meaning: "mem_… of the newest memory that supersedes this one as a whole",
  },
} as const satisfies Readonly<Record<string, MemoryAttribute>>;

type Table = typeof MEMORY_ATTRIBUTES;
/** Name of an attribute in the code. */
export type AttributeName = keyof Table;
/** Names of the attributes whose descriptions have these values. */
export type AttributesWith<Description extends Partial<MemoryAttribute>> = {
  [Name in AttributeName]: Table[Name] extends Description ? Name : never;
}[AttributeName];
/** Name of an attribute that callers can set. */
export type GivenAttribute = AttributesWith<{ readonly setBy: "caller" | "extraction" }>;
/** Name of an attribute that is a field of requests. */
export type InputAttribute = AttributesWith<{ readonly isInput: true }>;
/** Name of an attribute that is extracted if no caller sets it. */
export type ExtractedField = AttributesWith<{ readonly setBy: "extraction" }>;
/** Name of an attribute to whose values requests can be limited. */
export type ScopeName = AttributesWith<{ readonly isScope: true }>;
/** Name of an attribute in the API. */
export type ApiName<Name extends AttributeName> = Table[Name]["name"];
/** Name of an attribute in the rows of memories. */
export type ColumnName<Name extends AttributeName> = Table[Name]["column"];
/** Name of an attribute in the records of exports. */
export type ExportedName<Name extends AttributeName> = Table[Name] extends {
  readonly exportedAs: infer Other extends string;
}
  ? Other
  : ApiName<Name>;
/** Type of an attribute. */
export type TypeOf<Name extends AttributeName> = Table[Name]["type"];
/** Value of an attribute, if it has one. */
export type ValueOf<Name extends AttributeName> = AttributeValues[TypeOf<Name>];

/** Name of an attribute that is never null. */
export type ServerAttribute = AttributesWith<{ readonly setBy: "server" }>;
/** The attributes of a memory. */
export type MemoryAttributes = {
  readonly [Name in AttributeName]: Name extends ServerAttribute ? ValueOf<Name> : ValueOf<Name> | null;
};
/** The attributes that a new memory gets. */
export type GivenAttributes = { readonly [Name in GivenAttribute]?: ValueOf<Name> };
/** New values of attributes: null clears one, and one that is left out stays unchanged. */
export type ChangedAttributes = { readonly [Name in GivenAttribute]?: ValueOf<Name> | null };
/** The user, the agent and the session that something is limited to. One that is left out does not limit it. */
export type MemoryScope = { readonly [Name in ScopeName]?: string };

/** A row of the table, with the name of its attribute in the code. */
export interface NamedAttribute<Name extends AttributeName = AttributeName> extends MemoryAttribute {
  readonly property: Name;
  readonly name: ApiName<Name>;
  readonly column: ColumnName<Name>;
}

/** The rows of the table, in its order. */
export const ATTRIBUTES = Object.entries(MEMORY_ATTRIBUTES).map(
  ([property, row]): NamedAttribute => ({ ...row, property: property as AttributeName }),
);
/** The rows of the attributes that callers can set. */
export const GIVEN_ATTRIBUTES = ATTRIBUTES.filter(
  (row): row is NamedAttribute<GivenAttribute> => row.setBy === "caller" || row.setBy === "extraction",
);
/** The rows of the attributes that are fields of requests. */
export const INPUT_ATTRIBUTES = ATTRIBUTES.filter((row): row is NamedAttribute<InputAttribute> => row.isInput);
/** Names of the attributes that are extracted if no caller sets them. */
export const EXTRACTED_FIELDS = GIVEN_ATTRIBUTES.filter(({ setBy }) => setBy === "extraction").map(
  ({ property }) => property as ExtractedField,
);
/** Names of the attributes to whose values requests can be limited; in the API they are the same. */
export const SCOPE_NAMES = ATTRIBUTES.filter(({ isScope }) => isScope).map(({ property }) => property as ScopeName);

/** The scope that an object names; null counts as absent. */
export function scopeOf(named: { readonly [Name in ScopeName]?: string | null | undefined }): MemoryScope {
  return Object.fromEntries(SCOPE_NAMES.flatMap((name) => (named[name] == null ? [] : [[name, named[name]]])));
}
