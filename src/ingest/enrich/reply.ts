// What a language model's reply says. Models wrap JSON in prose and fences, end lists with commas and leave fields out:
// what can be understood is taken, each value is held to our own limits, and the rest is as if it had not been said.

import { DETECTED_TYPES, EXTRACTED_TAGS_MAX } from "../../domain/extraction.ts";
import type { Extracted, ExtractedField, Json } from "../../domain/memory.ts";
import { shortTitle } from "../../domain/title.ts";
import type { Entity, LlmExtraction, Relation } from "../../ports/llm-extraction-store.ts";
import { GRAPH_ITEMS_MAX } from "./question.ts";

/** Characters of a tag, of an entity's name and of a relation's parts at most. */
const TAG_CHARACTERS_MAX = 48;
const NAME_CHARACTERS_MAX = 128;
/** Characters of what a model calls a title at most: longer ones are texts. */
const TITLE_CHARACTERS_MAX = 500;
/** Places in a reply where an object could begin that are looked at. */
const OBJECTS_TRIED_MAX = 8;

/** What a reply says. */
export interface Reply {
  /** At least one of the attributes that were asked for, and the entities and relations. */
  readonly extraction: LlmExtraction;
}

/** A reply of which nothing can be used; `problem` completes "that was of no use: …". */
export interface UselessReply {
  readonly problem: string;
}

/** Reads a reply to a question for `missing`. Linear in its length. */
export function readReply(text: string, missing: readonly ExtractedField[]): Reply | UselessReply {
  const object = objectIn(text);
  if (object === null) return { problem: "it holds no whole JSON object" };
  const attributes: Partial<Extracted> = Object.fromEntries(
    missing.flatMap((field) => {
      const value = object[field] === undefined ? null : READ[field](object[field]);
      return value === null ? [] : [[field, value]];
    }),
  );
  if (Object.keys(attributes).length === 0) {
    return { problem: `no field of ${missing.join(", ")} has a value that holds` };
  }
  const graph = { entities: entitiesOf(object.entities), relations: relationsOf(object.relations) };
  return { extraction: { ...attributes, ...graph } };
}

type JsonFields = { readonly [name: string]: Json | undefined };

const READ: Readonly<Record<ExtractedField, (value: Json) => string | readonly string[] | null>> = {
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
    // two or three letters first: "english" would be well-formed, too
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

function relationsOf(value: Json | undefined): readonly Relation[] {
  return listOf(value).flatMap((item) => {
    const fields = fieldsOf(item);
    const part = (name: string) => plain(fields[name], NAME_CHARACTERS_MAX);
    const relation = { subject: part("subject"), predicate: part("predicate"), object: part("object") };
    return Object.values(relation).includes("") ? [] : [relation];
  });
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value.slice(0, 4 * GRAPH_ITEMS_MAX) : [];
}

function fieldsOf(value: Json | undefined): JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonFields) : {};
}

/** A text on one line, without control characters and lone surrogates; empty for what is no text, or a longer one. */
function plain(value: Json | undefined, charactersMax: number): string {
  if (typeof value !== "string") return "";
  const line = value
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line.length > charactersMax ? "" : line;
}

/** The first object that can be read in a text, after what a model thought aloud; null: there is none. */
function objectIn(text: string): JsonFields | null {
  const said = text.slice(text.lastIndexOf("</think>") + 1);
  let from = said.indexOf("{");
  for (let tried = 0; from !== -1 && tried < OBJECTS_TRIED_MAX; tried++) {
    const end = objectEnd(said, from);
    if (end === -1) return null; // what is inside of an object that was cut off is not the answer
    const json = said.slice(from, end);
    const value = jsonValue(json) ?? jsonValue(mended(json));
    if (value !== undefined) return fieldsOf(value);
    from = said.indexOf("{", end);
  }
  return null;
}

/** Where the object that begins at `from` ends, exclusive; -1: nowhere. */
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

/** Without commas before a closing bracket, and with no line ends and tabs inside strings. */
function mended(json: string): string {
  return json.replace(/"(?:[^"\\]|\\[\s\S])*"|,(?=\s*[}\]])/g, (part) =>
    part === "," ? "" : part.replace(/\p{Cc}/gu, " "),
  );
}

function jsonValue(json: string): Json | undefined {
  try {
    return JSON.parse(json) as Json;
  } catch {
    return undefined;
  }
}
