// Types of the parts of OpenAPI 3.1 that Mneme writes or reads (spec.openapis.org/oas/v3.1.0).

import type { FaultCode } from "../domain/fault.ts";
import type { Components } from "./examples.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { Group } from "./operation.ts";

/** A reference into `components`. */
export interface Reference {
  readonly $ref: string;
}

/** A path, query or header parameter. */
export interface ParameterObject {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

/** A body in one media type. */
export interface MediaType {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** One answer of an operation. */
export interface ResponseObject {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

/** One operation. */
export interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  readonly tags: readonly [Group];
  readonly security: readonly [{ readonly apiKey: readonly string[] }];
  readonly parameters: readonly (ParameterObject | Reference)[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
  readonly "x-scope": string | null;
  /** Whether a key that is confined to one user may call it. */
  readonly "x-confined-keys": boolean;
  /** Requests per minute and key; null if there is no limit. */
  readonly "x-rate-limit-per-minute": number | null;
  /** Operations that share the rate limit. */
  readonly "x-rate-limit-shared-with": readonly string[];
  /** Whether it supports an Idempotency-Key. */
  readonly "x-idempotent": boolean;
  readonly "x-error-codes": readonly FaultCode[];
}

/** The document. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly summary: string;
    /** Markdown. */
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
    readonly version: string;
  };
  readonly servers: readonly [{ readonly url: string }];
  readonly tags: readonly { readonly name: Group; readonly description: string }[];
  /** Operations by path, then by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  /** Requests that webhooks receive, by event. */
  readonly webhooks: Readonly<Record<string, object>>;
  readonly components: {
    readonly schemas: Components;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: Readonly<Record<string, object>>;
    readonly securitySchemes: object;
  };
}
