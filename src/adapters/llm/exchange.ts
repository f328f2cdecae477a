// One POST to a language model endpoint. The response body is read part by part, only as fast as the caller asks for
// parts. client.ts checks addresses, sets timeouts and interprets the body.

import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { LlmError } from "../../ports/language-model.ts";
import { UnsafeTarget } from "../outbound/guard.ts";
import { publicReason } from "../outbound/sender.ts";

/** The request to send. */
export interface HttpCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Resolves the host name. If absent, the operating system's resolver is used. */
  readonly lookup?: LookupFunction;
}

/** A response whose headers have arrived and whose body has not been read yet. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * Returns the next part of the body; null at its end. The socket is paused between calls, so at most one read is
   * buffered. Must not be called again before the previous call has settled.
   * @throws LlmError `failed` if the connection breaks; `signal.reason` if the signal aborts
   */
  nextPart(): Promise<Buffer | null>;
  /** Closes the connection and drops buffered data. */
  close(): void;
}

/**
 * Sends the request; resolves when the response headers have arrived.
 * @param signal must live no longer than the call, because its listener is never removed
 * @param onConnected called when the connection is established, TLS included
 * @throws LlmError `unreachable` or `unsafe_address` if no response begins, `malformed` if the endpoint switches to
 *   another protocol; `signal.reason` if the signal aborts
 */
export function exchange(call: HttpCall, signal: AbortSignal, onConnected: () => void): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    let body: Body | null = null;
    const isEncrypted = call.url.protocol === "https:";
    const outgoing = (isEncrypted ? httpsRequest : httpRequest)(call.url, {
      method: "POST",
      headers: call.headers,
      ...(call.lookup !== undefined && { lookup: call.lookup }),
      // no agent, because it would pool connections and obey HTTP_PROXY; certificates are verified even if
      // NODE_TLS_REJECT_UNAUTHORIZED is 0
      agent: false,
      rejectUnauthorized: true,
    });
    const stop = () => {
      reject(signal.reason);
      body?.stop(signal.reason);
      outgoing.destroy();
    };
    signal.addEventListener("abort", stop, { once: true });
    outgoing.on("socket", (socket) => {
      socket.once(isEncrypted ? "secureConnect" : "connect", () => {
        if (!signal.aborted) onConnected();
      });
    });
    outgoing.on("error", (cause) => {
      reject(connectionFailed(cause));
      // must run before the "end" event, which a body of unknown length also emits when its connection breaks
      body?.end(connectionLost(cause));
    });
    outgoing.on("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new LlmError("malformed", "the endpoint tried to switch to another protocol"));
    });
    outgoing.on("response", (answer: IncomingMessage) => {
      const read = new Body(answer);
      body = read;
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        nextPart: () => read.nextPart(),
        close: () => {
          read.stop(new Error("a part was requested after the answer was closed: this is a bug in Mneme"));
          outgoing.destroy();
        },
      });
    });
    outgoing.end(call.body);
  });
}

/** Lets a caller request the parts of a response body one by one. The socket is paused while no part is requested. */
class Body {
  readonly #answer: IncomingMessage;
  /** Parts that arrived before they were requested. */
  #parts: Buffer[] = [];
  #requested: PromiseWithResolvers<Buffer | null> | null = null;
  #end: { readonly error: unknown } | null = null;

  constructor(answer: IncomingMessage) {
    this.#answer = answer;
    answer.on("data", (part: Buffer) => this.#receive(part));
    answer.on("end", () => this.end(null));
    answer.on("error", (cause) => this.end(connectionLost(cause)));
    answer.pause();
  }

  nextPart(): Promise<Buffer | null> {
    const part = this.#parts.shift();
    if (part !== undefined) return Promise.resolve(part);
    if (this.#end !== null) return this.#end.error === null ? Promise.resolve(null) : Promise.reject(this.#end.error);
    this.#requested = Promise.withResolvers();
    this.#answer.resume();
    return this.#requested.promise;
  }

  /** Ends the body; buffered parts can still be read. @param error null if the body is complete */
  end(error: unknown): void {
    if (this.#end !== null) return;
    this.#end = { error };
    if (error === null) this.#requested?.resolve(null);
    else this.#requested?.reject(error);
    this.#requested = null;
  }

  /** Ends the body and drops buffered parts. */
  stop(error: unknown): void {
    this.#parts = [];
    this.end(error);
    this.#end = { error };
  }

  #receive(part: Buffer): void {
    if (this.#end !== null) return;
    if (this.#requested === null) {
      this.#parts.push(part);
      this.#answer.pause();
    } else {
      this.#requested.resolve(part);
      this.#requested = null;
    }
  }
}

function connectionFailed(cause: unknown): LlmError {
  const reason = cause instanceof UnsafeTarget ? "unsafe_address" : "unreachable";
  return new LlmError(reason, `cannot connect to the endpoint: ${publicReason(cause)}`, { cause });
}

function connectionLost(cause: unknown): LlmError {
  return new LlmError("failed", "the connection was closed before the answer was complete", { cause });
}
