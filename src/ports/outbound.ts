// Calls from Mneme to addresses that callers choose: checks and sends them. Implemented by adapters/outbound.
//
// Obligations of an implementation:
// - Nothing is sent to an address that is not globally routable, unless the operator allow-listed it. This holds for
//   other spellings, names that resolve there, names that resolve elsewhere later, redirects and proxies. The
//   connection goes to the address that was checked, so `post` checks again even after a `check`.
// - A call ends in bounded time and memory, whatever the other side does.
// - Messages and reasons are public: they reveal nothing about the internal network, not even whether a name exists in
//   it.

/** Decides which addresses may be called. */
export interface AddressGuard {
  /**
   * Resolves if `url` may be called: http or https, well-formed, without credentials, and every address that its name
   * resolves to is globally routable or allow-listed. A name that does not resolve is refused. Cost: one name
   * resolution.
   * @param param name of the field that holds the address, for the error
   * @throws Fault `unsafe_url` with that param
   */
  check(url: string, param: string): Promise<void>;
}

/** Outcome of a call. */
export interface OutboundAnswer {
  /** Status of the response; null: there was no complete response, and `error` says why. */
  readonly statusCode: number | null;
  /** A short public reason, such as "timed out after 10 s"; null: there was a response, whatever its status. */
  readonly error: string | null;
  /** Duration of the call in milliseconds, name resolution included. */
  readonly ms: number;
}

/** Sends requests to addresses that callers choose. */
export interface OutboundSender {
  /**
   * POSTs `body` to `url` once, without following redirects. Never rejects: failures are part of the answer. Aborting
   * `signal` ends the call at once.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<OutboundAnswer>;
}
