// Files that may be missing: reads them, or treats the error of a missing one as null.

import { readFileSync, statSync } from "node:fs";

/**
 * Returns null if the error says that a file does not exist, as in `readFile(path).catch(nullIfMissing)`. Throws any
 * other error.
 */
export function nullIfMissing(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}

/** Whether a file does not exist or is empty: nothing can be read from it in either case. */
export function isMissingOrEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** The content of a file; null if it does not exist. */
export function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    return nullIfMissing(error);
  }
}

/** The text of a file; empty if it does not exist, as files of Linux on other systems. */
export function textIfThere(path: string): string {
  return readIfThere(path)?.toString("utf8") ?? "";
}
