// One POST to an address that a caller chose: connects only to addresses that guard.ts admitted a moment before, and is
// bounded in time and memory. When to send, what to sign and whether to try again is left to whoever sends.

import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { OutboundSender } from "../../ports/outbound.ts";
import { type Admission, admittedAddresses, readTarget, resolveBySystem, type Target, UnsafeTarget } from "./guard.ts";

/** What a sender goes by. */
export interface SenderOptions extends Admission {
  /** For the whole call: name resolution, connecting, sending and reading. Default 10,000. */
  readonly timeoutMs?: number;
  /** An answer is read up to here, then cut off; its status stands. Default 64 KiB. */
  readonly responseBytesMax?: number;
}

/** We ended the call ourselves; `message` says why, in public words. */
class Ended extends Error {
  override readonly name = "Ended";
}

/** Public words for what node:http reports, by `code`; a name ending in `*` covers the codes that begin so. */
const REASONS: readonly (readonly [code: string, reason: string])[] = [
  ["ECONNREFUSED", "connection refused"],
  ["ECONNRESET", "connection closed before a whole answer came"],
  ["EPIPE", "connection closed before a whole answer came"],
  ["ETIMEDOUT", "connection timed out"],
  ["EHOSTUNREACH", "host unreachable"],
  ["ENETUNREACH", "network unreachable"],
  ["HPE_HEADER_OVERFLOW", "the headers of the answer are too large"],
  ["HPE_*", "the answer is not HTTP"],
  ["CERT_*", "the certificate is not valid"],
  ["UNABLE_TO_*", "the certificate is not valid"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "the certificate is not valid"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "the certificate is not valid"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is for another host"],
  ["ERR_SSL_*", "TLS failed"],
  ["EPROTO", "TLS failed"],
];

/** An OutboundSender that goes by these options. */
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
      // not AbortSignal.any: the timer and the listener go when the call ends, however long the caller's signal lives
      const ending = new AbortController();
      const stop = () => ending.abort(new Ended("stopped"));
      const timer = setTimeout(() => ending.abort(new Ended(`timed out after ${timeoutMs / 1000} s`)), timeoutMs);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      try {
        const target = readTarget(url);
        // a literal address is connected to without a lookup
        if (target.isLiteralAddress) await admittedAddresses(target, { allow, resolve });
        const options = { method: "POST", headers, lookup: admittingLookup(target, { allow, resolve }) };
        const statusCode = await exchange(target, options, body, responseBytesMax, ending.signal);
        return { statusCode, error: null, ms: elapsedMs() };
      } catch (error) {
        return { statusCode: null, error: reasonOf(error), ms: elapsedMs() };
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

/** A lookup that resolves and judges at connection time, and hands on nothing but what was judged: between the two no name can change. */
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

// Sends and reads. Resolves to the status once the answer is whole or beyond `bytesMax`; rejects with what went wrong, or
// with `signal.reason`.
function exchange(
  { url }: Target,
  options: RequestOptions,
  body: string,
  bytesMax: number,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    // before the request sees the signal: a body without a length would seem to end when the connection is torn down
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const request = url.protocol === "https:" ? httpsRequest : httpRequest;
    // no agent: it would keep connections and heed HTTP_PROXY; NODE_TLS_REJECT_UNAUTHORIZED may not switch verification off
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

/** Why a call came to nothing, in public words such as "connection refused". */
export function reasonOf(error: unknown): string {
  if (error instanceof UnsafeTarget) return `the address ${error.message}`;
  if (error instanceof Ended) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = REASONS.find(([name]) => (name.endsWith("*") ? code.startsWith(name.slice(0, -1)) : code === name));
  return known?.[1] ?? "the connection failed";
}
