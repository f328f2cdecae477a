// How the native core comes into a process, and how its errors come out of it. The only file that loads the addon; what it
// offers is typed by those who use it.

import { createRequire } from "node:module";
import { nativeLibraryPath } from "./library.ts";

const ERROR_CODES = ["damaged", "io", "no_space", "locked", "invalid", "too_dear", "closed", "bug"] as const;

/** What a caller can do about a native error; see native/src/error.rs. */
export type NativeErrorCode = (typeof ERROR_CODES)[number];

/** An error of the native core. `detail` is for the log: it may hold paths and values. */
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

let loaded: unknown;

/**
 * Loads the addon at its first use, so that a process that never uses it never maps it.
 * `Part` is what the caller knows of it; native/src/bindings/ holds the whole.
 */
export function loadAddon<Part>(): Part {
  if (loaded === undefined) {
    const path = nativeLibraryPath();
    try {
      loaded = createRequire(import.meta.url)(path);
    } catch (cause) {
      throw new NativeError("io", `cannot load ${path}; build it with: bun native/build.ts`, { cause });
    }
  }
  return loaded as Part;
}

/** Takes `<code>: <detail>` apart. Whatever else was thrown comes from the seam itself, and is a bug. */
function toNativeError(cause: unknown): NativeError {
  if (cause instanceof NativeError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const separator = message.indexOf(": ");
  const code = ERROR_CODES.find((known) => known === message.slice(0, separator));
  if (code === undefined) return new NativeError("bug", message, { cause });
  return new NativeError(code, message.slice(separator + 2), { cause });
}

/** Calls the addon; what it throws becomes a `NativeError`. */
export function translated<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (cause) {
    throw toNativeError(cause);
  }
}

/** The same for what takes its time. */
export async function translatedAsync<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (cause) {
    throw toNativeError(cause);
  }
}
