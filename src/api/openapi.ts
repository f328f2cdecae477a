// Makes the OpenAPI 3.1 document from the declarations of the operations: requests, scopes, rate limits and every
// possible answer. docs.ts shows the document to people.

import { Type } from "@sinclair/typebox";
import type { RateBuckets } from "../account/rate-limits.ts";
import { invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../domain/webhook.ts";
import { UNLIMITED } from "../ports/coordination.ts";
import { faultsOf } from "./catalogue.ts";
import { type Components, exampleOf, exampleOfResource, singular } from "./examples.ts";
import { type JsonSchema, SchemaCollection } from "./json-schema.ts";
import { byteText } from "./limits-table.ts";
import {
  type ErrorSchemas,
  errorResponses,
  HEADERS,
  reference,
  type StreamSchemas,
  sharedErrorResponses,
  successResponse,
} from "./openapi-responses.ts";
import type { OpenApiDocument, OperationObject, ParameterObject } from "./openapi-types.ts";
import { GROUPS, type Group, type Operation } from "./operation.ts";
import { ErrorAnswer } from "./schema/errors.ts";
import { Time } from "./schema/fields.ts";
import { MemoryWithoutContent } from "./schema/memories.ts";
import { OpenAiErrorAnswer } from "./schema/openai.ts";
import { ChatCompletionEvent, StreamEvent } from "./schema/streams.ts";

/** Input of the document. */
export interface DocumentSources {
  readonly operations: readonly Operation[];
  /** Version of the API, shown as `info.version`. */
  readonly version: string;
  readonly buckets: RateBuckets;
}

const BASE = "/v1";

/** Path parameters that are no id of a resource, with description and example. */
const OTHER_PATH_PARAMETERS: Readonly<Record<string, readonly [description: string, example: string]>> = {
  mode: ["The part of the id behind the slash.", "fast"],
};

const PARAMETERS: Readonly<Record<string, ParameterObject>> = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "A second request with the same key and body within 24 hours gets the first answer again, and nothing is done twice. Keys are separate per project and route.",
    schema: { type: "string", minLength: 1, maxLength: LIMITS.idempotencyKeyCharacters, pattern: "^[!-~]+$" },
  },
  Range: {
    name: "Range",
    in: "header",
    required: false,
    description: "One range of bytes, such as `bytes=0-1023`, `bytes=1024-` or `bytes=-512`.",
    schema: { type: "string" },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "An `ETag`: the answer is 304 if the file still has it.",
    schema: { type: "string" },
  },
  IfRange: {
    name: "If-Range",
    in: "header",
    required: false,
    description: "An `ETag`: `Range` holds only if the file still has it.",
    schema: { type: "string" },
  },
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description: `Your own id for the request: 1 to ${LIMITS.requestIdCharacters} letters, digits and \`._:-\`. Any other value is replaced by a new id.`,
    schema: { type: "string" },
  },
};

/** Everything that the description of an operation needs. */
interface Context extends Pick<DocumentSources, "operations" | "buckets"> {
  readonly schemas: SchemaCollection;
  readonly components: Components;
  readonly errors: ErrorSchemas;
  readonly streams: StreamSchemas;
}

/**
 * Makes the document, an object that `JSON.stringify` converts to plain JSON.
 * @throws Error if an operation is outside of /v1, or two different schemas have the same name.
 */
export function openApiDocument({ operations, version, buckets }: DocumentSources): OpenApiDocument {
  const schemas = new SchemaCollection();
  const errors = { own: schemas.of(ErrorAnswer), openai: schemas.of(OpenAiErrorAnswer) };
  const streams = { own: schemas.of(StreamEvent), openai: schemas.of(ChatCompletionEvent) };
  const webhooks = webhookObjects(schemas);
  // Examples can refer to any named schema, so all schemas are collected before the first operation is described.
  for (const { body, answers } of operations) {
    for (const schema of [body, ...Object.values(answers)]) if (schema !== null) schemas.of(schema);
  }
  const { components } = schemas;
  return {
    openapi: "3.1.0",
    info: {
      title: "Mneme",
      summary: "A self-hosted memory and retrieval engine for AI applications",
      description:
        "Every operation needs an API key as a bearer token. Bodies are JSON; unknown fields are refused. Every answer has the headers `X-Request-Id` and `X-RateLimit-*`. An unknown path is answered with `not_found` (404), a known path with another method with `method_not_allowed` (405).",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      version,
    },
    servers: [{ url: BASE }],
    tags: Object.entries(GROUPS)
      .filter(([name]) => operations.some(({ group }) => group === name))
      .map(([name, description]) => ({ name: name as Group, description })),
    paths: pathsOf({ operations, buckets, schemas, components, errors, streams }),
    webhooks,
    components: {
      schemas: components,
      parameters: PARAMETERS,
      responses: sharedErrorResponses(errors),
      headers: HEADERS,
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", bearerFormat: "ctx_…", description: "An API key of the project." },
      },
    },
  };
}

/** Converts a route template to a path of the document: `/v1/memories/:id` → `/memories/{id}`. */
export function openApiPath(path: string): string {
  invariant(path.startsWith(`${BASE}/`), `the operation at ${path} is not below ${BASE}`);
  return path.slice(BASE.length).replace(/:(\w+)/g, "{$1}");
}

/** How often one key may call an operation, and which operations share that limit. */
export interface OperationRateLimit {
  /** Number of requests per minute; null if there is no limit. */
  readonly perMinute: number | null;
  /** Names of the other operations that share the limit. */
  readonly sharedWith: readonly string[];
}

/** The rate limit of an operation among all `operations`. */
export function rateLimitOf(
  operation: Operation,
  operations: readonly Operation[],
  buckets: RateBuckets,
): OperationRateLimit {
  const { name, limit } = buckets.bucketOf(operation.method, operation.path);
  const sharedWith = operations
    .filter((other) => other !== operation && buckets.bucketOf(other.method, other.path).name === name)
    .map((other) => other.name);
  return { perMinute: limit >= UNLIMITED ? null : limit, sharedWith };
}

function pathsOf(context: Context): OpenApiDocument["paths"] {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of context.operations) {
    const path = openApiPath(operation.path);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation, context) };
  }
  return paths;
}

function operationObject(operation: Operation, context: Context): OperationObject {
  const { schemas, errors, components } = context;
  const limit = rateLimitOf(operation, context.operations, context.buckets);
  const codes = faultsOf(operation);
  const successes = Object.entries(operation.answers).map(([status, answer]) => {
    const schema = answer === null ? null : schemas.of(answer);
    return [Number(status), successResponse(operation, Number(status), schema, context)] as const;
  });
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: descriptionOf(operation, limit),
    tags: [operation.group],
    security: [{ apiKey: operation.scope === null ? [] : [operation.scope] }],
    parameters: [
      ...pathParameters(operation.path),
      ...queryParameters(operation, schemas, components),
      ...(operation.isIdempotent ? [reference("parameters", "IdempotencyKey")] : []),
      ...(operation.answersFile === true
        ? ["Range", "IfNoneMatch", "IfRange"].map((name) => reference("parameters", name))
        : []),
      reference("parameters", "RequestId"),
    ],
    ...(operation.body !== null && {
      requestBody: requestBody(operation, schemas.of(operation.body), components),
    }),
    responses: Object.fromEntries([...successes, ...errorResponses(codes, operation.conventions ?? "own", errors)]),
    "x-scope": operation.scope,
    "x-confined-keys": operation.isForConfinedKeys ?? true,
    "x-rate-limit-per-minute": limit.perMinute,
    "x-rate-limit-shared-with": limit.sharedWith,
    "x-idempotent": operation.isIdempotent ?? false,
    "x-error-codes": codes,
  };
}

function descriptionOf(operation: Operation, { perMinute, sharedWith }: OperationRateLimit): string {
  const isConfinable = operation.isForConfinedKeys ?? true;
  const together = sharedWith.length === 0 ? "" : `, shared with ${sharedWith.map(code).join(", ")}`;
  return [
    `${operation.scope === null ? "Requires a valid key, with any scope." : `Requires the scope ${code(operation.scope)}.`} ${
      isConfinable
        ? "A key that is confined to one user may call it, for that user only."
        : "A key that is confined to one user may not call it."
    }`,
    perMinute === null ? "Not rate-limited." : `At most ${perMinute} requests per minute and key${together}.`,
    ...(operation.isIdempotent ? ["Supports an `Idempotency-Key`."] : []),
    ...(operation.conventions === "openai" ? ["Errors have OpenAI's form."] : []),
    ...(operation.streams === "always" ? ["Answers with Server-Sent Events."] : []),
    ...(operation.streams === "when asked" ? ["Answers with Server-Sent Events if `stream` is true."] : []),
  ].join("\n\n");
}

function pathParameters(path: string): ParameterObject[] {
  const parts = path.split("/");
  return parts.flatMap((part, at) => {
    if (!part.startsWith(":")) return [];
    const name = part.slice(1);
    const resource = singular(parts.slice(0, at).findLast((earlier) => !earlier.startsWith(":")) ?? "");
    const ofResource = resource === "user" ? "Your application's id of the user." : `Id of the ${resource}.`;
    const [description, example] = OTHER_PATH_PARAMETERS[name] ?? [ofResource, exampleOfResource(resource)];
    return [{ name, in: "path", required: true, description, schema: { type: "string", minLength: 1 }, example }];
  });
}

function queryParameters({ query, group }: Operation, schemas: SchemaCollection, components: Components) {
  const object = schemas.of(query);
  const required = query.required ?? [];
  const examples = exampleOf(object, { components, group }) as Readonly<Record<string, unknown>>;
  return Object.entries((object.properties ?? {}) as Readonly<Record<string, JsonSchema>>).map(
    ([name, property]): ParameterObject => {
      const { description, ...schema } = property;
      const isRequired = required.includes(name);
      return {
        name,
        in: "query",
        required: isRequired,
        ...(typeof description === "string" && { description }),
        schema,
        ...(isRequired && { example: examples[name] }),
      };
    },
  );
}

function requestBody(
  operation: Operation,
  schema: JsonSchema,
  components: Components,
): NonNullable<OperationObject["requestBody"]> {
  const required = !(operation.isBodyOptional ?? false);
  if (!operation.takesFile) {
    return {
      required,
      content: { "application/json": { schema, example: exampleOf(schema, { components, group: operation.group }) } },
    };
  }
  const file = {
    type: "string",
    format: "binary",
    contentMediaType: "application/octet-stream",
    description: `PDF, DOCX, XLSX, PPTX, ODT, ODS, ODP, RTF, EPUB, TXT, Markdown, HTML, CSV, JSON, XML, YAML, IPYNB, SRT, VTT, ICS, VCF, EML, MSG, MBOX, ZIP or source code, at most ${byteText(LIMITS.uploadBytes)}`,
  };
  const { properties, required: others, ...rest } = schema;
  const form = {
    ...rest,
    required: ["file", ...((others ?? []) as string[])],
    properties: { file, ...(properties as object) },
  };
  const example = { file: "notes.pdf", ...(exampleOf(schema, { components, group: operation.group }) as object) };
  return { required, content: { "multipart/form-data": { schema: form, example } } };
}

/** The requests that webhooks receive. Every event except `webhook.test` is about a memory. */
function webhookObjects(schemas: SchemaCollection): Record<string, object> {
  const data = (event: WebhookEvent) =>
    event === "webhook.test" ? Type.Object({ webhook_id: Type.String() }) : MemoryWithoutContent;
  return Object.fromEntries(
    WEBHOOK_EVENTS.map((event) => [
      event,
      {
        post: {
          operationId: event,
          summary: `Sent for ${event}.`,
          parameters: ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => ({
            name,
            in: "header",
            required: true,
            schema: { type: "string" },
          })),
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: schemas.of(Type.Object({ type: Type.Literal(event), timestamp: Time, data: data(event) })),
              },
            },
          },
          responses: { "2XX": { description: "Received. After any other answer the event is sent again." } },
        },
      },
    ]),
  );
}

function code(text: string): string {
  return `\`${text}\``;
}
