// Sends one POST to an address chosen by a caller of the API, in bounded time and memory. Connects only to addresses
// that guard.ts has just checked. The dispatcher decides when to send, what to sign and whether to retry.

import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { OutboundSender } from "../../ports/outbound.ts";
import { type Admission, admittedAddresses, parseTarget, resolveBySystem, type Target, UnsafeTarget } from "./guard.ts";

/** Options of a sender. */
export interface SenderOptions extends Admission {
  /** Timeout of the whole call in milliseconds: name resolution, connecting, sending and reading. Default 10,000. */
  readonly timeoutMs?: number;
  /** Maximum number of bytes read of a response. A longer one is cut off; its status counts. Default 64 KiB. */
  readonly responseBytesMax?: number;
}

/** Error for a call that Mneme ended itself. `message` is the public reason. */
class CallEnded extends Error {
  override readonly name = "CallEnded";
}

/** Public text for the error codes of node:http. A code ending in `*` matches every code with that prefix. */
const REASONS: readonly (readonly [code: string, reason: string])[] = [
  ["ECONNREFUSED", "connection refused"],
  ["ECONNRESET", "connection closed before a complete answer arrived"],
  ["EPIPE", "connection closed before a complete answer arrived"],
  ["ETIMEDOUT", "connection timed out"],
  ["EHOSTUNREACH", "host unreachable"],
  ["ENETUNREACH", "network unreachable"],
  ["HPE_HEADER_OVERFLOW", "the response headers are too large"],
  ["HPE_*", "the answer is not HTTP"],
  ["CERT_*", "the certificate is not valid"],
  ["UNABLE_TO_*", "the certificate is not valid"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "the certificate is not valid"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "the certificate is not valid"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is for another host"],
  ["ERR_SSL_*", "TLS failed"],
  ["EPROTO", "TLS failed"],
];

/** Creates an OutboundSender. */
export function createOutboundSender({
  allow,
  resolve = resolveBySystem,
  timeoutMs = 10_000,
  responseBytesMax = 64 * 1024,
}: SenderOptions): OutboundSender {
  return {
    async post(url, headers, body, signal) {
      const startedAt = performance.now();
      const elapsedMs = () => Math.round(performance.now() - startedAt);
      // not AbortSignal.any: timer and listener must be removed when the call ends, since the caller's signal may live
      // longer
      const ending = new AbortController();
      const stop = () => ending.abort(new CallEnded("stopped"));
      const timer = setTimeout(() => ending.abort(new CallEnded(`timed out after ${timeoutMs / 1000} s`)), timeoutMs);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      try {
        const target = parseTarget(url);
        // node makes no DNS lookup for a literal IP address, so it is checked here
        if (target.isLiteralAddress) await admittedAddresses(target, { allow, resolve });
        const options = { method: "POST", headers, lookup: admittingLookup(target, { allow, resolve }) };
        const statusCode = await exchange(target, options, body, responseBytesMax, ending.signal);
        return { statusCode, error: null, ms: elapsedMs() };
      } catch (error) {
        return { statusCode: null, error: publicReason(error), ms: elapsedMs() };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

/**
 * Creates a DNS lookup function for node:http. It resolves and checks a name when the connection is made, so that the
 * address cannot change after the check.
 */
export function admittingLookup(target: Target, options: Required<Admission>): LookupFunction {
  return (_hostname, { all }, callback) => {
    admittedAddresses(target, options).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first = { address: "", family: 0 }] = found;
        if (all === true) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ""),
    );
  };
}

// Sends the request and reads the response. Resolves to the status when the response is complete or exceeds `bytesMax`.
// Rejects with the error, or with `signal.reason`.
function exchange(
  { url }: Target,
  options: RequestOptions,
  body: string,
  bytesMax: number,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    // registered before the request's own listener for the signal: a body of unknown length emits "end" when the
    // connection is destroyed, and would count as complete
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const request = url.protocol === "https:" ? httpsRequest : httpRequest;
    // no agent, because it would pool connections and obey HTTP_PROXY; certificates are verified even if
    // NODE_TLS_REJECT_UNAUTHORIZED is 0
    const outgoing: ClientRequest = request(url, { ...options, agent: false, rejectUnauthorized: true, signal });
    outgoing.on("error", reject);
    outgoing.on("upgrade", ({ statusCode = 101 }: IncomingMessage, socket) => {
      socket.destroy();
      resolve(statusCode);
    });
    outgoing.on("response", (answer: IncomingMessage) => {
      const { statusCode = 0 } = answer;
      let bytes = 0;
      answer.on("error", reject);
      answer.on("end", () => resolve(statusCode));
      answer.on("data", (part: Buffer) => {
        bytes += part.length;
        if (bytes <= bytesMax) return;
        resolve(statusCode);
        outgoing.destroy();
      });
    });
    outgoing.end(body);
  });
}

/** Returns why a call failed as a public text, such as "connection refused". */
export function publicReason(error: unknown): string {
  if (error instanceof UnsafeTarget) return `the address ${error.message}`;
  if (error instanceof CallEnded) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = REASONS.find(([name]) => (name.endsWith("*") ? code.startsWith(name.slice(0, -1)) : code === name));
  return known?.[1] ?? "the connection failed";
}
