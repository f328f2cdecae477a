// Loads the native core and translates its errors. No other file loads the addon.
// Its types are in `addon-types.ts`; `core.ts` and `model-encoder.ts` wrap them.

import { createRequire } from "node:module";
import type { Eventually } from "../../kit/eventually.ts";
import type { NativeAddon } from "./addon-types.ts";
import { nativeLibraryPath } from "./library.ts";

const ERROR_CODES = [
  "damaged",
  "io",
  "no_space",
  "locked",
  "invalid",
  "other_model",
  "too_dear",
  "closed",
  "bug",
] as const;

/** What a caller can do about a native error; see `native/src/error.rs`. */
export type NativeErrorCode = (typeof ERROR_CODES)[number];

/** An error of the native core. `detail` is only for the log, because it may contain paths and values. */
export class NativeError extends Error {
  override readonly name = "NativeError";
  readonly code: NativeErrorCode;
  readonly detail: string;

  constructor(code: NativeErrorCode, detail: string, options?: ErrorOptions) {
    super(`native core: ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }
}

let loaded: NativeAddon | undefined;

/**
 * Returns the addon. The first call loads it, so that a process that never uses the native core does not map the
 * library.
 */
export function addon(): NativeAddon {
  if (loaded === undefined) {
    const path = nativeLibraryPath();
    try {
      loaded = createRequire(import.meta.url)(path) as NativeAddon;
    } catch (cause) {
      throw new NativeError("io", `cannot load ${path}; build it with: bun native/build.ts`, { cause });
    }
  }
  return loaded;
}

/**
 * Makes a `NativeError` from an error whose message is `<code>: <detail>`. A message without a code comes from Node-API
 * itself, and means a bug.
 */
function toNativeError(cause: unknown): NativeError {
  if (cause instanceof NativeError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const separator = message.indexOf(": ");
  const code = ERROR_CODES.find((known) => known === message.slice(0, separator));
  if (code === undefined) return new NativeError("bug", message, { cause });
  return new NativeError(code, message.slice(separator + 2), { cause });
}

/** Runs a call of the addon and turns an error that it throws into a `NativeError`. */
export function translated<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (cause) {
    throw toNativeError(cause);
  }
}

/** Like `translated`, for calls that can return a promise. */
export async function translatedAsync<Result>(call: () => Eventually<Result>): Promise<Result> {
  try {
    return await call();
  } catch (cause) {
    throw toNativeError(cause);
  }
}
