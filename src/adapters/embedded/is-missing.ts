// Whether a file of a store is missing.

import { statSync } from "node:fs";

/** Whether a file does not exist or is empty: nothing can be read from it in either case. */
export function isMissingOrEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}
