// Turns checked bodies into drafts and changes of memories, and applies the rules that a schema cannot express.

import { Fault } from "../domain/fault.ts";
import type { JsonObject } from "../domain/json.ts";
import { LIMITS } from "../domain/limits.ts";
import type { MemoryChange, MemoryDraft } from "../domain/memory.ts";
import {
  type AttributeType,
  type AttributeValues,
  type ChangedAttributes,
  type GivenAttributes,
  INPUT_ATTRIBUTES,
} from "../domain/memory-attributes.ts";
import { isDateOnly, parseIsoTime } from "../kit/clock.ts";
import { isTimeZone, offsetIn } from "../kit/time-zone.ts";
import type { Incoming } from "../services/intake.ts";
import type { AskedAt } from "../services/search.ts";
import type { JsonValue } from "./schema/attributes.ts";
import type { CreateMemory, UpdateMemory } from "./schema/memories.ts";

/**
 * Converts a createMemory body to a draft.
 * @param at path of the body in the request (`memories[3]`), for the error's `param`
 * @throws Fault `invalid_request` if a field has an invalid value; `too_many_tags`; `metadata_too_large`
 */
export function draftOf(body: CreateMemory, nowMs: number, at = ""): Incoming<MemoryDraft> {
  const { content, ...attributes } = body;
  checkContent(content, fieldAt(at, "content"));
  return { content, ...attributesOf(attributes, nowMs, at) };
}

/** Converts the attributes of a new memory; null and an empty text count as absent. Throws the faults of `draftOf`. */
export function attributesOf(body: Omit<CreateMemory, "content">, nowMs: number, at = ""): GivenAttributes {
  const given = Object.entries(body).filter(([, value]) => value !== null && value !== "");
  return changedAttributes(Object.fromEntries(given), nowMs, at) as GivenAttributes;
}

/**
 * Converts an updateMemory body to a change; `null` clears a field.
 * @throws Fault `invalid_request` (also for a body without fields), `too_many_tags` or `metadata_too_large`.
 */
export function changeOf(body: UpdateMemory, nowMs: number): Incoming<MemoryChange> {
  const { content, ...attributes } = body;
  refuseEmptyChange(body);
  if (content !== undefined) checkContent(content, "content");
  return { ...(content !== undefined && { content }), ...changedAttributes(attributes, nowMs, "") };
}

/** The values of a body that are given, checked and converted; null stays null. */
function changedAttributes(body: Omit<UpdateMemory, "content">, nowMs: number, at: string): ChangedAttributes {
  const entries = INPUT_ATTRIBUTES.flatMap(({ name, property, type }) => {
    const value = body[name];
    if (value === undefined) return [];
    const convert = CONVERSIONS[type] as (value: unknown, param: string, nowMs: number) => unknown;
    return [[property, value === null ? null : convert(value, fieldAt(at, name), nowMs)]];
  });
  const { occurred_at } = body;
  return { ...Object.fromEntries(entries), ...(occurred_at !== undefined && { occurredAtGiven: occurred_at }) };
}

const same = <Value>(value: Value) => value;
/** Checks and converts a value by the type of its attribute. */
const CONVERSIONS: {
  readonly [Type in AttributeType]: (value: JsonValue<Type>, param: string, nowMs: number) => AttributeValues[Type];
} = {
  text: same,
  id: same,
  language: checkLanguage,
  texts: checkTags,
  object: checkMetadata,
  time: checkTime,
  future: (text, param, nowMs) => checkFuture(text, nowMs, param),
};

/**
 * Checks metadata: its size, and that no key begins with `_`. Search results use such keys for their own fields.
 * @throws Fault `metadata_too_large` or `invalid_request`.
 */
export function checkMetadata(metadata: JsonObject, param: string): JsonObject {
  const checked = checkJsonSize(metadata, LIMITS.metadataBytes, param);
  const reserved = Object.keys(metadata).find((name) => name.startsWith("_"));
  if (reserved === undefined) return checked;
  throw new Fault(
    "invalid_request",
    `'${param}.${reserved}': keys that begin with '_' are reserved for search results.`,
    {
      param: `${param}.${reserved}`,
    },
  );
}

/** Returns `value`. @throws Fault `metadata_too_large` if its compact JSON has more than `bytesMax` bytes */
export function checkJsonSize(value: JsonObject, bytesMax: number, param: string): JsonObject {
  const bytes = Buffer.byteLength(JSON.stringify(value), "utf8");
  if (bytes <= bytesMax) return value;
  throw new Fault(
    "metadata_too_large",
    `'${param}' is ${bytes} bytes as compact JSON; at most ${bytesMax} are stored.`,
    {
      param,
    },
  );
}

/** Refuses an update without fields. @throws Fault `invalid_request` */
export function refuseEmptyChange(body: object): void {
  if (Object.keys(body).length === 0) throw new Fault("invalid_request", "Name at least one field to change.");
}

/**
 * Refuses a text that consists of white space only.
 * @param hint what the field should hold, for the message.
 * @throws Fault `invalid_request`
 */
export function checkNotBlank(text: string, param: string, hint: string): void {
  if (text.trim() === "") throw blank(param, hint);
}

/** A question needs at least one of these: a letter, a digit, or a symbol such as an emoji. */
const ASKS = /[\p{L}\p{N}\p{S}]/u;

/**
 * Refuses a question of invisible or punctuation characters only.
 * @param hint what the field should hold, for the message.
 * @throws Fault `invalid_request`
 */
export function checkAsks(text: string, param: string, hint: string): void {
  if (!ASKS.test(text)) throw blank(param, hint);
}

function blank(param: string, hint: string): Fault {
  return new Fault("invalid_request", `'${param}' is blank: ${hint}.`, { param });
}

/** Parses a time in the future to Unix milliseconds. @throws Fault `invalid_request` for anything else. */
export function checkFuture(text: string, nowMs: number, param: string): number {
  const time = isDateOnly(text) ? null : parseIsoTime(text);
  if (time === null) {
    throw new Fault("invalid_request", `'${param}' must be an ISO 8601 time such as "2030-01-31T12:00:00Z".`, {
      param,
    });
  }
  if (time <= nowMs) throw new Fault("invalid_request", `'${param}' is in the past.`, { param });
  return time;
}

/** The range of times that a request can name, in Unix milliseconds: the years 0001 to 9999, in UTC. */
const TIME_MIN = Date.parse("0001-01-01T00:00:00.000Z");
const TIME_MAX = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Parses a time, in the past or in the future, to Unix milliseconds. A date without a time is its first instant in UTC.
 * @throws Fault `invalid_request` for anything else, and for a time outside the years 0001 to 9999
 */
export function checkTime(text: string, param: string): number {
  const time = parseIsoTime(text);
  if (time !== null && time >= TIME_MIN && time <= TIME_MAX) return time;
  throw new Fault(
    "invalid_request",
    `'${param}' must be an ISO 8601 time such as "2026-01-31T12:00:00Z", or a date such as "2026-01-31", from the year 0001 to 9999.`,
    { param },
  );
}

/** Returns `name`. @throws Fault `invalid_request` if it is not the IANA name of a time zone */
export function checkTimeZone(name: string, param: string): string {
  if (isTimeZone(name)) return name;
  throw new Fault(
    "invalid_request",
    `'${param}' must be the IANA name of a time zone, such as "Europe/Zurich", found "${name}".`,
    { param },
  );
}

/**
 * When and in which time zone a question is asked.
 * @param at path of the fields in the request (`mneme`), for the error's `param`
 * @throws Fault `invalid_request`
 */
export function askedAt(
  { asOf, time_zone }: { readonly asOf?: string | null; readonly time_zone?: string | null },
  at = "",
): AskedAt {
  const named = time_zone == null ? null : checkTimeZone(time_zone, fieldAt(at, "time_zone"));
  const timeZone = named ?? (asOf == null ? null : offsetIn(asOf));
  return {
    ...(asOf != null && { asOf: checkTime(asOf, fieldAt(at, "asOf")), isDay: isDateOnly(asOf) }),
    ...(timeZone !== null && { timeZone }),
  };
}

/** The optional `knownAt` of a request, parsed. @throws Fault `invalid_request` if it is no time */
export function knownAtOf({ knownAt }: { readonly knownAt?: string | null | undefined }): {
  readonly knownAt?: number;
} {
  return knownAt == null ? {} : { knownAt: checkTime(knownAt, "knownAt") };
}

function checkContent(content: CreateMemory["content"], param: string): void {
  // a long text is never blank
  if (typeof content === "string") checkNotBlank(content, param, "give the text to store");
}

function checkTags(tags: readonly string[], param: string): readonly string[] {
  if (tags.length <= LIMITS.tagsPerMemory) return tags;
  throw new Fault("too_many_tags", `A memory holds at most ${LIMITS.tagsPerMemory} tags, found ${tags.length}.`, {
    param,
  });
}

function checkLanguage(language: string, param: string): string {
  try {
    return Intl.getCanonicalLocales(language)[0] ?? language;
  } catch (cause) {
    throw new Fault(
      "invalid_request",
      `'${param}' must be a BCP 47 tag such as "en" or "pt-BR", found "${language}".`,
      {
        param,
        cause,
      },
    );
  }
}

function fieldAt(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}
