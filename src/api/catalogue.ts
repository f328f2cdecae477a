// The catalogue of error codes: the HTTP status and the public meaning of each, and which codes an operation can
// answer. The message of a single error is written where it is thrown.

import type { FaultCode } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { byteText } from "./limits-table.ts";
import type { Operation } from "./operation.ts";

/** Status and meaning of an error code. */
export interface FaultMeaning {
  /** HTTP status of the answer. */
  readonly status: number;
  /** One or two public sentences. */
  readonly summary: string;
}

/** Every value of `error.code`, by status. */
export const FAULTS: Readonly<Record<FaultCode, FaultMeaning>> = {
  invalid_request: {
    status: 400,
    summary: "A field, parameter or header is missing, unknown or malformed; `param` names it.",
  },
  invalid_filter: {
    status: 400,
    summary:
      "`filters` name an unknown field or operator, or an operand is malformed; `param` is the path to it. Also answered when they take more than 5 s.",
  },
  invalid_cursor: {
    status: 400,
    summary: "The cursor is damaged, or belongs to another list or to other filters.",
  },
  too_many_tags: { status: 400, summary: `A memory has more than ${LIMITS.tagsPerMemory} tags.` },
  metadata_too_large: {
    status: 400,
    summary: `\`metadata\`, or an event's \`data\`, is larger than ${byteText(LIMITS.metadataBytes)} as JSON.`,
  },
  batch_too_large: {
    status: 400,
    summary: `The batch holds more than ${LIMITS.memoriesPerBatch} memories; none was stored.`,
  },
  webhook_limit_reached: {
    status: 400,
    summary: `The project already has ${LIMITS.webhooksPerProject} webhooks.`,
  },
  unsafe_url: {
    status: 400,
    summary: "The URL is not http or https, its host does not resolve, or it leads to a network that is not public.",
  },
  missing_api_key: { status: 401, summary: "The request has no `Authorization: Bearer ctx_…` header." },
  invalid_api_key: { status: 401, summary: "The API key is unknown, expired or revoked." },
  insufficient_scope: {
    status: 403,
    summary: "The API key lacks the scope, or is confined to another user.",
  },
  not_found: { status: 404, summary: "There is no such route." },
  memory_not_found: { status: 404, summary: "There is no such memory for this key." },
  file_not_found: { status: 404, summary: "The file of this memory is not kept, or it was not made from one." },
  relation_not_found: { status: 404, summary: "No person has said anything of these two memories." },
  entity_not_found: { status: 404, summary: "No memory for this key mentions such an entity." },
  chat_not_found: { status: 404, summary: "There is no such chat for this key." },
  user_not_found: { status: 404, summary: "There is no such user for this key." },
  job_not_found: { status: 404, summary: "There is no such job for this key, or it ended more than 7 days ago." },
  case_not_found: { status: 404, summary: "There is no such case in this project." },
  run_not_found: { status: 404, summary: "There is no such run in this project, or it ended more than 30 days ago." },
  webhook_not_found: { status: 404, summary: "There is no such webhook in this project." },
  delivery_not_found: { status: 404, summary: "This webhook has no such delivery." },
  key_not_found: { status: 404, summary: "There is no such API key in this project." },
  project_not_found: { status: 404, summary: "There is no such project." },
  model_not_found: { status: 404, summary: "There is no such model for this operation." },
  method_not_allowed: {
    status: 405,
    summary: "The route does not support this method; the header `Allow` lists those that it supports.",
  },
  idempotency_conflict: {
    status: 409,
    summary: "The Idempotency-Key was used with another body, or its first request is still running.",
  },
  external_id_conflict: { status: 409, summary: "Another memory of the user already has this `externalId`." },
  invalid_state: { status: 409, summary: "The resource is not in a state that allows this." },
  payload_too_large: {
    status: 413,
    summary: `The body or file is larger than ${byteText(LIMITS.uploadBytes)}.`,
  },
  unsupported_media_type: {
    status: 415,
    summary: "The operation does not accept this Content-Type, or the format of the file is not supported.",
  },
  range_not_satisfiable: {
    status: 416,
    summary: "The range begins behind the end of the file; the header `Content-Range` has its size.",
  },
  fetch_failed: {
    status: 422,
    summary: "The URL could not be fetched; the message says why. Nothing was stored or changed.",
  },
  rate_limit_exceeded: {
    status: 429,
    summary: "Too many requests in the last 60 seconds; `Retry-After` says how long to wait.",
  },
  query_quota_exceeded: {
    status: 429,
    summary:
      "The plan's queries for this month are used up; `Retry-After` counts to the end of the month. Search still works.",
  },
  document_quota_exceeded: {
    status: 429,
    summary: "The plan's number of memories is reached; deleting memories makes room.",
  },
  storage_quota_exceeded: {
    status: 429,
    summary: "The plan's storage is used up; deleting memories frees space.",
  },
  internal_error: {
    status: 500,
    summary: "Something failed inside the server; its log has the details under the `request_id`.",
  },
  llm_error: { status: 502, summary: "The language model refused, failed or gave an unusable answer." },
  overloaded: {
    status: 503,
    summary: "The server is busy; `retry_after_seconds` says when to try again.",
  },
  unavailable: {
    status: 503,
    summary:
      "The database cannot be used at the moment, the data is being moved, or this node answers no requests; `retry_after_seconds` says when to try again.",
  },
  model_unavailable: {
    status: 503,
    summary: "The embedding or reranking model is not ready; `retry_after_seconds` says when to try again.",
  },
  llm_timeout: { status: 504, summary: "The language model did not answer in time." },
};

/** Every code, in the catalogue's order. */
export const FAULT_CODES = Object.keys(FAULTS) as readonly FaultCode[];

const OF_EVERY_OPERATION: readonly FaultCode[] = [
  "invalid_request",
  "missing_api_key",
  "invalid_api_key",
  "insufficient_scope",
  "rate_limit_exceeded",
  "internal_error",
  "overloaded",
  "unavailable",
];
const WITH_A_BODY: readonly FaultCode[] = ["payload_too_large", "unsupported_media_type"];
const WHEN_IDEMPOTENT: readonly FaultCode[] = ["idempotency_conflict"];

/**
 * The codes that an operation can answer, in the catalogue's order: the codes that every operation of its kind can
 * answer, and the operation's own.
 */
export function faultsOf(
  operation: Pick<Operation, "body" | "takesFile" | "isIdempotent" | "faults">,
): readonly FaultCode[] {
  const codes = new Set([
    ...OF_EVERY_OPERATION,
    ...(operation.body !== null || operation.takesFile ? WITH_A_BODY : []),
    ...(operation.isIdempotent ? WHEN_IDEMPOTENT : []),
    ...(operation.faults ?? []),
  ]);
  return FAULT_CODES.filter((code) => codes.has(code));
}
