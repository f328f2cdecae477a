// Rate limits per route: the default table, parsing of an operator's table, and the mapping from a route to its bucket.
// sliding-window.ts counts the requests.

import { invariant } from "../domain/fault.ts";
import { errorMessage } from "../kit/error-message.ts";
import { UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import { UNLIMITED } from "../ports/coordination.ts";

/** Length of the sliding window of all limits. */
export const RATE_WINDOW_MS = 60_000;

/**
 * Maximum number of requests without a valid key per client address (`failureKey` in client-address.ts) and window.
 * Applies even if the other limits are off: those protect capacity, this one prevents guessing of keys.
 */
export const AUTH_FAILURES_PER_MINUTE = 30;

/**
 * Maximum number of requests per minute, by entry. An entry such as `POST /memories` is one route. `POST *` applies to
 * each route of the method that has no entry of its own, and to unknown routes, which share one window. `* *` applies
 * to methods that no route has. Path parameters are written `{id}`. Requests with the limit UNLIMITED are not counted.
 */
export type RateLimitTable = ReadonlyMap<string, number>;

/** The default table. */
export const RATE_LIMITS: RateLimitTable = new Map([
  ["POST /memories/query", 30],
  ["POST /memories/search", 60],
  ["POST /memories", 100],
  ["POST /memories/upload", 100],
  ["POST /memories/batch", 100],
  ["POST /chats", 60],
  ["POST /chats/{id}/messages", 30],
  ["POST /chats/{id}/messages/stream", 30],
  ["POST /users", 100],
  ["POST /users/{id}/events", 100],
  // each tool call also counts as its operation, so this only bounds the messages of the protocol
  ["POST /mcp", 600],
  ["GET *", 300],
  ["DELETE *", 100],
  ["PUT *", 100],
  ["PATCH *", 100],
  ["POST *", 100],
  ["* *", 100],
]);

/** Routes that use the window of another route: both forms of search share one. */
const SAME_WINDOW: ReadonlyMap<string, string> = new Map([["GET /memories/search", "POST /memories/search"]]);

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const ANY_OTHER_METHOD = "* *";
/**
 * Maximum limit of a route: a full window of this size takes 8 MiB. An operator who wants more can set the route to
 * unlimited.
 */
const LIMIT_MAX = 1_000_000;

/** The rate-limit window that counts a request. */
export interface Bucket {
  /** Name of the window among those of an API key, such as `GET /memories/{id}`. */
  readonly name: string;
  /** Maximum number of requests per window. */
  readonly limit: number;
}

/** A route of the application, such as `GET` and `/v1/memories/:id`. */
export interface RoutePattern {
  readonly method: string;
  readonly path: string;
}

/**
 * Parses the setting: `off` (no limits), or the path of a JSON file whose entries override those of the default table:
 * `{"POST /memories/query": 60, "GET *": 1000, "GET /usage": null}`; null means no limit. `RateBuckets` checks that
 * each entry names a route.
 * @param readFile returns the text of a file; may throw.
 * @throws UsageError with one line that names the file and the entry.
 */
export function parseRateLimits(text: string, readFile: (path: string) => string): RateLimitTable {
  if (text === "off") return new Map([...RATE_LIMITS.keys()].map((name) => [name, UNLIMITED]));
  const given = new Map<string, number>();
  for (const [entry, limit] of readEntries(text, readFile)) {
    const name = entryName(entry);
    if (name === null) {
      throw new UsageError(
        `${JSON.stringify(entry)} in ${text} is not a valid entry: write one of ${METHODS.join(", ")} and a path or *, as in "GET /memories/{id}".`,
      );
    }
    if (given.has(name))
      throw new UsageError(`${text} sets ${name} twice, the second time as ${JSON.stringify(entry)}.`);
    given.set(name, limitOf(entry, limit, text));
  }
  return new Map([...RATE_LIMITS, ...given]);
}

/** Buckets of an application's routes. */
export class RateBuckets {
  readonly #byMethod = new Map<string, { readonly others: Bucket; readonly byTemplate: Map<string, Bucket> }>();
  readonly #otherMethods: Bucket;

  /** @throws UsageError if an entry of `table` names none of `routes` */
  constructor(table: RateLimitTable, routes: readonly RoutePattern[]) {
    for (const method of METHODS) {
      this.#byMethod.set(method, { others: bucketFor(`${method} *`, table), byTemplate: new Map() });
    }
    this.#otherMethods = bucketFor(ANY_OTHER_METHOD, table);

    const names = new Set(RATE_LIMITS.keys());
    for (const { method, path } of routes) {
      const ofMethod = this.#byMethod.get(method);
      if (ofMethod === undefined) continue;
      const name = windowName(method, path);
      names.add(name);
      ofMethod.byTemplate.set(path, { name, limit: table.get(name) ?? ofMethod.others.limit });
    }
    for (const name of table.keys()) {
      if (names.has(name)) continue;
      throw new UsageError(`The rate limits name ${name}, which is not a route.${didYouMean(name, [...names])}`);
    }
  }

  /**
   * The bucket of a request's route, or of its method if the route is unknown or does not have this method. HEAD counts
   * as GET. Time: two map lookups.
   * @param template path of a route; null if no route matches
   */
  bucketOf(method: string, template: string | null): Bucket {
    const ofMethod = this.#byMethod.get(method === "HEAD" ? "GET" : method);
    if (ofMethod === undefined) return this.#otherMethods;
    return (template === null ? undefined : ofMethod.byTemplate.get(template)) ?? ofMethod.others;
  }
}

function bucketFor(name: string, table: RateLimitTable): Bucket {
  const limit = table.get(name);
  invariant(limit !== undefined, `the rate limits have no entry ${name}`);
  return { name, limit };
}

function readEntries(path: string, readFile: (path: string) => string): [string, unknown][] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFile(path));
  } catch (cause) {
    const why = errorMessage(cause);
    throw new UsageError(`${path} (off, or a file of rate limits) cannot be read: ${why}`, { cause });
  }
  if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return Object.entries(parsed);
  throw new UsageError(`${path} must hold an object, as in {"POST /memories/query": 60, "GET *": 1000}.`);
}

function limitOf(entry: string, limit: unknown, path: string): number {
  if (limit === null) return UNLIMITED;
  if (typeof limit === "number" && Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new UsageError(
    `${JSON.stringify(entry)} in ${path} must be an integer from 1 to ${LIMIT_MAX}, or null for no limit, not ${JSON.stringify(limit)}.`,
  );
}

// Converts the name of an entry in the operator's file to its name in the table; null if its syntax is wrong.
function entryName(entry: string): string | null {
  if (entry === ANY_OTHER_METHOD) return entry;
  const [, method, path] = /^([A-Z]+) (\*|\/[^\s*]*)$/.exec(entry) ?? [];
  if (method === undefined || path === undefined || !METHODS.includes(method)) return null;
  return path === "*" ? entry : windowName(method, path);
}

// Converts the path of a route or of an entry to the form of the default table: `/v1/users/:userId/events` and
// `/users/{userId}/events` both become `/users/{id}/events`.
function windowName(method: string, path: string): string {
  const plain = path.replace(/^\/v1(?=\/)/, "").replace(/\/(?::[^/]+|\{[^/]*\})(?=\/|$)/g, "/{id}");
  const name = `${method} ${plain}`;
  return SAME_WINDOW.get(name) ?? name;
}
