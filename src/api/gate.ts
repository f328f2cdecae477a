// Authentication and rate limits of requests, and the rate-limit headers.

import { clientAddress, failureKey, type TrustedProxies } from "../account/client-address.ts";
import type { Bucket } from "../account/rate-limits.ts";
import { AUTH_FAILURES_PER_MINUTE } from "../account/rate-limits.ts";
import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Principal } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { andThen, type Eventually, orElse } from "../kit/eventually.ts";
import type { RateWindow, WindowState } from "../ports/coordination.ts";
import { COMPATIBLE_PREFIX } from "./routes.ts";

/** Seconds until a client may try again if the store of keys, or that of rate-limit windows, cannot be used. */
const UNKNOWN_WINDOW_SECONDS = 5;

/** Maximum number of callers that are remembered. A caller takes less than 1 KB. */
const RECENT_MAX = 1_000;

/** What the gate calls. */
export interface GateDependencies {
  readonly authenticate: (secret: string, userAgent: string | null) => Eventually<Principal | null>;
  readonly newRequestId: () => string;
  readonly clock: Clock;
  /** Counts requests by key and route. */
  readonly callers: RateWindow;
  /** Counts failed authentications by address. */
  readonly failures: RateWindow;
  readonly trustedProxies: TrustedProxies;
}

/**
 * Returns the IP address of a request's connection; empty if there is none. Called only when necessary, because the
 * call takes as long as the rest of a request.
 */
export type SocketAddress = () => string;

/** What is known of a request apart from its path parameters and body; gate and runner fill it in on the way. */
export interface Admission {
  readonly requestId: string;
  readonly socketAddress: SocketAddress;
  /** Path as in the request line, not decoded. Empty if the Host header is malformed or given twice. */
  readonly path: string;
  /** The query string with its question mark; empty if there is none. */
  readonly search: string;
  /** The authenticated caller; null if the request needs no key or has no valid key. */
  principal: Principal | null;
  /** The authentication in progress, or one that has failed; null if there is none. While set, `principal` is null. */
  pending: PendingAuthentication | null;
  /** The rate-limit window for the headers of the response; null if they have none, as on pages. */
  window: WindowState | null;
  /** Name under which the metrics count the request; null if it reached no operation or page. */
  countedAs: string | null;
  /** Resolves when the stream that answers the request has ended; null if the answer is not a stream. */
  ended: Promise<void> | null;
  /** The header `content-length` of a file whose bytes are not sent, in answers to HEAD; otherwise null. */
  fileBytes: string | null;
}

/** An authentication whose result is not known yet. */
export interface PendingAuthentication {
  /** Whom the key belonged to at its last authentication. Reading may begin for this caller. */
  readonly assumed: Principal;
  /** Rejects like `Gate.authenticate`. */
  readonly ended: Promise<void>;
}

/** Authenticates requests and counts them against rate limits. */
export class Gate {
  readonly #uses: GateDependencies;
  /** Callers by secret, as they were authenticated last. Filled only if authentication takes a round trip. */
  readonly #recent = new Map<string, Principal>();
  /** Origin of the last URL that was parsed completely. */
  #origin = "";

  constructor(uses: GateDependencies) {
    this.#uses = uses;
  }

  /** The caller's request id if it is safe to echo, otherwise a new one. */
  #requestIdOf(request: Request): string {
    const given = request.headers.get("x-request-id");
    const isSafe = given !== null && given.length <= LIMITS.requestIdCharacters && /^[A-Za-z0-9._:-]+$/.test(given);
    return isSafe ? given : this.#uses.newRequestId();
  }

  /** Collects the facts about a new request. */
  receive(request: Request, socketAddress: SocketAddress): Admission {
    const target = hasOneHost(request) ? this.#targetOf(request.url) : "";
    const query = target.indexOf("?");
    return {
      requestId: this.#requestIdOf(request),
      socketAddress,
      path: query === -1 ? target : target.slice(0, query),
      search: query === -1 ? "" : target.slice(query),
      principal: null,
      pending: null,
      window: null,
      countedAs: null,
      ended: null,
      fileBytes: null,
    };
  }

  /**
   * Authenticates a request and sets `admission.principal`. A failure counts against the client's address; a valid key
   * is accepted even if that address had too many failures.
   * @throws Fault `missing_api_key`, `invalid_api_key`, or `rate_limit_exceeded` after too many failures
   */
  authenticate(admission: Admission, request: Request): Eventually<void> {
    return this.#authenticate(admission, request, secretOf(request, admission));
  }

  /**
   * Like `authenticate`, but does not wait for the store if the key was valid before: then `admission.pending` is set,
   * and nothing may be answered before it has ended.
   */
  beginAuthentication(admission: Admission, request: Request): Eventually<void> {
    const secret = secretOf(request, admission);
    const authenticated = this.#authenticate(admission, request, secret);
    const assumed = secret === undefined ? undefined : this.#recent.get(secret);
    if (assumed === undefined || !(authenticated instanceof Promise)) return authenticated;
    const ended = authenticated.then(() => {
      admission.pending = null;
    });
    void Promise.allSettled([ended]); // whoever answers the request waits for it
    admission.pending = { assumed, ended };
    return undefined;
  }

  #authenticate(admission: Admission, request: Request, secret: string | undefined): Eventually<void> {
    return this.#withWindow(admission, AUTH_FAILURES_PER_MINUTE, () => {
      const found = secret === undefined ? null : this.#uses.authenticate(secret, request.headers.get("user-agent"));
      return andThen(found, (principal) => {
        admission.principal = principal;
        if (secret !== undefined && found instanceof Promise) this.#remember(secret, principal);
        return principal === null ? this.#refuse(admission, request) : undefined;
      });
    });
  }

  #remember(secret: string, principal: Principal | null): void {
    if (principal === null) this.#recent.delete(secret);
    else {
      if (this.#recent.size >= RECENT_MAX && !this.#recent.has(secret)) this.#recent.clear();
      this.#recent.set(secret, principal);
    }
  }

  /**
   * Runs `work`. If it fails before a window is known, because the store of keys or windows cannot be used, the
   * rate-limit headers say that no request remains.
   */
  #withWindow(admission: Admission, limit: number, work: () => Eventually<void>): Eventually<void> {
    return orElse(work, (error) => {
      const resetAtSeconds = Math.ceil(this.#uses.clock.now() / 1000) + UNKNOWN_WINDOW_SECONDS;
      const retryAfterSeconds = UNKNOWN_WINDOW_SECONDS;
      admission.window ??= { isAdmitted: false, limit, remaining: 0, resetAtSeconds, retryAfterSeconds };
      throw error;
    });
  }

  async #refuse(admission: Admission, request: Request): Promise<never> {
    const key = this.#failureKeyOf(admission, request);
    const window = await this.#uses.failures.admit(key, AUTH_FAILURES_PER_MINUTE);
    admission.window = window;
    if (!window.isAdmitted) throw tooMany("Too many requests without a valid API key came from this address", window);
    if (request.headers.get("authorization") === null) {
      throw new Fault("missing_api_key", "Send an API key: Authorization: Bearer ctx_…");
    }
    throw new Fault(
      "invalid_api_key",
      "This API key is unknown, expired or revoked. Keys look like ctx_… and are shown only once, when they are created.",
    );
  }

  /**
   * Authenticates a request again, after its body has arrived.
   * @throws Fault `invalid_api_key` if the key has become invalid
   */
  async confirm(request: Request, admission: Pick<Admission, "path">): Promise<Principal> {
    const secret = secretOf(request, admission);
    const principal = secret === undefined ? null : await this.#uses.authenticate(secret, null);
    if (principal === null) throw new Fault("invalid_api_key", "This API key was revoked during the request.");
    return principal;
  }

  /** Sets the rate-limit headers of an answer that needs no key, from the failure window of the client's address. */
  async showFailures(admission: Admission, request: Request): Promise<void> {
    const key = this.#failureKeyOf(admission, request);
    admission.window = await this.#uses.failures.peek(key, AUTH_FAILURES_PER_MINUTE);
  }

  /**
   * Counts a request against the rate limit of its key and route.
   * @throws Fault `rate_limit_exceeded`
   */
  count(admission: Admission, principal: Principal, bucket: Bucket): Eventually<void> {
    const key = `${principal.keyId} ${bucket.name}`;
    return this.#withWindow(admission, bucket.limit, () =>
      andThen(this.#uses.callers.admit(key, bucket.limit), (window) => {
        admission.window = window;
        if (window.isAdmitted) return;
        throw tooMany(`${bucket.name} allows ${window.limit} requests per minute and key`, window);
      }),
    );
  }

  // Path and query of a URL, without its fragment; empty if the host is malformed. The server has normalised the URL,
  // so only the host needs a check. It is not parsed again if it is the host of the previous request, which is usual;
  // parsing a URL takes 7 µs.
  #targetOf(href: string): string {
    if (this.#origin === "" || !href.startsWith(this.#origin) || href[this.#origin.length] !== "/") {
      const url = URL.parse(href);
      if (url === null) return "";
      this.#origin = url.origin;
    }
    const fragment = href.indexOf("#");
    return href.slice(this.#origin.length, fragment === -1 ? undefined : fragment);
  }

  #failureKeyOf({ socketAddress }: Admission, request: Request): string {
    const forwarded = request.headers.get("x-forwarded-for");
    return failureKey(clientAddress(socketAddress(), forwarded, this.#uses.trustedProxies));
  }
}

/** Adds the headers of a rate-limit window; names are lower case. */
export function addWindowHeaders(
  headers: Record<string, string>,
  { limit, remaining, resetAtSeconds }: WindowState,
): void {
  headers["x-ratelimit-limit"] = String(limit);
  headers["x-ratelimit-remaining"] = String(remaining);
  headers["x-ratelimit-reset"] = String(resetAtSeconds);
}

const BEARER = /^Bearer +(ctx_[A-Za-z0-9_-]{1,256})$/i;
/** On the routes of other products (COMPATIBLE_PREFIX), whose clients may send the key with the scheme `Token`. */
const BEARER_OR_TOKEN = /^(?:Bearer|Token) +(ctx_[A-Za-z0-9_-]{1,256})$/i;

/** The API key in a request's `Authorization`; undefined if there is none. */
export function secretOf({ headers }: Request, { path }: Pick<Admission, "path">): string | undefined {
  const header = headers.get("authorization");
  if (header === null) return undefined;
  return (path.startsWith(COMPATIBLE_PREFIX) ? BEARER_OR_TOKEN : BEARER).exec(header)?.[1];
}

// Bun joins repeated headers with a comma, which no host name contains. Two hosts must be refused (RFC 9112, 3.2): a
// proxy in front of the server may have chosen the other one.
function hasOneHost(request: Request): boolean {
  return request.headers.get("host")?.includes(",") !== true;
}

function tooMany(what: string, { retryAfterSeconds }: WindowState): Fault {
  return new Fault("rate_limit_exceeded", `${what}. Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}
