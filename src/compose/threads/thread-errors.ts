// Converts errors that pass from one thread to another. Those that callers distinguish keep their class; any other one
// becomes an Error with the same message and stack, for the log.

import { Fault, type FaultCode } from "../../domain/fault.ts";
import { LlmError, type LlmFailure } from "../../ports/language-model.ts";
import { StoreError, type StoreErrorCode } from "../../stores/store-error.ts";

/** An error as it is sent. */
export interface SentError {
  readonly kind: "fault" | "store" | "model" | "aborted" | "other";
  readonly message: string;
  readonly stack: string;
  /** Code of a Fault or StoreError, reason of an LlmError; otherwise empty. */
  readonly code: string;
  /** The details of a Fault. */
  readonly detail: Pick<Fault, "param" | "retryAfterSeconds" | "allow" | "fileBytes"> | null;
  /** The details of an LlmError. */
  readonly ofModel: Pick<LlmError, "status" | "retryAfterMs" | "usage"> | null;
}

/** Prepares an error for another thread. */
export function sentError(error: unknown): SentError {
  const { message, stack = "" } = error instanceof Error ? error : new Error(String(error));
  const sent = { message, stack, code: "", detail: null, ofModel: null };
  if (error instanceof Fault) {
    const { code, param, retryAfterSeconds, allow, fileBytes } = error;
    return { ...sent, kind: "fault", code, detail: { param, retryAfterSeconds, allow, fileBytes } };
  }
  if (error instanceof LlmError) {
    const { reason, status, retryAfterMs, usage } = error;
    return { ...sent, kind: "model", code: reason, ofModel: { status, retryAfterMs, usage } };
  }
  if (error instanceof StoreError) return { ...sent, kind: "store", code: error.code };
  return { ...sent, kind: error instanceof Error && error.name === "AbortError" ? "aborted" : "other" };
}

/** The error that another thread has sent. */
export function receivedError({ kind, message, stack, code, detail, ofModel }: SentError): Error {
  if (kind === "fault") {
    const { param, retryAfterSeconds, allow = [], fileBytes } = detail ?? {};
    return new Fault(code as FaultCode, message, {
      allow,
      ...(param !== undefined && { param }),
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(fileBytes !== undefined && { fileBytes }),
    });
  }
  if (kind === "model" && ofModel !== null) {
    const { status, retryAfterMs, usage } = ofModel;
    return new LlmError(code as LlmFailure, message, {
      usage,
      ...(status !== null && { status }),
      ...(retryAfterMs !== null && { retryAfterMs }),
    });
  }
  if (kind === "store") return new StoreError(code as StoreErrorCode, message);
  if (kind === "aborted") return new DOMException(message, "AbortError");
  return Object.assign(new Error(message), { stack });
}
