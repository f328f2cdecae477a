// Errors caused by the caller or by the outside world: the catalogue of codes and the exception that carries them. The
// HTTP status of each code is in api/catalogue.ts.

/** Every value of `error.code` in the API. */
export type FaultCode =
  | "invalid_request"
  | "invalid_filter"
  | "invalid_cursor"
  | "too_many_tags"
  | "metadata_too_large"
  | "batch_too_large"
  | "webhook_limit_reached"
  | "unsafe_url"
  | "missing_api_key"
  | "invalid_api_key"
  | "insufficient_scope"
  | "not_found"
  | "memory_not_found"
  | "file_not_found"
  | "relation_not_found"
  | "entity_not_found"
  | "chat_not_found"
  | "user_not_found"
  | "job_not_found"
  | "case_not_found"
  | "run_not_found"
  | "webhook_not_found"
  | "delivery_not_found"
  | "key_not_found"
  | "project_not_found"
  | "model_not_found"
  | "method_not_allowed"
  | "idempotency_conflict"
  | "external_id_conflict"
  | "invalid_state"
  | "payload_too_large"
  | "unsupported_media_type"
  | "range_not_satisfiable"
  | "fetch_failed"
  | "rate_limit_exceeded"
  | "query_quota_exceeded"
  | "document_quota_exceeded"
  | "storage_quota_exceeded"
  | "internal_error"
  | "llm_error"
  | "overloaded"
  | "unavailable"
  | "model_unavailable"
  | "llm_timeout";

/** Optional details of a fault. */
export interface FaultDetail {
  /** The field, query parameter or header at fault, as the caller wrote it, such as `memories[3].tags`. */
  readonly param?: string;
  /** Seconds to wait before a retry. */
  readonly retryAfterSeconds?: number;
  /** Methods that the path supports, if the request used another one. */
  readonly allow?: readonly string[];
  /** Size of the file of which a range was asked, in bytes. */
  readonly fileBytes?: number;
  /** Refused items of a batch, each with its error. */
  readonly items?: readonly { readonly index: number; readonly error: Fault }[];
  /** The internal cause, for the log only. */
  readonly cause?: unknown;
}

/** An error that is reported to the caller. `message` is public: it says what is wrong and how to correct it. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[];
  readonly fileBytes: number | undefined;
  readonly items: FaultDetail["items"];

  constructor(
    readonly code: FaultCode,
    message: string,
    detail: FaultDetail = {},
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.param = detail.param;
    this.retryAfterSeconds = detail.retryAfterSeconds;
    this.allow = detail.allow ?? [];
    this.fileBytes = detail.fileBytes;
    this.items = detail.items;
  }
}

const OUTAGES: ReadonlySet<FaultCode> = new Set(["model_unavailable", "overloaded", "unavailable"]);

/** Retry hint in seconds while data is moved to another store, which takes minutes to hours. */
const CLOSED_RETRY_SECONDS = 60;

/** The fault of a change while the data is moved to another store. */
export function faultOfClosedStore(cause: unknown): Fault {
  const message =
    "The data is being moved to another server: it can be read, but not changed. Nothing of this request was stored; try again later.";
  return new Fault("unavailable", message, { retryAfterSeconds: CLOSED_RETRY_SECONDS, cause });
}

/** Retry hint in seconds for a full disk: a person has to free space first, which takes a while. */
const FULL_DISK_RETRY_SECONDS = 60;

/** The fault of a request that stores something while the disk is full. @param advice what the caller can do */
export function faultOfFullDisk(cause?: unknown, advice = "try again later"): Fault {
  const message = `The server's disk is full. Nothing of this request was stored; ${advice}.`;
  return new Fault("overloaded", message, { retryAfterSeconds: FULL_DISK_RETRY_SECONDS, cause });
}

/** Whether a call failed only because something it needs is down or full. The same call may succeed later. */
export function isOutage(error: unknown): boolean {
  return error instanceof Fault && OUTAGES.has(error.code);
}

/**
 * Checks an internal assumption. Throws an Error that ends with "this is a bug in Mneme" if the assumption is false.
 * Such an error is logged and answered with 500.
 */
export function invariant(holds: unknown, sentence: string): asserts holds {
  if (!holds) throw new Error(`${sentence}: this is a bug in Mneme`);
}
