// Renders parameters and bodies as tables: one row per field, nested fields with the path of their object in front.

import { type JsonSchema, SCHEMA_REFERENCE } from "../json-schema.ts";
import type { ParameterObject } from "../openapi-types.ts";
import { type Html, html, prose } from "./html.ts";

/** Maximum number of levels of nested objects that are shown. */
const DEPTH_MAX = 4;

interface Row {
  /** Path of the object that contains the field, with a dot at its end; empty at the top level. */
  readonly within: string;
  readonly name: string;
  readonly isRequired: boolean;
  readonly depth: number;
  readonly schema: JsonSchema;
}

/**
 * A table of an object's fields, nested ones included; null if it has none.
 * @param isAnswer marks fields that can be absent, instead of fields that are required.
 */
export function fieldTable(schema: JsonSchema, caption: string, isAnswer = false): Html | null {
  const rows = rowsOf(schema, "", 0);
  return rows.length === 0 ? null : table(caption, rows, isAnswer);
}

/** A table of parameters; null if there are none. */
export function parameterTable(parameters: readonly ParameterObject[], caption: string): Html | null {
  const rows = parameters.map(({ name, required, description, schema }) => {
    return { within: "", name, isRequired: required, depth: 0, schema: { ...schema, description } };
  });
  return rows.length === 0 ? null : table(caption, rows, false);
}

/** Name of a schema's type, such as `array of Memory`; a named schema is a link to its section. */
export function typeName(schema: JsonSchema): Html {
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.slice(SCHEMA_REFERENCE.length);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const members = (schema.anyOf ?? []) as readonly JsonSchema[];
  if (members.length > 0) return joined(members.map(typeName), " or ");
  if ("const" in schema) return html`<code>${JSON.stringify(schema.const)}</code>`;
  const types = [schema.type ?? "any"].flat().map(String);
  return joined(
    types.map((type) => nameOfType(type, schema)),
    " or ",
  );
}

function nameOfType(type: string, schema: JsonSchema): Html {
  if (type === "array") return html`array of ${typeName((schema.items ?? {}) as JsonSchema)}`;
  if (type === "object" && schema.additionalProperties === true && schema.properties === undefined) return html`map`;
  if (schema.format === "date-time" && type === "string") return html`date-time`;
  if (schema.format === "binary") return html`file`;
  return html`${type}`;
}

function table(caption: string, rows: readonly Row[], isAnswer: boolean): Html {
  return html`<table class="fields"><caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Description</th></tr></thead>
<tbody>${rows.map(
    ({ within, name, isRequired, depth, schema }) =>
      html`<tr><th scope="row" class="depth-${depth}"><code><span class="within">${within}</span>${name}</code>${mark(isRequired, isAnswer)}<span class="type">${typeName(schema)}</span></th><td>${meaning(schema)}</td></tr>
`,
  )}</tbody></table>`;
}

function mark(isRequired: boolean, isAnswer: boolean): Html | null {
  if (isAnswer) return isRequired ? null : html` <span class="mark">optional</span>`;
  return isRequired ? html` <span class="mark required">required</span>` : null;
}

function meaning(schema: JsonSchema): Html {
  const parts = [
    ...(typeof schema.description === "string" ? [html`<p>${prose(sentence(schema.description))}</p>`] : []),
    ...boundsOf(schema).map((bound) => html`<p class="bound">${bound}</p>`),
  ];
  return html`${parts}`;
}

// Begins a description with a capital letter, unless it begins with an id or code.
function sentence(text: string): string {
  return /^[a-z]+[ ,:;]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function boundsOf(schema: JsonSchema): Html[] {
  const items = (schema.items ?? {}) as JsonSchema;
  const options = schema.enum ?? items.enum;
  const values = Array.isArray(options) ? options.filter((value) => value !== null) : [];
  return [
    ...(values.length > 0
      ? [
          html`One of ${joined(
            values.map((value) => html`<code>${String(value)}</code>`),
            ", ",
          )}`,
        ]
      : []),
    ...range(schema.minimum, schema.maximum, ""),
    ...range(schema.minLength, schema.maxLength, " characters"),
    ...range(schema.minItems, schema.maxItems, " items"),
    ...range(items.minLength, items.maxLength, " characters each"),
    ...("default" in schema ? [html`Default <code>${JSON.stringify(schema.default)}</code>`] : []),
  ];
}

function range(from: unknown, to: unknown, unit: string): Html[] {
  const shown = (value: unknown) => (typeof value === "number" ? value.toLocaleString("en-US") : "");
  if (to === Number.MAX_SAFE_INTEGER) return range(from, undefined, unit);
  if (from !== undefined && to !== undefined) return [html`${shown(from)} to ${shown(to)}${unit}`];
  if (to !== undefined) return [html`At most ${shown(to)}${unit}`];
  // A minimum of 1 character is not shown, because it is obvious.
  return from === undefined || from === 0 || (from === 1 && unit !== "") ? [] : [html`At least ${shown(from)}${unit}`];
}

function rowsOf(schema: JsonSchema, within: string, depth: number): Row[] {
  const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>);
  const required = (schema.required ?? []) as readonly string[];
  return properties.flatMap(([name, field]) => {
    const own: Row = { within, name, isRequired: required.includes(name), depth, schema: field };
    return [own, ...(depth < DEPTH_MAX ? nestedRows(field, `${within}${name}`, depth + 1) : [])];
  });
}

// Named schemas are left out because they have sections of their own.
function nestedRows(field: JsonSchema, path: string, depth: number): Row[] {
  if (Array.isArray(field.anyOf)) {
    return field.anyOf.flatMap((member: JsonSchema) => nestedRows(member, path, depth));
  }
  if (field.properties !== undefined) return rowsOf(field, `${path}.`, depth);
  const items = field.items as JsonSchema | undefined;
  return items === undefined ? [] : nestedRows(items, `${path}[]`, depth);
}

function joined(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, at) => (at === 0 ? part : html`${separator}${part}`))}`;
}
