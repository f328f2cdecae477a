// What can go wrong that a caller or the world is to blame for: one catalogue of codes, with a public message each
// time one is thrown. Which HTTP status a code becomes is the business of api/errors.ts; the domain knows no status.

/** Every code that an answer's `error.code` can hold, as the interface names them. */
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
  | "chat_not_found"
  | "user_not_found"
  | "webhook_not_found"
  | "delivery_not_found"
  | "key_not_found"
  | "project_not_found"
  | "method_not_allowed"
  | "idempotency_conflict"
  | "external_id_conflict"
  | "invalid_state"
  | "payload_too_large"
  | "unsupported_media_type"
  | "rate_limit_exceeded"
  | "query_quota_exceeded"
  | "document_quota_exceeded"
  | "storage_quota_exceeded"
  | "internal_error"
  | "llm_error"
  | "overloaded"
  | "model_unavailable"
  | "llm_timeout";

/** What a fault may carry beside its code and message. */
export interface FaultDetail {
  /** The field, query parameter or header at fault, as the caller wrote it (`memories[3].tags`). */
  readonly param?: string;
  /** Seconds after which trying again makes sense. */
  readonly retryAfterSeconds?: number;
  /** Methods that a path takes, where another one was used. */
  readonly allow?: readonly string[];
  /** Singly refused items of a batch. */
  readonly items?: readonly { readonly index: number; readonly error: Fault }[];
  /** What happened inside, for the log only. */
  readonly cause?: unknown;
}

/** A refusal or failure that a caller is told about. `message` is public: it says what is wrong and what would be right. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[];
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
    this.items = detail.items;
  }
}

/**
 * States what must hold. Throws an Error that ends "this is a bug in Mneme" when it does not; such an error is logged
 * and answered as 500, never swallowed.
 */
export function invariant(holds: unknown, sentence: string): asserts holds {
  if (!holds) throw new Error(`${sentence}: this is a bug in Mneme`);
}
