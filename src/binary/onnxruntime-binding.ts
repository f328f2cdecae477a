// Replaces onnxruntime-node's dist/binding.js (1.30.0) in the installed program, because its loader looks for
// node_modules. It has the same two exports and takes the library from the folder of the program. build.ts inserts it.

import { isMainThread } from "node:worker_threads";
import { env, Tensor } from "onnxruntime-common";
import { loadInstalled } from "./installed.ts";

/** Log levels with the numbers that the native library uses. */
const LOG_LEVELS = ["verbose", "info", "warning", "error", "fatal"];

/** The package's native library. */
export const binding = loadInstalled("onnxruntime_binding.node") as {
  /** Initialises the library with the class of the result tensors; must be called once. */
  initOrtOnce(logLevel: number, tensor: typeof Tensor, isMainThread: boolean): void;
};

let isInitialised = false;

/** Initialises the library. The package calls it before each new session. */
export function initOrt(): void {
  if (isInitialised) return;
  isInitialised = true;
  binding.initOrtOnce(LOG_LEVELS.indexOf(env.logLevel ?? "warning"), Tensor, isMainThread);
}
