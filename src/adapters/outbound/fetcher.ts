// Fetches a page or file from a URL that a caller of the API names, within limits of time and size. Connects only to
// addresses that guard.ts has just checked, also after each redirect.

import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { Fault } from "../../domain/fault.ts";
import { LIMITS } from "../../domain/limits.ts";
import { mediaTypeIn } from "../../kit/media-type.ts";
import type { FetchedPage, OutboundFetcher } from "../../ports/outbound.ts";
import { type Admission, admittedAddresses, parseTarget, resolveBySystem, type Target, UnsafeTarget } from "./guard.ts";
import { admittingLookup, publicReason } from "./sender.ts";

/** Options of a fetcher. */
export interface FetcherOptions extends Admission {
  /** Timeout of the whole call in milliseconds, with all redirects and the body. Default 30,000. */
  readonly timeoutMs?: number;
  /** Maximum size of the body, decompressed. Default: that of an uploaded file. */
  readonly bodyBytesMax?: number;
}

const REDIRECTS_MAX = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const HEADERS = {
  accept: "text/html, application/xhtml+xml, text/*;q=0.9, application/pdf;q=0.9, */*;q=0.5",
  "accept-encoding": "gzip, deflate, br",
  "user-agent": "Mneme",
};
/** Creates a decompressor, by the value of the header `Content-Encoding`. */
const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Why a page could not be fetched: the end of a sentence that begins with "The page could not be fetched:". */
class FetchFailed extends Error {
  override readonly name = "FetchFailed";
}

/** Creates an OutboundFetcher. */
export function createOutboundFetcher({
  allow,
  resolve = resolveBySystem,
  timeoutMs = 30_000,
  bodyBytesMax = LIMITS.uploadBytes,
}: FetcherOptions): OutboundFetcher {
  const admission = { allow, resolve };
  return {
    async fetch(url, write, signal) {
      const ending = new AbortController();
      const stop = () => ending.abort(new FetchFailed("the caller hung up"));
      const timer = setTimeout(
        () => ending.abort(new FetchFailed(`it took longer than ${timeoutMs / 1000} s`)),
        timeoutMs,
      );
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      let hops = 0;
      try {
        const { target, answer } = await follow(url, admission, ending.signal, () => {
          hops += 1;
        });
        try {
          await readBody(answer, write, bodyBytesMax, ending.signal);
          return pageOf(target, answer);
        } finally {
          answer.destroy();
        }
      } catch (error) {
        throw toFault(ending.signal.aborted ? ending.signal.reason : error, hops > 0);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
        ending.abort(); // ends a connection that is still open
      }
    },
  };
}

/** Follows redirects. Returns the first successful response and its address. @throws FetchFailed; UnsafeTarget */
async function follow(
  url: string,
  admission: Required<Admission>,
  signal: AbortSignal,
  onRedirect: () => void,
): Promise<{ readonly target: Target; readonly answer: IncomingMessage }> {
  let target = parseTarget(url);
  for (let redirects = 0; ; redirects++) {
    // node makes no DNS lookup for a literal IP address, so it is checked here
    if (target.isLiteralAddress) await admittedAddresses(target, admission);
    const options = { method: "GET", headers: HEADERS, lookup: admittingLookup(target, admission) };
    const answer = await headersOf(target, options, signal);
    const { statusCode = 0 } = answer;
    const { location } = answer.headers;
    if (!REDIRECTS.includes(statusCode) || location === undefined) {
      if (statusCode >= 200 && statusCode < 300) return { target, answer };
      answer.destroy();
      throw new FetchFailed(`the server answered with status ${statusCode}`);
    }
    answer.destroy();
    onRedirect();
    if (redirects === REDIRECTS_MAX) throw new FetchFailed(`it redirects more than ${REDIRECTS_MAX} times`);
    if (!URL.canParse(location, target.url.href)) throw new FetchFailed("it redirects to something that is not a URL");
    target = parseTarget(new URL(location, target.url.href).href);
  }
}

/** Sends a request. Resolves when the headers of the response are complete. */
function headersOf({ url }: Target, options: RequestOptions, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const request = url.protocol === "https:" ? httpsRequest : httpRequest;
    // no agent, because it would pool connections and obey HTTP_PROXY
    const outgoing = request(url, { ...options, agent: false, rejectUnauthorized: true, signal });
    outgoing.on("error", reject);
    outgoing.on("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new FetchFailed("the server wants another protocol"));
    });
    outgoing.on("response", resolve);
    outgoing.end();
  });
}

/** Passes the decompressed body on, piece by piece. */
async function readBody(
  answer: IncomingMessage,
  write: (piece: Uint8Array) => Promise<void>,
  bytesMax: number,
  signal: AbortSignal,
): Promise<void> {
  const { "content-encoding": header = "identity", "content-length": length } = answer.headers;
  const encoding = header.trim().toLowerCase();
  const decoder = DECODERS[encoding];
  if (decoder === undefined && encoding !== "identity") {
    throw new FetchFailed("its body has an encoding that is not supported");
  }
  let received = 0;
  answer.on("data", (piece: Buffer) => {
    received += piece.length;
  });
  const body: Readable = decoder === undefined ? answer : answer.pipe(decoder());
  // a connection that ends early does not end a decompressor
  answer.on("error", (error) => body.destroy(error));
  const stop = () => body.destroy(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    await write(piece);
  }
  signal.throwIfAborted();
  if (length !== undefined && received < Number(length)) throw new FetchFailed("the connection ended too early");
  if (bytes === 0) throw new FetchFailed("its body is empty");
}

function pageOf({ url }: Target, { headers }: IncomingMessage): FetchedPage {
  const contentType = headers["content-type"];
  const mediaType = contentType === undefined ? null : mediaTypeIn(contentType);
  const disposition = headers["content-disposition"] ?? "";
  const named = /filename="([^"]+)"/i.exec(disposition)?.[1] ?? /filename=([^;\s"]+)/i.exec(disposition)?.[1] ?? null;
  return { url: url.href, mediaType, filename: named };
}

function tooLarge(bytesMax: number): Fault {
  return new Fault("payload_too_large", `The page is larger than ${bytesMax} bytes.`, { param: "url" });
}

function toFault(error: unknown, isRedirected: boolean): unknown {
  if (error instanceof UnsafeTarget) {
    const which = isRedirected ? "It redirects to an address that" : "The address in url";
    return new Fault("unsafe_url", `${which} ${error.message}.`, { param: "url", cause: error });
  }
  if (error instanceof FetchFailed) return failed(error.message, error);
  // Errors of the connection and the decompressor have a code. All others come from the caller's `write`.
  if (error instanceof Fault || !(error instanceof Error) || !("code" in error)) return error;
  if (
    String(error.code).startsWith("Z_") ||
    String(error.code).startsWith("ERR__") ||
    /zlib|brotli/i.test(error.message)
  ) {
    return failed("its body is damaged", error);
  }
  return failed(publicReason(error), error);
}

function failed(reason: string, cause: unknown): Fault {
  return new Fault("fetch_failed", `The page could not be fetched: ${reason}.`, { param: "url", cause });
}
