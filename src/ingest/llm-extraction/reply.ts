// Parses the reply of a language model, tolerantly: models wrap JSON in prose and code fences, add trailing commas and
// omit fields. Each value must be within our own limits; invalid values are dropped.

import { DETECTED_TYPES, EXTRACTED_TAGS_MAX } from "../../domain/extraction.ts";
import type { Json } from "../../domain/json.ts";
import type { ExtractedField } from "../../domain/memory-attributes.ts";
import { shortTitle } from "../../domain/title.ts";
import { parsedJson } from "../../kit/record.ts";
import type { Entity, Fact, LlmExtraction } from "../../ports/llm-extraction-store.ts";
import { GRAPH_ITEMS_MAX } from "./prompt.ts";

/** Maximum number of characters of a tag, and of an entity's name or a part of a fact. */
const TAG_CHARACTERS_MAX = 48;
const NAME_CHARACTERS_MAX = 128;
/** Titles with more characters than this are dropped, because they are texts and not titles. */
const TITLE_CHARACTERS_MAX = 500;
/** Maximum number of opening braces at which the parser tries to read an object. */
const OBJECTS_TRIED_MAX = 8;

/** A usable reply. */
export interface ParsedReply {
  /** At least one of the requested attributes, and the entities and facts. */
  readonly extraction: LlmExtraction;
}

/** A reply without any usable attribute. */
export interface UnusableReply {
  /** The end of the sentence "That was of no use: …" in the repair prompt. */
  readonly problem: string;
}

/** Parses a reply to the prompt for `missing`. Linear in the length of `text`. */
export function parseReply(text: string, missing: readonly ExtractedField[]): ParsedReply | UnusableReply {
  const object = objectIn(text);
  if (object === null) return { problem: "it contains no complete JSON object" };
  const attributes: Omit<LlmExtraction, "entities" | "facts"> = Object.fromEntries(
    missing.flatMap((field) => {
      const value = object[field] === undefined ? null : PARSERS[field](object[field]);
      return value === null ? [] : [[field, value]];
    }),
  );
  if (Object.keys(attributes).length === 0) {
    return { problem: `no field of ${missing.join(", ")} has a valid value` };
  }
  const graph = { entities: entitiesOf(object.entities), facts: factsOf(object.relations) };
  return { extraction: { ...attributes, ...graph } };
}

type JsonFields = { readonly [name: string]: Json | undefined };

/** Parsers of attribute values. They return null for an invalid value. */
const PARSERS: Readonly<Record<ExtractedField, (value: Json) => string | readonly string[] | null>> = {
  title: (value) => {
    const title = shortTitle(plain(value, TITLE_CHARACTERS_MAX).replace(/^["'“”«»*#\s]+|["'“”«»*\s]+$/gu, ""));
    return /[\p{L}\p{N}]/u.test(title) ? title : null;
  },
  type: (value) => DETECTED_TYPES.find((type) => type === plain(value, NAME_CHARACTERS_MAX).toLowerCase()) ?? null,
  tags: (value) => {
    const given = typeof value === "string" ? value.split(/[,;\n]/, 4 * EXTRACTED_TAGS_MAX) : listOf(value);
    const tags = given.map((tag) =>
      plain(tag, TAG_CHARACTERS_MAX)
        .replace(/^#+\s*/, "")
        .toLowerCase(),
    );
    const distinct = new Set(tags.filter((tag) => /[\p{L}\p{N}]/u.test(tag)));
    return distinct.size === 0 ? null : [...distinct].slice(0, EXTRACTED_TAGS_MAX);
  },
  language: (value) => {
    const tag = plain(value, 64).replaceAll("_", "-");
    // A language tag starts with two or three letters. This excludes words such as "english", which are well-formed
    // tags too.
    if (!/^[a-z]{2,3}(?:-|$)/i.test(tag)) return null;
    try {
      return Intl.getCanonicalLocales(tag)[0] ?? null;
    } catch {
      return null;
    }
  },
};

function entitiesOf(value: Json | undefined): readonly Entity[] {
  return listOf(value).flatMap((item) => {
    const fields = typeof item === "string" ? { name: item } : fieldsOf(item);
    const entity = { name: plain(fields.name, NAME_CHARACTERS_MAX), type: plain(fields.type, NAME_CHARACTERS_MAX) };
    return entity.name === "" ? [] : [entity];
  });
}

function factsOf(value: Json | undefined): readonly Fact[] {
  return listOf(value).flatMap((item) => {
    const fields = fieldsOf(item);
    const part = (name: string) => plain(fields[name], NAME_CHARACTERS_MAX);
    const fact = { subject: part("subject"), predicate: part("predicate"), object: part("object") };
    return Object.values(fact).includes("") ? [] : [fact];
  });
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value.slice(0, 4 * GRAPH_ITEMS_MAX) : [];
}

function fieldsOf(value: Json | undefined): JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonFields) : {};
}

/**
 * A string on one line, without control characters and lone surrogates. Empty if `value` is not a string or too long.
 */
function plain(value: Json | undefined, charactersMax: number): string {
  if (typeof value !== "string") return "";
  const line = value
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line.length > charactersMax ? "" : line;
}

/** The first JSON object after a model's reasoning that can be parsed; null if there is none. */
function objectIn(text: string): JsonFields | null {
  const answer = text.slice(text.lastIndexOf("</think>") + 1);
  let from = answer.indexOf("{");
  for (let tried = 0; from !== -1 && tried < OBJECTS_TRIED_MAX; tried++) {
    const end = objectEnd(answer, from);
    if (end === -1) return null; // objects inside a truncated object are not the answer
    const json = answer.slice(from, end);
    const value = (parsedJson(json) ?? parsedJson(repaired(json))) as Json | undefined;
    if (value !== undefined) return fieldsOf(value);
    from = answer.indexOf("{", end);
  }
  return null;
}

/** Exclusive end of the object that begins at `from`; -1 if the object is incomplete. */
function objectEnd(text: string, from: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = from; at < text.length; at++) {
    const unit = text[at];
    if (isInString && unit === "\\") at++;
    else if (unit === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (unit === "{") depth++;
    else if (unit === "}") {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Removes trailing commas, and replaces control characters inside strings (line ends, tabs) by spaces. */
function repaired(json: string): string {
  return json.replace(/"(?:[^"\\]|\\[\s\S])*"|,(?=\s*[}\]])/g, (part) =>
    part === "," ? "" : part.replace(/\p{Cc}/gu, " "),
  );
}
