// Describes the answers of an operation for the OpenAPI document: successes, errors with their codes, and headers.

import type { FaultCode } from "../domain/fault.ts";
import { FAULTS } from "./catalogue.ts";
import { type Components, exampleOf, exampleOfResource, isResource, singular } from "./examples.ts";
import type { JsonSchema } from "./json-schema.ts";
import { errorTypeOf } from "./openai/errors.ts";
import type { MediaType, Reference, ResponseObject } from "./openapi-types.ts";
import type { Operation } from "./operation.ts";

const SUCCESSES: Readonly<Record<number, string>> = {
  200: "Success.",
  201: "Created.",
  202: "Accepted; processing continues in the background.",
  204: "Success, without a body.",
  206: "The range of the file that `Range` asks for.",
  304: "The file is the one that `If-None-Match` names.",
};

/** Errors that many operations share, by the name of the shared response. */
const SHARED_ERRORS: Readonly<Record<string, readonly FaultCode[]>> = {
  BadRequest: ["invalid_request"],
  Unauthorized: ["missing_api_key", "invalid_api_key"],
  Forbidden: ["insufficient_scope"],
  UnknownRoute: ["not_found"],
  MethodNotAllowed: ["method_not_allowed"],
  IdempotencyConflict: ["idempotency_conflict"],
  PayloadTooLarge: ["payload_too_large"],
  UnsupportedMediaType: ["unsupported_media_type"],
  TooManyRequests: ["rate_limit_exceeded"],
  InternalError: ["internal_error"],
  Overloaded: ["overloaded", "unavailable"],
};

const EVERYWHERE = ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
const OF_FILES = ["ETag", "Accept-Ranges", "Content-Disposition", "X-Content-Type-Options", "Content-Security-Policy"];
/** Headers of answers with a file, by status. */
const FILE_HEADERS: Readonly<Record<number, readonly string[]>> = {
  200: OF_FILES,
  206: [...OF_FILES, "Content-Range"],
  304: ["ETag"],
};
/** Codes whose answers have a `Retry-After` header: errors of status 429 that end when time passes. */
const WITH_RETRY_AFTER: readonly FaultCode[] = ["rate_limit_exceeded", "query_quota_exceeded"];

/** Every header that an answer can have, for `components.headers`. */
export const HEADERS: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>> = {
  "X-Request-Id": { description: "Id of the request; the server's log contains it too.", schema: { type: "string" } },
  "X-RateLimit-Limit": { description: "Allowed requests per window of 60 seconds.", schema: { type: "integer" } },
  "X-RateLimit-Remaining": { description: "Requests left in the current window.", schema: { type: "integer" } },
  "X-RateLimit-Reset": {
    description: "Unix time in seconds at which the oldest counted request leaves the window.",
    schema: { type: "integer" },
  },
  "Retry-After": {
    description: "Seconds to wait; absent if waiting does not help.",
    schema: { type: "integer", minimum: 1 },
  },
  "Idempotent-Replayed": {
    description: "This is the answer to the first request with this Idempotency-Key.",
    schema: { type: "string", enum: ["true"] },
  },
  "WWW-Authenticate": { description: "Authentication scheme.", schema: { type: "string", enum: ["Bearer"] } },
  ETag: { description: "Identifies the bytes of the file.", schema: { type: "string" } },
  "Accept-Ranges": { description: "Unit of ranges.", schema: { type: "string", enum: ["bytes"] } },
  "Content-Range": { description: "The range of the file, and its size.", schema: { type: "string" } },
  "Content-Disposition": { description: "`attachment` with the name of the file.", schema: { type: "string" } },
  "X-Content-Type-Options": {
    description: "The type is not to be guessed.",
    schema: { type: "string", enum: ["nosniff"] },
  },
  "Content-Security-Policy": {
    description: "A browser gives the file no rights.",
    schema: { type: "string", enum: ["sandbox"] },
  },
  Allow: { description: "Methods that the path supports.", schema: { type: "string" } },
};

/** Whose conventions an error body follows. */
type ErrorForm = "own" | NonNullable<Operation["conventions"]>;
/** Schema of the error bodies of each form. */
export type ErrorSchemas = Readonly<Record<ErrorForm, JsonSchema>>;
/** Schemas of one event of the streams of each form. */
export type StreamSchemas = Readonly<Record<ErrorForm, JsonSchema>>;
/** What the names of shared errors begin with. */
const PREFIXES: Readonly<Record<ErrorForm, string>> = { own: "", openai: "OpenAi" };

/** The events of streams; `streamText` in docs/operation.ts shows them as they are sent. */
const STREAM_EXAMPLES = {
  text: { event: "text", data: { content: "The spare key is under the blue pot [1]." } },
  sources: { event: "sources", data: [] },
  usage: { event: "usage", data: { tokens_used: 0 } },
  done: { event: "done", data: {} },
};

const CHUNK = {
  id: "chatcmpl-4f1c9a70-6f0e-4b8e-9d5d-2f6f3c1b7a42",
  object: "chat.completion.chunk",
  created: 1_795_599_000,
  model: "mneme/balanced",
};
const chunk = (delta: object, finish_reason: string | null = null) => ({
  data: { ...CHUNK, choices: [{ index: 0, logprobs: null, finish_reason, delta }] },
});
const COMPLETION_EXAMPLES = {
  role: chunk({ role: "assistant", content: "" }),
  text: chunk({ content: "The spare key is under the blue pot [1]." }),
  annotations: chunk({ annotations: [] }),
  stop: chunk({}, "stop"),
  done: { data: "[DONE]" },
};

/**
 * Describes a success answer.
 * @param schema schema of the body; null if the answer has no body
 */
export function successResponse(
  operation: Operation,
  status: number,
  schema: JsonSchema | null,
  { components, streams }: { readonly components: Components; readonly streams: StreamSchemas },
): ResponseObject {
  const body = schema !== null && {
    // a file has its own type
    ...(operation.answersFile === true && { "*/*": { schema, example: "%PDF-1.7…" } }),
    ...(operation.answersFile !== true && {
      "application/json": {
        schema,
        example: exampleOf(schema, { components, group: operation.group, known: knownOf(operation, status) }),
      },
    }),
  };
  const content = {
    ...(operation.streams !== "always" && body),
    ...(operation.streams !== undefined && {
      "text/event-stream": eventStream(operation.conventions ?? "own", streams),
    }),
  };
  return {
    description: SUCCESSES[status] ?? "Success.",
    headers: headerReferences([
      ...EVERYWHERE,
      ...(operation.isIdempotent ? ["Idempotent-Replayed"] : []),
      ...(operation.answersFile === true ? (FILE_HEADERS[status] ?? []) : []),
    ]),
    ...(Object.keys(content).length > 0 && { content }),
  };
}

/** Describes one answer per status of the given codes; answers that many operations share are references. */
export function errorResponses(
  codes: readonly FaultCode[],
  form: ErrorForm,
  schemas: ErrorSchemas,
): readonly (readonly [status: number, response: ResponseObject | Reference])[] {
  const byStatus = Map.groupBy(codes, (code) => FAULTS[code].status);
  return [...byStatus].map(([status, those]) => {
    const shared = Object.entries(SHARED_ERRORS).find(([, known]) => known.join() === those.join());
    if (shared === undefined) return [status, errorResponse(those, form, schemas)];
    return [status, reference("responses", PREFIXES[form] + shared[0])];
  });
}

/** The errors that many operations share, for `components.responses`. */
export function sharedErrorResponses(schemas: ErrorSchemas): Readonly<Record<string, ResponseObject>> {
  return Object.fromEntries(
    (Object.keys(schemas) as ErrorForm[]).flatMap((form) =>
      Object.entries(SHARED_ERRORS).map(([name, codes]) => [
        PREFIXES[form] + name,
        errorResponse(codes, form, schemas),
      ]),
    ),
  );
}

/** A reference into `components`. */
export function reference(kind: "headers" | "parameters" | "responses", name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}

function errorResponse(codes: readonly FaultCode[], form: ErrorForm, schemas: ErrorSchemas): ResponseObject {
  const headers = [
    ...EVERYWHERE,
    ...(codes.some((code) => WITH_RETRY_AFTER.includes(code)) ? ["Retry-After"] : []),
    ...(codes.some((code) => FAULTS[code].status === 401) ? ["WWW-Authenticate"] : []),
    ...(codes.includes("method_not_allowed") ? ["Allow"] : []),
    ...(codes.includes("range_not_satisfiable") ? ["Content-Range"] : []),
  ];
  const example = form === "own" ? exampleError : exampleOpenAiError;
  const examples = Object.fromEntries(codes.map((code) => [code, { value: { error: example(code) } }]));
  return {
    description: codes.map((code) => `- \`${code}\`: ${FAULTS[code].summary}`).join("\n"),
    headers: headerReferences(headers),
    content: { "application/json": { schema: schemas[form], examples } },
  };
}

function exampleError(code: FaultCode): object {
  const { status, summary } = FAULTS[code];
  return {
    code,
    message: summary.replaceAll("`", ""),
    status,
    request_id: "4f1c9a70-6f0e-4b8e-9d5d-2f6f3c1b7a42",
    ...(status === 503 && { retry_after_seconds: 1 }),
  };
}

function exampleOpenAiError(code: FaultCode): object {
  const { status, summary } = FAULTS[code];
  return {
    message: summary.replaceAll("`", ""),
    type: errorTypeOf(code),
    param: null,
    code,
    ...(status === 503 && { retry_after_seconds: 1 }),
  };
}

/** A stream. Its schema is that of one event (schema/streams.ts); comments keep the connection open. */
function eventStream(form: ErrorForm, schemas: StreamSchemas): MediaType {
  const events = form === "openai" ? COMPLETION_EXAMPLES : STREAM_EXAMPLES;
  const examples = Object.entries(events).map(([name, value]) => [name, { value }]);
  return { schema: schemas[form], examples: Object.fromEntries(examples) };
}

// Example values that follow from the operation: the id of the resource in its path, and for status 202 the state of
// work in progress.
function knownOf(operation: Operation, status: number): Readonly<Record<string, unknown>> {
  const resource = singular(operation.path.split("/").findLast((part) => !part.startsWith(":")) ?? "");
  const isDelivery = operation.group === "Webhooks";
  return {
    ...(isResource(resource) && { id: exampleOfResource(resource) }),
    ...(status === 202 && (isDelivery ? { status: "pending", attempts: [] } : { status: "processing" })),
  };
}

function headerReferences(names: readonly string[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, reference("headers", name)]));
}
