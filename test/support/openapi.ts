// Validates responses against /openapi.json: finds the operation of a request, and lists contradictions. This check is
// stricter than the document, which allows more fields: an undocumented field or header is a contradiction.

import type { ValidateFunction } from "ajv";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import type { JsonSchema } from "../../src/api/json-schema.ts";
import type { OpenApiDocument, OperationObject, ParameterObject, ResponseObject } from "../../src/api/openapi-types.ts";

/** One operation of the document. */
export interface Documented {
  /** HTTP method in upper case. */
  readonly method: string;
  /** Path with the server's base path, such as `/v1/memories/{id}`. */
  readonly path: string;
  readonly object: OperationObject;
  /** All parameters, with references resolved. */
  readonly parameters: readonly ParameterObject[];
  /** Media type and schema of the request body; null if there is none. */
  readonly body: { readonly mediaType: string; readonly schema: JsonSchema; readonly isRequired: boolean } | null;
}

/** A response with its body as text. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The request that a response answers. */
export interface Asked {
  readonly method: string;
  readonly pathname: string;
}

/** A server-sent event. */
export interface SentEvent {
  readonly name: string;
  readonly data: unknown;
}

const BASE = "contract";
/** Routes that have OpenAI's errors and streams. */
const OPENAI_PATH = /^\/v1\/(models(\/[^/]+){0,2}|chat\/completions|embeddings)$/;
const METHODS = ["get", "post", "put", "patch", "delete"];
/** Headers that only some responses have. Other tests check which ones. */
const OPTIONAL_HEADERS = ["idempotent-replayed", "retry-after"];
/** Headers of the HTTP transfer, which the document does not list. */
const TRANSFER_HEADERS = ["content-type", "content-length", "cache-control", "x-accel-buffering", "vary"];
const WITH_RETRY_AFTER: unknown[] = ["rate_limit_exceeded", "query_quota_exceeded"];

/** The OpenAPI document, with methods that check responses against it. */
export class Contract {
  readonly operations: readonly Documented[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly #document: OpenApiDocument;
  // test/api/openapi.test.ts compares the document with the meta-schema, which takes longer than all of this
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false, meta: false, validateSchema: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.schemas = document.components.schemas;
    addFormats(this.#ajv);
    const schemas = Object.entries(this.schemas).map(([name, schema]) => [name, closed(schema)]);
    this.#ajv.addSchema({ $id: BASE, components: { schemas: Object.fromEntries(schemas) } });
    const base = document.servers[0].url;
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const object = item[method];
        return object === undefined ? [] : [this.#documented(method.toUpperCase(), base + path, object)];
      }),
    );
  }

  /** The operation that a request calls; null if there is none. HEAD calls the operation of GET. */
  operationOf(method: string, pathname: string): Documented | null {
    const asked = method === "HEAD" ? "GET" : method;
    return this.#operationsOf(pathname).find(({ method }) => method === asked) ?? null;
  }

  /** Methods that the document defines for a path. */
  methodsOf(pathname: string): readonly string[] {
    return this.#operationsOf(pathname).map(({ method }) => method);
  }

  // literal segments take precedence over parameters, for every method: /memories/search is not the memory `search`
  #operationsOf(pathname: string): readonly Documented[] {
    const given = pathname.split("/");
    const candidates = this.operations.filter(({ path }) => matches(path, given));
    const parameters = Math.min(...candidates.map(({ path }) => parametersIn(path)));
    return candidates.filter(({ path }) => parametersIn(path) === parameters);
  }

  /** Whether a JSON value is valid for a schema of the document. Callers may send every such value. */
  accepts(schema: JsonSchema, value: unknown): boolean {
    return this.#validator(schema, false)(value);
  }

  /**
   * Contradictions between a response and the document.
   * @param operation null if the request matches none; then the error schema and the codes for unknown routes apply
   */
  problemsOf(operation: Documented | null, { method, pathname }: Asked, answer: RawAnswer): readonly string[] {
    const response = operation === null ? null : this.#responseOf(operation, answer.status);
    if (operation !== null && response === null) return [`status ${answer.status} is not documented`];
    return [
      ...this.#headerProblems(response, pathname, answer),
      ...(method === "HEAD" || answer.status === 204 || answer.status === 304
        ? bodyless(answer, response)
        : answer.status >= 400
          ? this.#errorProblems(operation, pathname, answer)
          : this.#successProblems(response, answer)),
    ];
  }

  /** The documented response for a status; null if there is none. */
  #responseOf(operation: Documented, status: number): ResponseObject | null {
    const response = operation.object.responses[status];
    if (response === undefined) return null;
    if (!("$ref" in response)) return response;
    return this.#document.components.responses[lastPart(response.$ref)] ?? null;
  }

  #headerProblems(response: ResponseObject | null, pathname: string, { status, headers, text }: RawAnswer): string[] {
    const problems: string[] = [];
    const documented = Object.keys(response?.headers ?? {}).map((name) => name.toLowerCase());
    for (const name of documented) {
      if (!OPTIONAL_HEADERS.includes(name) && !headers.has(name))
        problems.push(`the documented header ${name} is missing`);
    }
    if (response !== null) {
      for (const [name] of headers) {
        if (!documented.includes(name) && !TRANSFER_HEADERS.includes(name))
          problems.push(`the header ${name} is undocumented`);
      }
    }
    if (!/^[A-Za-z0-9._:-]{1,128}$/.test(headers.get("x-request-id") ?? "")) problems.push("x-request-id is no id");
    if (!/^\/v1(\/|$)/.test(pathname)) return problems;
    const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((what) =>
      wholeNumber(headers.get(`x-ratelimit-${what}`)),
    );
    if (limit === undefined || remaining === undefined || reset === undefined) {
      problems.push("x-ratelimit-* are not three whole numbers");
    } else if (limit < 1 || remaining > limit) {
      problems.push(`x-ratelimit-remaining ${remaining} of ${limit}`);
    }
    const code = status === 429 ? codeOf(text) : null;
    const isToWait = code === null ? null : WITH_RETRY_AFTER.includes(code);
    const wait = headers.get("retry-after");
    if (isToWait === true && (wholeNumber(wait) ?? 0) < 1) problems.push(`retry-after is ${wait}`);
    if (isToWait !== true && wait !== null && text !== "") problems.push(`retry-after on ${status} ${code ?? ""}`);
    return problems;
  }

  #errorProblems(operation: Documented | null, pathname: string, { status, headers, text }: RawAnswer): string[] {
    if (headers.get("content-type") !== "application/json; charset=utf-8") return ["an error that is no JSON"];
    const body = parsed(text);
    if (body === undefined) return ["an error whose body is no JSON"];
    const isOpenAis = isOpenAiPath(pathname);
    const problems = this.#mismatches({ $ref: `#/components/schemas/${isOpenAis ? "OpenAiError" : "Error"}` }, body);
    const { error } = body as { readonly error?: { readonly [field: string]: unknown } };
    if (!isOpenAis && error?.status !== status) problems.push(`error.status is ${error?.status}`);
    if (!isOpenAis && error?.request_id !== headers.get("x-request-id"))
      problems.push("error.request_id is another than the header's");
    const codes: readonly unknown[] = operation?.object["x-error-codes"] ?? UNROUTED[status] ?? [];
    if (!codes.includes(error?.code)) problems.push(`the code ${error?.code} is not documented here`);
    return problems;
  }

  #successProblems(response: ResponseObject | null, { headers, text }: RawAnswer): string[] {
    const mediaType = headers.get("content-type")?.split(";")[0] ?? "";
    if (response?.content?.["*/*"] !== undefined) return []; // a file of any type
    const content = response?.content?.[mediaType];
    if (content === undefined) return [`a success of the type '${mediaType}' is not documented`];
    if (mediaType === "text/event-stream") return this.#streamProblems(text, content.schema);
    const body = parsed(text);
    return body === undefined ? ["a body that is no JSON"] : this.#mismatches(content.schema, body);
  }

  /**
   * Checks the events and their order: all `text`, then `sources`, `usage` and `done`. An `error` may end the stream
   * early.
   */
  #streamProblems(text: string, schema: JsonSchema): string[] {
    if (lastPart(String(schema.$ref)) === "ChatCompletionEvent") return this.#chunkProblems(text, schema);
    const events = readEvents(text);
    if (events === null) return ["a stream that is not framed as event and data lines"];
    const names = events.map(({ name }) => name).join(" ");
    if (!/^(text )*(sources usage done|(sources )?(usage )?error)$/.test(names)) return [`events ${names}`];
    return events.flatMap((event) => this.eventProblems(event));
  }

  /** Contradictions between an event of a stream and the document. */
  eventProblems({ name, data }: SentEvent): readonly string[] {
    const schema = { $ref: "#/components/schemas/StreamEvent" };
    return this.#eventProblems(schema, name, { event: name, data });
  }

  /** Checks the events of a chat completion: chunks, and at the end `[DONE]` or an error. */
  #chunkProblems(text: string, schema: JsonSchema): string[] {
    const data = text
      .slice(0, -2)
      .split("\n\n")
      .filter((frame) => !frame.startsWith(":"))
      .map((frame) => /^data: ([^\r\n]+)$/.exec(frame)?.[1] ?? "")
      .map((line) => (line === "[DONE]" ? line : parsed(line)));
    const isEnd = (value: unknown) => value === "[DONE]" || "error" in ((value ?? {}) as object);
    if (!text.endsWith("\n\n") || data.findIndex(isEnd) !== data.length - 1) {
      return [`a stream of chunks that ends with ${text.slice(-200)}`];
    }
    return data.flatMap((value) => this.#eventProblems(schema, "chunk", { data: value }));
  }

  // A union's own message says little, so the event is compared with the member that has its name.
  #eventProblems(schema: JsonSchema, name: string, event: object): string[] {
    const members = (this.schemas[lastPart(String(schema.$ref))]?.anyOf ?? []) as readonly JsonSchema[];
    const member = members.find(({ $ref }) => lastPart(String($ref)).toLowerCase() === `${name}event`);
    return this.#mismatches(member ?? schema, event).map((problem) => `${name}: ${problem}`);
  }

  #mismatches(schema: JsonSchema, value: unknown): string[] {
    const validate = this.#validator(schema, true);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath === "" ? "the body" : instancePath, message, JSON.stringify(params)].join(" "),
    );
  }

  #validator(schema: JsonSchema, isClosed: boolean): ValidateFunction {
    const used = isClosed ? closed(schema) : schema;
    const written = JSON.stringify(used).replaceAll('"#/components/', `"${BASE}#/components/`);
    const known = this.#compiled.get(written);
    if (known !== undefined) return known;
    const validate = this.#ajv.compile(JSON.parse(written));
    this.#compiled.set(written, validate);
    return validate;
  }

  #documented(method: string, path: string, object: OperationObject): Documented {
    const parameters = object.parameters.flatMap((parameter) => {
      if (!("$ref" in parameter)) return [parameter];
      const shared = this.#document.components.parameters[lastPart(parameter.$ref)];
      return shared === undefined ? [] : [shared];
    });
    const [content] = Object.entries(object.requestBody?.content ?? {});
    const body =
      content === undefined
        ? null
        : { mediaType: content[0], schema: content[1].schema, isRequired: object.requestBody?.required ?? false };
    return { method, path, object, parameters, body };
  }
}

/** Whether the route of a path has OpenAI's errors and streams. */
export function isOpenAiPath(pathname: string): boolean {
  return OPENAI_PATH.test(pathname);
}

/** Error codes for requests that match no operation, by status. */
const UNROUTED: Readonly<Record<number, readonly string[]>> = {
  400: ["invalid_request"],
  401: ["missing_api_key", "invalid_api_key"],
  404: ["not_found"],
  405: ["method_not_allowed"],
  429: ["rate_limit_exceeded"],
};

/** The events of a stream without its comments; null if the format is invalid. */
export function readEvents(text: string): readonly SentEvent[] | null {
  if (!text.endsWith("\n\n")) return null;
  const frames = text.slice(0, -2).split("\n\n");
  const events: SentEvent[] = [];
  for (const frame of frames) {
    if (frame.startsWith(":")) continue;
    const [, name, data] = /^event: (\w+)\ndata: ([^\r\n]*)$/.exec(frame) ?? [];
    const value = data === undefined ? undefined : parsed(data);
    if (name === undefined || value === undefined) return null;
    events.push({ name, data: value });
  }
  return events;
}

// Makes a schema stricter. The document allows unknown fields, because fields may be added later; these tests require
// every field to be documented. Times must be UTC with milliseconds, which `format` cannot express.
function closed(schema: JsonSchema): JsonSchema {
  return close(schema) as JsonSchema;
}

function close(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(close);
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.entries(part).map(([name, value]) => [name, name === "example" ? value : close(value)]);
  const closer = "properties" in part && !("additionalProperties" in part) ? { additionalProperties: false } : {};
  const time = "format" in part && part.format === "date-time" ? { pattern: UTC_WITH_MILLISECONDS } : {};
  return { ...Object.fromEntries(entries), ...closer, ...time };
}

const UTC_WITH_MILLISECONDS = "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$";

function bodyless({ text, headers }: RawAnswer, response: ResponseObject | null): string[] {
  const isFile = response?.content?.["*/*"] !== undefined;
  const isOfJson = isFile || (headers.get("content-type")?.startsWith("application/json") ?? true);
  return [...(text === "" ? [] : ["a body where there is none"]), ...(isOfJson ? [] : ["a content-type without JSON"])];
}

function matches(template: string, given: readonly string[]): boolean {
  const parts = template.split("/");
  return (
    parts.length === given.length &&
    parts.every((part, at) => part === given[at] || (part.startsWith("{") && given[at] !== ""))
  );
}

function parametersIn(path: string): number {
  return path.split("{").length - 1;
}

function lastPart(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function codeOf(text: string): unknown {
  const body = parsed(text) as { readonly error?: { readonly code?: unknown } } | undefined;
  return body?.error?.code ?? null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not a JSON value, so it marks invalid JSON
  }
}
