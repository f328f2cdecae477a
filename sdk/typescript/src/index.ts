// The client of Mneme, a self-hosted memory and retrieval engine. README.md is a tour.

export type * from "./core/types.gen.ts";
export {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  InvalidAnswerError,
  InvalidRequestError,
  MnemeError,
  NotFoundError,
  PermissionError,
  ProcessingError,
  RateLimitError,
  ServerError,
  StreamError,
  TimeoutError,
  WaitTimeoutError,
  WebhookVerificationError,
} from "./errors.ts";
export type { List, Page } from "./list.ts";
export { Mneme, type MnemeOptions } from "./mneme.ts";
export type { FilePart, KeptFile, StoreOptions, UploadOptions } from "./resources/memories.ts";
export type { AnswerEvent, AnswerStream, CompletionStream } from "./streams.ts";
export type { CallOptions, WriteOptions } from "./transport.ts";
export type * from "./types.ts";
export type { UploadProgress } from "./upload.ts";
export { VERSION } from "./version.ts";
export type { WaitOptions } from "./wait.ts";
export { type MessageHeaders, type VerifyOptions, verifyWebhook, type WebhookMessage } from "./webhook.ts";
