// Errors of the PostgreSQL store, with messages that tell the operator what to do. Callers never see these messages,
// because they name the server. Mistakes of callers are Faults (domain/fault.ts).

import { Fault, faultOfClosedStore } from "../../domain/fault.ts";
import { UnknownOutcome } from "../../ports/transactions.ts";

/**
 * invalid_url: the address is not one of PostgreSQL. unreachable: no server answers. refused: wrong user or password.
 * missing: there is no such database. rights: the user may not do this. too_old, encoding, standby: the server or
 * database cannot be used. newer_schema, older_schema: another version of Mneme made the tables.
 * full: the server has no disk space or no connection left. lost: the connection ended or the server did not answer in
 * time, so whether a commit happened is unknown. busy: another transaction takes too long, or both would wait for each
 * other. slow: the server takes too long for the statements of one transaction. closed: the data is being moved and
 * cannot be changed. unfinished, not_empty: a move into the database has not ended, or cannot begin.
 */
export type DatabaseErrorCode =
  | "invalid_url"
  | "unreachable"
  | "refused"
  | "missing"
  | "rights"
  | "too_old"
  | "encoding"
  | "standby"
  | "newer_schema"
  | "full"
  | "lost"
  | "busy"
  | "slow"
  | "closed"
  | "older_schema"
  | "unfinished"
  | "not_empty";

/** The database cannot be used. `message` is one sentence that names the database and what to do about it. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";

  constructor(
    readonly code: DatabaseErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/** Errors after which the same request may succeed soon. */
const OUTAGES: ReadonlySet<DatabaseErrorCode> = new Set([
  ...(["unreachable", "standby", "full", "lost", "busy", "slow", "closed"] as const),
]);
/** Retry hint for callers in seconds: a failover to another server takes some seconds. */
const RETRY_SECONDS = 5;

/**
 * Returns the Fault for an outage, since waiting can help. Returns null for other errors: callers learn nothing of
 * them.
 */
export function faultOfDatabase(failure: unknown): Fault | null {
  const error = failure instanceof UnknownOutcome ? failure.cause : failure;
  if (!(error instanceof DatabaseError) || !OUTAGES.has(error.code)) return null;
  if (error.code === "closed") return faultOfClosedStore(error);
  return new Fault(
    "unavailable",
    "The database cannot be used at the moment. Repeat the request later, with an Idempotency-Key if it changes something.",
    { retryAfterSeconds: RETRY_SECONDS, cause: error },
  );
}

/** SQLSTATE codes, or beginnings of them, and codes of the driver. */
const CODES: readonly (readonly [RegExp, DatabaseErrorCode])[] = [
  [/^28/, "refused"],
  [/^3D000$/, "missing"],
  [/^42501$/, "rights"],
  [/^25006$/, "standby"],
  [/^53/, "full"],
  [/^(40001|40P01|55P03)$/, "busy"],
  [/^57014$/, "slow"], // a time limit for statements that the operator has set
  [/^MN001$/, "closed"],
  [
    /^(08|57P0|25P03|25P04)|^ERR_POSTGRES_(CONNECTION_CLOSED|CONNECTION_TIMEOUT|IDLE_TIMEOUT|LIFETIME_TIMEOUT)$/,
    "lost",
  ],
  [
    /^ERR_POSTGRES_(CONNECTION|TLS|UNKNOWN_AUTH|AUTHENTICATION|UNSUPPORTED_AUTH)|^(ECONN|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|ENOENT|FailedToOpenSocket)/,
    "unreachable",
  ],
];

/** The codes whose messages depend on more than the name of the database. */
type Worded = "invalid_url" | "newer_schema" | "older_schema" | "too_old" | "unfinished" | "not_empty";

const WHAT_TO_DO: Readonly<Record<Exclude<DatabaseErrorCode, Worded>, string>> = {
  unreachable: "cannot be reached: check its host and port, and that PostgreSQL runs there.",
  refused: "refused the user or password: check both in the address.",
  missing: "does not exist: create it with `createdb`, or name another one in the address.",
  rights: "does not allow this user to use or create the tables: make the user the owner of the database.",
  encoding: "does not store UTF-8: create a database with ENCODING 'UTF8'.",
  standby: "can only be read, because the server is a standby: name the primary in the address.",
  full: "has no room left on its disk or among its connections: free some, or allow more.",
  lost: "ended the connection or did not answer in time, so the last change may or may not have happened.",
  closed: "is closed, because its data is being moved or was moved: `mneme migrate --reopen` opens it again.",
  busy: "kept this transaction waiting for another one for too long.",
  slow: "took too long for a transaction, which was undone: check its load and its disk.",
};

/** Creates the error with this code for the database that `where` names. */
export function databaseError(code: keyof typeof WHAT_TO_DO, where: string, cause?: unknown): DatabaseError {
  return new DatabaseError(code, `The database ${where} ${WHAT_TO_DO[code]}`, cause);
}

/**
 * Converts an error of the driver to a DatabaseError. Other errors, such as a mistake in Mneme's own SQL, stay as they
 * are.
 * @param where user, host, port and name of the database, without the password
 */
export function toDatabaseError(where: string, error: unknown): unknown {
  if (error instanceof DatabaseError || !(error instanceof Error)) return error;
  const { errno, code, severity } = error as { errno?: unknown; code?: unknown; severity?: unknown };
  const known = [errno, code].filter((value) => typeof value === "string");
  const listed = CODES.find(([pattern]) => known.some((value) => pattern.test(value)))?.[1];
  const found = listed ?? (severity === "FATAL" ? "unreachable" : undefined); // the server refuses the connection
  return found === undefined ? error : databaseError(found as keyof typeof WHAT_TO_DO, where, error);
}
