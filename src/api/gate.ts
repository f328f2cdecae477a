// Who asks, and whether it may ask now? Authentication in front of everything else, the windows that requests are counted
// in, and the headers that tell of them.

import { clientAddress, failureKey, type TrustedProxies } from "../account/client-address.ts";
import type { Bucket } from "../account/rate-limits.ts";
import { AUTH_FAILURES_PER_MINUTE } from "../account/rate-limits.ts";
import type { SlidingWindow, WindowState } from "../account/sliding-window.ts";
import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Principal } from "../domain/scope.ts";
import { andThen, type Eventually } from "../kit/eventually.ts";

/** What the gate stands on. */
export interface GateParts {
  readonly authenticate: (secret: string) => Eventually<Principal | null>;
  readonly newRequestId: () => string;
  /** Counts requests by key and route. */
  readonly callers: SlidingWindow;
  /** Counts failed authentications by address. */
  readonly failures: SlidingWindow;
  readonly trustedProxies: TrustedProxies;
}

/** Tells the address of the connection that a request came over; empty where there is none. Asked only when it matters: it costs as much
 * as the rest of a request. */
export type SocketAddress = () => string;

/** What is known of a request besides what it asks for. */
export interface Admission {
  readonly requestId: string;
  readonly socketAddress: SocketAddress;
  /** Decoded by nobody yet: as it stands in the request line. Empty where the Host header is malformed. */
  readonly path: string;
  /** With its question mark; empty without one. */
  readonly search: string;
  /** null: it needed no key, or had no valid one. */
  principal: Principal | null;
  /** The window that it was counted in; null outside of /v1. */
  window: WindowState | null;
  /** The name that it has in the metrics; null: nothing took it. */
  countedAs: string | null;
  /** Resolves when the stream that answers it has ended; null: no stream does. */
  ended: Promise<void> | null;
}

/** Lets requests in, one by one. */
export class Gate {
  readonly #parts: GateParts;
  /** Of the last URL that was looked at whole. */
  #origin = "";

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** A caller's own request id if it is safe to repeat, else a new one. */
  #requestIdOf(request: Request): string {
    const given = request.headers.get("x-request-id");
    const isSafe = given !== null && given.length <= LIMITS.requestIdCharacters && /^[A-Za-z0-9._:-]+$/.test(given);
    return isSafe ? given : this.#parts.newRequestId();
  }

  /** A request before anything is decided about it. */
  receive(request: Request, socketAddress: SocketAddress): Admission {
    const target = this.#targetOf(request.url);
    const query = target.indexOf("?");
    return {
      requestId: this.#requestIdOf(request),
      socketAddress,
      path: query === -1 ? target : target.slice(0, query),
      search: query === -1 ? "" : target.slice(query),
      principal: null,
      window: null,
      countedAs: null,
      ended: null,
    };
  }

  /**
   * Finds out who asks. A failure counts for the address that it came from; a valid key always passes.
   * @throws Fault `missing_api_key`, `invalid_api_key`, or `rate_limit_exceeded` after too many failures
   */
  authenticate(admission: Admission, request: Request): Eventually<void> {
    const header = request.headers.get("authorization");
    const secret = header === null ? undefined : BEARER.exec(header)?.[1];
    return andThen(secret === undefined ? null : this.#parts.authenticate(secret), (principal) => {
      admission.principal = principal;
      if (principal === null) this.#refuse(admission, request, header);
    });
  }

  #refuse(admission: Admission, request: Request, header: string | null): never {
    admission.window = this.#parts.failures.admit(this.#failureKeyOf(admission, request), AUTH_FAILURES_PER_MINUTE);
    if (!admission.window.isAdmitted) {
      throw tooMany("Too many requests without a valid API key came from this address", admission.window);
    }
    if (header === null) throw new Fault("missing_api_key", "Send an API key: Authorization: Bearer ctx_…");
    throw new Fault(
      "invalid_api_key",
      "This API key is not known, or not any more. Keys look like ctx_… and are shown once, when they are made.",
    );
  }

  /**
   * Whoever holds the request's key by now.
   * @throws Fault `invalid_api_key` when it opens nothing any more
   */
  async confirm(request: Request): Promise<Principal> {
    const secret = BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
    const principal = secret === undefined ? null : await this.#parts.authenticate(secret);
    if (principal === null)
      throw new Fault("invalid_api_key", "This API key was revoked while the request was on its way.");
    return principal;
  }

  /** The window of the address, for answers that need no key. */
  showFailures(admission: Admission, request: Request): void {
    const key = this.#failureKeyOf(admission, request);
    admission.window = this.#parts.failures.look(key, AUTH_FAILURES_PER_MINUTE);
  }

  /**
   * Counts a request of a known key.
   * @throws Fault `rate_limit_exceeded`
   */
  count(admission: Admission, principal: Principal, bucket: Bucket): void {
    const window = this.#parts.callers.admit(`${principal.keyId} ${bucket.name}`, bucket.limit);
    admission.window = window;
    if (!window.isAdmitted) throw tooMany(`${bucket.name} takes ${window.limit} requests a minute of a key`, window);
  }

  // The path and query of a URL, without its fragment; empty where its host is malformed. The server has normalised it, so that nothing but
  // the host must be looked at, and that is the last one's most of the time: making a URL object costs 7 µs of a request.
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
    return failureKey(clientAddress(socketAddress(), forwarded, this.#parts.trustedProxies));
  }
}

/** Adds what tells of a window; header names are lower case. */
export function addWindowHeaders(
  headers: Record<string, string>,
  { limit, remaining, resetAtSeconds }: WindowState,
): void {
  headers["x-ratelimit-limit"] = String(limit);
  headers["x-ratelimit-remaining"] = String(remaining);
  headers["x-ratelimit-reset"] = String(resetAtSeconds);
}

const BEARER = /^Bearer +(ctx_[A-Za-z0-9_-]{1,256})$/i;

function tooMany(what: string, { retryAfterSeconds }: WindowState): Fault {
  return new Fault("rate_limit_exceeded", `${what}. Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}
