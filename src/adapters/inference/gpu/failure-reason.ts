// Extracts from an error of onnxruntime, in one line, why a GPU cannot be used: without paths and source lines.

import { join } from "node:path";
import { errorMessage } from "../../../kit/error-message.ts";

/** Maximum length of a reason in characters, for errors of unknown form. */
const REASON_LENGTH_MAX = 200;
const CUDA_LIBRARY = "libonnxruntime_providers_cuda.so";
const LIBRARY_NOT_LOADED = "Failed to load shared library";

/** The cause of an error that onnxruntime threw when it used the CUDA provider. */
export function failureReason(error: unknown): string {
  const message = errorMessage(error);
  const [, cuda] = /\b((?:CUDA|CUBLAS|CUDNN) failure [^;]+?) ?;/.exec(message) ?? [];
  if (cuda !== undefined) return cuda;
  if (message.includes(LIBRARY_NOT_LOADED)) return `${CUDA_LIBRARY} cannot be loaded: ${loaderMessage()}`;
  const readable = message
    .replaceAll(/\S*\/\S*/g, "…")
    .replaceAll(/\s+/g, " ")
    .trim();
  return readable.slice(0, REASON_LENGTH_MAX);
}

/**
 * Why the system's loader cannot load the provider library. onnxruntime writes this to standard error only, so the
 * library is loaded once more here. That has no other effect, because onnxruntime has tried it before.
 */
function loaderMessage(): string {
  // A lane's search path begins with the folder that has the library.
  const [folder = ""] = (process.env.LD_LIBRARY_PATH ?? "").split(":");
  try {
    process.dlopen({ exports: {} }, join(folder, CUDA_LIBRARY));
  } catch (error) {
    const message = errorMessage(error);
    const [, name, what] = /([^/\s]+): ([^:/]+(?::[^:/]+)?)$/.exec(message) ?? [];
    if (name === "libcuda.so.1") return "no NVIDIA driver is installed (libcuda.so.1 is missing)";
    if (!message.includes("napi")) return name === undefined ? "the loader refuses it" : `${name}: ${what}`;
  }
  return "onnxruntime refuses it";
}
