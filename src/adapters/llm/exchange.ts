// One POST to an endpoint of a language model, whose answer is handed on as it comes. What may be called, how long it may
// take and what the bytes mean is left to client.ts.

import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { LlmError } from "../../ports/language-model.ts";
import { UnsafeTarget } from "../outbound/guard.ts";
import { reasonOf } from "../outbound/sender.ts";

/** What is sent. */
export interface HttpCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Resolves the host; absent: as the system does. */
  readonly lookup?: LookupFunction;
}

/** Takes an answer in. */
export interface AnswerReader {
  /** Once, before its parts. */
  head(status: number, headers: IncomingHttpHeaders): void;
  /** A part of the body; true: nothing more is needed. What it throws ends the exchange. */
  part(bytes: Uint8Array): boolean;
}

/**
 * Sends, and resolves when the answer has come to its end or the reader has enough.
 * @throws LlmError `unreachable` or `unsafe_address` before an answer begins, `failed` when it breaks off; what the reader throws, and
 *   `signal.reason`
 */
export function exchange(call: HttpCall, reader: AnswerReader, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let hasBegun = false;
    // before the request sees the signal, which it reports in words of its own
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const fail = (cause: unknown) => reject(failureOf(cause, hasBegun));
    const request = call.url.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = request(call.url, {
      method: "POST",
      headers: call.headers,
      ...(call.lookup !== undefined && { lookup: call.lookup }),
      // no agent: it would keep connections and heed HTTP_PROXY; NODE_TLS_REJECT_UNAUTHORIZED may not switch verification off
      agent: false,
      rejectUnauthorized: true,
      signal,
    });
    const attempt = (step: () => boolean) => {
      try {
        if (!step()) return;
        resolve();
      } catch (error) {
        reject(error);
      }
      outgoing.destroy();
    };
    outgoing.on("error", fail);
    outgoing.on("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new LlmError("malformed", "the endpoint wants to change the protocol"));
    });
    outgoing.on("response", (answer: IncomingMessage) => {
      hasBegun = true;
      answer.on("error", fail);
      answer.on("end", resolve);
      answer.on("data", (part: Buffer) => attempt(() => reader.part(part)));
      attempt(() => {
        reader.head(answer.statusCode ?? 0, answer.headers);
        return false;
      });
    });
    outgoing.end(call.body);
  });
}

function failureOf(cause: unknown, hasBegun: boolean): LlmError {
  if (hasBegun) return new LlmError("failed", "the connection was closed before the answer was whole", { cause });
  const reason = cause instanceof UnsafeTarget ? "unsafe_address" : "unreachable";
  return new LlmError(reason, `the endpoint was not reached: ${reasonOf(cause)}`, { cause });
}
