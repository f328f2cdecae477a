// Files of a store that may be missing.

import { readFileSync, statSync } from "node:fs";
import { nullIfMissing } from "./if-missing.ts";

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
