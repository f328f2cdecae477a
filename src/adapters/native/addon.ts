// Loads the native core and translates its errors. No other file loads the addon.
// Its types are in `addon-types.ts`.

import { createRequire } from "node:module";
import { errorMessage } from "../../kit/error-message.ts";
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
 * Returns the addon. Its functions and methods throw or reject with a `NativeError`. The first call loads it, so that a
 * process that never uses the native core does not map the library.
 *
 * Keys of memories and chunks are from 1 to 2^64-2. Reads run on worker threads of the runtime, short ones at once.
 * Changes of a project run in the order of their calls on one thread per project. No call blocks the JavaScript thread
 * for long: adding a slice of chunks takes about 10 ms, `show` of very many memories longer, a vector search that runs
 * at once less than 1 ms, everything else microseconds.
 */
export function addon(): NativeAddon {
  if (loaded === undefined) {
    const path = nativeLibraryPath();
    let exported: NativeAddon;
    try {
      exported = createRequire(import.meta.url)(path) as NativeAddon;
    } catch (cause) {
      throw new NativeError("io", `cannot load ${path}; build it with: bun native/build.ts`, { cause });
    }
    translateErrors(exported);
    for (const item of Object.values(exported) as readonly { readonly prototype: object }[]) {
      translateErrors(item.prototype); // the methods of a class
    }
    loaded = exported;
  }
  return loaded;
}

/** Replaces the functions of an object by ones whose errors are `NativeError`s. Classes stay the same. */
function translateErrors(owner: object): void {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
    const isMethod = typeof value === "function" && Object.getOwnPropertyNames(value.prototype ?? {}).length < 2;
    if (isMethod && name !== "constructor") Object.assign(owner, { [name]: translated(value) });
  }
}

/** Number of calls of this thread that have not settled. */
let callsInProgress = 0;
/** Resolves what `nativeCallsEnded` waits for. */
let onCallsEnded = () => {};

/** Waits until no native code runs for this thread, for at most `timeoutMs`. New calls must not begin meanwhile. */
export async function nativeCallsEnded(timeoutMs: number): Promise<void> {
  if (callsInProgress === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  onCallsEnded = resolve;
  const timer = Number.isFinite(timeoutMs) ? setTimeout(resolve, timeoutMs) : undefined;
  await promise;
  clearTimeout(timer);
}

function endCall(): void {
  callsInProgress -= 1;
  if (callsInProgress === 0) onCallsEnded();
}

function translated(call: (...given: unknown[]) => unknown) {
  return function (this: unknown, ...given: unknown[]): unknown {
    try {
      const result = call.apply(this, given);
      if (!(result instanceof Promise)) return result;
      callsInProgress += 1;
      return result.finally(endCall).catch(rethrow);
    } catch (cause) {
      return rethrow(cause);
    }
  };
}

/**
 * Throws a `NativeError` for an error whose message is `<code>: <detail>`. A message without a code comes from Node-API
 * itself, and means a bug.
 */
function rethrow(cause: unknown): never {
  const message = errorMessage(cause);
  const separator = message.indexOf(": ");
  const code = ERROR_CODES.find((known) => known === message.slice(0, separator));
  if (code === undefined) throw new NativeError("bug", message, { cause });
  throw new NativeError(code, message.slice(separator + 2), { cause });
}
