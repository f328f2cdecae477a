// Stands in the single binary for onnxruntime-node's dist/binding.js (1.30.0), whose loader looks for node_modules:
// the same two exports, with the library taken from the runtime folder. build.ts puts it there.

import { isMainThread } from "node:worker_threads";
import { env, Tensor } from "onnxruntime-common";
import { loadUnpacked } from "./runtime.ts";

/** As the package's library counts them. */
const LOG_LEVELS = ["verbose", "info", "warning", "error", "fatal"];

/** The package's native library. */
export const binding = loadUnpacked("onnxruntime_binding.node") as {
  /** Hands the class that results are made of over to the library; to be called once. */
  initOrtOnce(logLevel: number, tensor: typeof Tensor, isMainThread: boolean): void;
};

let isInitialised = false;

/** Called by the package before each new session. */
export function initOrt(): void {
  if (isInitialised) return;
  isInitialised = true;
  binding.initOrtOnce(LOG_LEVELS.indexOf(env.logLevel ?? "warning"), Tensor, isMainThread);
}
