// Converts the arguments of a tool to the types of its schema. Language models send numbers, booleans, lists and
// objects as texts, and null or "" for what they leave out. A text stays as it is wherever the tool takes a text.

import type { TObject, TSchema } from "@sinclair/typebox";
import { fits } from "../api/check.ts";
import { isRecord, parsedJson } from "../kit/record.ts";

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;

/**
 * The converted arguments, which `check` can then compare with the schema. What cannot be converted stays as it was
 * sent, so that the error shows it.
 * @param args an object, or its JSON; null and undefined count as an empty object
 */
export function meantArguments(schema: TObject, args: unknown): unknown {
  const given = typeof args === "string" ? parsedJson(args) : (args ?? {});
  if (!isRecord(given)) return args;
  const required = new Set(schema.required ?? []);
  const meant = Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
    const declared = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (declared === undefined) return [[name, value]];
    const read = typeof value === "string" && !takesText(declared, value) ? readText(value) : value;
    return read === null && !required.has(name) && !takesNull(declared) ? [] : [[name, read]];
  });
  return Object.fromEntries(meant);
}

/** Whether a text needs no conversion: the field is a text, or this is one of the names that the field can have. */
function takesText(declared: TSchema, value: string): boolean {
  return declared.type === "string" || (declared.type === undefined && fits(declared, value));
}

function takesNull({ anyOf = [] }: TSchema): boolean {
  return (anyOf as readonly TSchema[]).some(({ type }) => type === "null");
}

/** The value that a text stands for; the text itself if it stands for none. */
function readText(text: string): unknown {
  const trimmed = text.trim();
  if (NUMBER.test(trimmed)) return Number(trimmed);
  if (/^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === "true";
  if (/^(?:null|none)?$/i.test(trimmed)) return null;
  return /^[[{]/.test(trimmed) ? (parsedJson(trimmed) ?? text) : text;
}
