// Converts errors of DuckDB, which have no codes, to StoreErrors. Their messages contain those of the operating system.

import { StoreError, type StoreFileCode, storeError } from "../../../stores/store-error.ts";

const CODES: readonly (readonly [RegExp, StoreFileCode])[] = [
  [/No space left|disk quota|not enough space|File too large/i, "no_space"],
  [/Could not set lock|Conflicting lock|already (open|attached)/i, "locked"],
  [/Permission denied|Read-only file system|read-only mode/i, "read_only"],
  [/not a valid DuckDB database|corrupt|checksum|Serialization Error|enough bytes|could not read/i, "damaged"],
  [/^(Error: )?IO Error/i, "io"],
];

/**
 * Converts a failure of the file to a StoreError. Other errors, such as a mistake in Mneme's own SQL, stay as they are.
 */
export function toStoreError(path: string, error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const known = CODES.find(([pattern]) => pattern.test(String(error)));
  return known === undefined ? error : storeError(known[1], path, error);
}

/** Another call made DuckDB refuse all calls. */
export const INVALIDATED = /database has been invalidated/i;
/** DuckDB refuses all further calls until the file is opened again. */
export const UNUSABLE = /FATAL Error|database has been invalidated/i;
/** The commit is durable, although the call failed. */
export const COMMITTED = /COMMIT succeeded and is durable/i;
/** The transaction conflicts with another one, or has ended. */
export const CONFLICT = /Transaction(Context)? Error/i;
/** There is nothing to roll back. */
export const NO_TRANSACTION = /no transaction is active/i;
