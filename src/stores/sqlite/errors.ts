// Converts errors of SQLite and the operating system to StoreErrors.

import { StoreError, type StoreFileCode, storeError } from "../store-error.ts";

/** Text of the error of a change that closing.ts refuses. */
export const CLOSED_MESSAGE = "mneme: closed to changes";

const CODES: readonly (readonly [RegExp, StoreFileCode])[] = [
  [/^SQLITE_(NOTADB|CORRUPT)/, "damaged"],
  [/^SQLITE_(READONLY|PERM)|^(EACCES|EPERM|EROFS)$/, "read_only"],
  [/^SQLITE_FULL|^(ENOSPC|EDQUOT)$/, "no_space"],
  [/^SQLITE_(BUSY|LOCKED)/, "locked"],
  [/^SQLITE_(CANTOPEN|IOERR|PROTOCOL|NOLFS)|^E[A-Z]+$/, "io"],
];

/**
 * Converts a failure of the file to a StoreError. Other errors, such as a mistake in Mneme's own SQL, stay as they are.
 */
export function toStoreError(path: string, error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const code = hasCode(error) ? error.code : undefined;
  if (code === "SQLITE_CONSTRAINT_TRIGGER" && error instanceof Error && error.message === CLOSED_MESSAGE) {
    return storeError("closed", path, error);
  }
  const known = CODES.find(([pattern]) => code !== undefined && pattern.test(code));
  return known === undefined ? error : storeError(known[1], path, error);
}

function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}
