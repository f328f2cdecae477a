// Says in one line why a GPU cannot be used: the cause in an error of onnxruntime, without its paths and source lines.

import { join } from "node:path";

/** Maximum length of a reason in characters, for errors of unknown form. */
const REASON_LENGTH_MAX = 200;
const CUDA_LIBRARY = "libonnxruntime_providers_cuda.so";
const LIBRARY_NOT_LOADED = "Failed to load shared library";

/** The cause of an error that onnxruntime threw when it used the CUDA provider. */
export function failureReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
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
 * What the system's loader says about the provider library. onnxruntime writes this to standard error only. It has
 * tried to load the library before, so loading it once more has no further effect.
 */
function loaderMessage(): string {
  // A lane's search path begins with the folder that has the library.
  const [folder = ""] = (process.env.LD_LIBRARY_PATH ?? "").split(":");
  try {
    process.dlopen({ exports: {} }, join(folder, CUDA_LIBRARY));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, name, what] = /([^/\s]+): ([^:/]+(?::[^:/]+)?)$/.exec(message) ?? [];
    if (name === "libcuda.so.1") return "no NVIDIA driver is installed (libcuda.so.1 is missing)";
    if (!message.includes("napi")) return name === undefined ? "the loader refuses it" : `${name}: ${what}`;
  }
  return "onnxruntime refuses it";
}
