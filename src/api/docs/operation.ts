// Renders one operation of the reference: its input and answers on the left, an example request and answer on the
// right.

import { invariant } from "../../domain/fault.ts";
import { FAULTS } from "../catalogue.ts";
import type { JsonSchema } from "../json-schema.ts";
import type {
  MediaType,
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from "../openapi-types.ts";
import { fieldTable, parameterTable, typeName } from "./fields.ts";
import { type Html, html, prose } from "./html.ts";
import { prettyJson } from "./pretty-json.ts";

/** An operation with its method and path. */
export interface PlacedOperation {
  readonly method: string;
  /** From the root of the host: `/v1/memories/{id}`. */
  readonly path: string;
  readonly operation: OperationObject;
}

/** Every operation, in the order of the document. */
export function placedOperations(document: OpenApiDocument): readonly PlacedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: document.servers[0].url + path,
      operation,
    })),
  );
}

/** Converts an operation's name to a title: `createMemory` → `Create memory`. */
export function titleOf(operationId: string): string {
  const words = operationId.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The label of an HTTP method, in the method's colour. */
export function methodMark(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** The section of one operation. */
export function operationSection(placed: PlacedOperation, document: OpenApiDocument): Html {
  const { method, path, operation } = placed;
  const parameters = operation.parameters.map((parameter) => resolved(parameter, document.components.parameters));
  const responses = Object.entries(operation.responses).map(([status, response]) => ({
    status: Number(status),
    response: resolved(response, document.components.responses),
  }));
  const successes = responses.filter(({ status }) => status < 400);
  return html`<section class="operation" id="${operation.operationId}" aria-labelledby="${operation.operationId}-title">
<div class="description">
<h3 id="${operation.operationId}-title"><a href="#${operation.operationId}">${titleOf(operation.operationId)}</a></h3>
<p class="route">${methodMark(method)} <code>${breakable(path)}</code></p>
<p class="summary">${prose(operation.summary)}</p>
${facts(operation)}
${parameterTable(parametersIn("path", parameters), "Path")}
${parameterTable(parametersIn("query", parameters), "Query parameters")}
${bodyTables(operation)}
<h4>Answers</h4>
<dl class="answers">${successes.map(({ status, response }) => successRow(status, response))}</dl>
<h4>Errors</h4>
<dl class="errors">${errorRows(operation)}</dl>
</div>
<div class="shown">
${requestPanel(placed, parameters)}
${successes.flatMap(({ status, response }, at) => examplePanels(status, response, at === 0))}
</div>
</section>
`;
}

function facts(operation: OperationObject): Html {
  const perMinute = operation["x-rate-limit-per-minute"];
  const sharedWith = operation["x-rate-limit-shared-with"];
  const shared = html`, shared with ${sharedWith.map((name, at) => html`${at > 0 ? ", " : ""}<a href="#${name}">${titleOf(name)}</a>`)}`;
  const rows: readonly (readonly [string, Html])[] = [
    ["Scope", operation["x-scope"] === null ? html`any` : html`<code>${operation["x-scope"]}</code>`],
    [
      "Rate limit",
      perMinute === null
        ? html`none`
        : html`${perMinute} requests per minute and key${sharedWith.length === 0 ? null : shared}`,
    ],
    ["Confined keys", operation["x-confined-keys"] ? html`allowed, for that user` : html`not allowed`],
    ...(operation["x-idempotent"] ? [["Retries", html`safe with an <code>Idempotency-Key</code>`] as const] : []),
  ];
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function bodyTables(operation: OperationObject): Html | null {
  const body = operation.requestBody;
  if (body === undefined) return null;
  const suffix = body.required ? "" : ", optional";
  return html`${Object.entries(body.content).map(([mediaType, { schema }]) => fieldTable(schema, `Body (${mediaType}${suffix})`))}`;
}

function successRow(status: number, response: ResponseObject): Html {
  const kinds = Object.entries(response.content ?? {}).map(([mediaType, { schema }]) => bodyKind(mediaType, schema));
  return html`<div><dt><span class="status ok">${status}</span></dt><dd>${response.description} ${kinds.map(
    (kind, at) => html`${at === 0 ? "" : " Or: "}${kind}`,
  )}</dd></div>`;
}

// Fields are shown here only for objects without a name; named objects have a section of their own.
function bodyKind(mediaType: string, schema: JsonSchema): Html {
  if (mediaType === "text/event-stream") return html`<a href="#events">Server-Sent Events</a>.`;
  const fields = fieldTable(schema, "Fields", true);
  if (fields === null) return html`${typeName(schema)}.`;
  const page = isList(schema) ? html`A page of ${itemName(schema)}.` : null;
  return html`${page}<details class="answer-fields"><summary>Fields</summary>${fields}</details>`;
}

function isList({ properties }: JsonSchema): boolean {
  return typeof properties === "object" && properties !== null && "data" in properties && "has_more" in properties;
}

function itemName(schema: JsonSchema): Html {
  const { data } = schema.properties as Readonly<Record<string, JsonSchema>>;
  return typeName((data?.items ?? {}) as JsonSchema);
}

function errorRows(operation: OperationObject): Html[] {
  const byStatus = Map.groupBy(operation["x-error-codes"], (code) => FAULTS[code].status);
  return [...byStatus].map(
    ([status, codes]) =>
      html`<div><dt><span class="status">${status}</span></dt><dd>${codes.map(
        (code) => html` <a href="#error-${code}"><code>${code}</code></a>`,
      )}</dd></div>`,
  );
}

function examplePanels(status: number, response: ResponseObject, isFirst: boolean): Html[] {
  const content = Object.entries(response.content ?? {});
  if (content.length === 0) return [html`<p class="no-body">${status} without a body</p>`];
  return content.map(([mediaType, media], at) =>
    codePanel(`${status} ${mediaType}`, exampleText(mediaType, media), isFirst && at === 0),
  );
}

function exampleText(mediaType: string, { example, examples = {} }: MediaType): string {
  if (mediaType !== "text/event-stream") return prettyJson(example);
  return Object.values(examples)
    .map(({ value }) => streamText(value as { readonly event?: string; readonly data: unknown }))
    .join("\n\n");
}

/** An event of a stream as it is sent. */
function streamText({ event, data }: { readonly event?: string; readonly data: unknown }): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}`;
}

function codePanel(title: string, text: string, isOpen: boolean): Html {
  const pre = html`<pre tabindex="0" aria-label="${title}"><code>${text}</code></pre>`;
  return isOpen
    ? html`<figure class="panel"><figcaption>${title}</figcaption>${pre}</figure>`
    : html`<details class="panel"><summary>${title}</summary>${pre}</details>`;
}

// The request as a curl command, and as what the page's script sends. Files cannot be sent from the page.
function requestPanel(placed: PlacedOperation, parameters: readonly ParameterObject[]): Html {
  const [mediaType, body] = Object.entries(placed.operation.requestBody?.content ?? {})[0] ?? [];
  const sent = {
    method: placed.method,
    path: `/v1${filledPath(placed, parameters)}`,
    body: body === undefined ? null : prettyJson(body.example),
  };
  const text = html`<pre tabindex="0" aria-label="Request"><code>${curl(placed, parameters)}</code></pre>`;
  return mediaType === "multipart/form-data"
    ? html`<figure class="panel"><figcaption>Request</figcaption>${text}</figure>`
    : html`<figure class="panel" data-try="${JSON.stringify(sent)}"><figcaption>Request</figcaption>${text}</figure>`;
}

// The path with the examples of its parameters and of required query parameters, below `/v1`.
function filledPath({ path }: PlacedOperation, parameters: readonly ParameterObject[]): string {
  const filled = path
    .replace(/^\/v1/, "")
    .replace(/\{(\w+)\}/g, (_, name) => String(parameters.find((each) => each.name === name)?.example ?? name));
  const required = parametersIn("query", parameters).filter((each) => each.required);
  const question = required
    .map((each, at) => `${at === 0 ? "?" : "&"}${each.name}=${encodeURIComponent(String(each.example))}`)
    .join("");
  return filled + question;
}

/** A curl command for a shell in which `API` and `KEY` are set. */
export function curl(placed: PlacedOperation, parameters: readonly ParameterObject[]): string {
  const { method, operation } = placed;
  const [mediaType, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const streams = Object.values(operation.responses).some(
    (response) => "content" in response && Object.hasOwn(response.content ?? {}, "text/event-stream"),
  );
  const isStreamOnly = streams && !JSON.stringify(operation.responses["200"]).includes("application/json");
  return [
    `curl${isStreamOnly ? " -N" : ""}${method === "GET" ? "" : ` -X ${method}`} "$API${filledPath(placed, parameters)}"`,
    '-H "Authorization: Bearer $KEY"',
    ...(mediaType === undefined || body === undefined ? [] : bodyArguments(mediaType, body)),
  ].join(" \\\n  ");
}

function bodyArguments(mediaType: string, { example }: MediaType): string[] {
  if (mediaType !== "multipart/form-data") {
    return [`-H "Content-Type: ${mediaType}"`, `-d ${quoted(prettyJson(example))}`];
  }
  return Object.entries(example as Readonly<Record<string, unknown>>).map(
    ([name, value]) => `-F ${quoted(`${name}=${name === "file" ? "@" : ""}${String(value)}`)}`,
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function parametersIn(place: ParameterObject["in"], parameters: readonly ParameterObject[]): ParameterObject[] {
  return parameters.filter((parameter) => parameter.in === place);
}

function resolved<T extends object>(given: T | Reference, known: Readonly<Record<string, T>>): T {
  if (!("$ref" in given)) return given;
  const found = known[given.$ref.split("/").at(-1) ?? ""];
  invariant(found, `the document has no ${given.$ref}`);
  return found;
}

function breakable(path: string): Html {
  return html`${path.split("/").map((part, at) => (at === 0 ? part : html`/<wbr>${part}`))}`;
}
