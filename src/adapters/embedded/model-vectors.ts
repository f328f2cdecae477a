// Prepares vectors for the native core, and translates its refusal.

import type { Eventually } from "../../kit/eventually.ts";
import { OtherModel } from "../../ports/chunk-index.ts";
import { NativeError } from "../native/addon.ts";

/** Runs a call of the native core and turns its error about another model into `OtherModel`. */
export async function withOtherModel<Result>(call: () => Eventually<Result>): Promise<Result> {
  try {
    return await call();
  } catch (cause) {
    if (!(cause instanceof NativeError) || cause.code !== "other_model") throw cause;
    throw new OtherModel(cause.detail, { cause });
  }
}

/** Joins vectors into one array. */
export function concatenate(parts: readonly Float32Array[]): Float32Array {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0];
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
