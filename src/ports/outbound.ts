// Calls from Mneme to addresses that callers chose: what may be called, and calling it. Implemented by adapters/outbound.
//
// Owed by an implementation:
// - Nothing is sent to an address that is not globally routable unless the operator allow-listed it: not by another
//   spelling, not by a name that resolves there, not by a name that resolves elsewhere later, not by a redirect or proxy.
//   What was checked is what is connected to, so a `check` long ago does not excuse `post` from checking again.
// - A call ends in bounded time and memory, whatever the other side does.
// - Messages and reasons are public: they tell nothing of the network inside, not even whether a name exists there.

/** Says which addresses may be called. */
export interface AddressGuard {
  /**
   * Resolves when `url` may be called: http or https, well-formed, no credentials in it, and every address that its name
   * resolves to globally routable or allow-listed. A name that does not resolve is refused. Cost: one name resolution.
   * @param param the field that holds the address, as the caller wrote it.
   * @throws Fault `unsafe_url` with that param.
   */
  check(url: string, param: string): Promise<void>;
}

/** How a call went. */
export interface OutboundAnswer {
  /** The status of the answer; null: there was no whole answer, and `error` says why. */
  readonly statusCode: number | null;
  /** A short public reason, such as "timed out after 10 s"; null: there was an answer, whatever its status. */
  readonly error: string | null;
  /** From the start of the call to its end, name resolution included. */
  readonly ms: number;
}

/** Calls addresses. */
export interface OutboundSender {
  /**
   * POSTs `body` to `url` once; follows no redirect. Never rejects: what goes wrong is in the answer. Aborting `signal`
   * ends the call at once.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<OutboundAnswer>;
}
