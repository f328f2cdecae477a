// Interfaces for HTTP requests from Mneme to addresses that its callers choose: checking an address, and sending a
// request. Implemented by adapters/outbound.
//
// Obligations of an implementation:
// - Nothing is sent to an address that is not globally routable, unless the operator allow-listed it. This includes
//   other notations of such an address, names that resolve to it, now or later, redirects and proxies. `post` checks
//   the address to which it connects, even if `check` was called before.
// - A call needs bounded time and memory, whatever the receiver does.
// - Error messages and reasons are public, so they reveal nothing about the internal network, not even whether a name
//   exists in it.

/** Decides which addresses may be called. */
export interface AddressGuard {
  /**
   * Resolves if `url` may be called: http or https, well-formed, without credentials, and every address that its name
   * resolves to is globally routable or allow-listed. A name that does not resolve is refused. Cost: one name
   * resolution.
   * @param param name of the request field that contains the address, for the error
   * @throws Fault `unsafe_url`, with `param`, if the URL may not be called
   */
  check(url: string, param: string): Promise<void>;
}

/** Outcome of a call. */
export interface OutboundAnswer {
  /** HTTP status of the response; null if there was no complete response, and `error` then says why. */
  readonly statusCode: number | null;
  /** A short public reason, such as "timed out after 10 s"; null if there was a response, whatever its status. */
  readonly error: string | null;
  /** Duration of the call in milliseconds, including name resolution. */
  readonly ms: number;
}

/** Sends requests to addresses that callers choose. */
export interface OutboundSender {
  /**
   * POSTs `body` to `url` once, without following redirects. Never rejects: a failure is described by the result.
   * Aborting `signal` ends the call at once.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<OutboundAnswer>;
}

/** A page that was fetched. */
export interface FetchedPage {
  /** Its URL after redirects. */
  readonly url: string;
  /** The media type that its server names, in lower case, without parameters; null if it names none. */
  readonly mediaType: string | null;
  /** The file name that its server suggests; null if it suggests none. */
  readonly filename: string | null;
}

/** Fetches pages and files that callers name. */
export interface OutboundFetcher {
  /**
   * GETs `url`, and up to five redirects, each of which is checked like the first. Passes the body to `write`, piece by
   * piece, decompressed. Aborting `signal` ends the call at once.
   * @throws Fault `unsafe_url`, `fetch_failed` or `payload_too_large`, with the `param` "url"; and what `write` throws
   */
  fetch(url: string, write: (piece: Uint8Array) => Promise<void>, signal: AbortSignal): Promise<FetchedPage>;
}
