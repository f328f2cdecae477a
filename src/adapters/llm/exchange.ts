// One POST to an endpoint of a language model, whose answer is read part by part, as fast as somebody asks for parts. What may be
// called, how long it may take and what the bytes mean is left to client.ts.

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

/** An answer whose body is still to be read. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * The next part of the body; null: it has come to its end. Between two calls the socket is not read, so that what waits is what
   * was read at once. To be called again only when the last call has settled.
   * @throws LlmError `failed` when it breaks off; `signal.reason`
   */
  part(): Promise<Buffer | null>;
  /** Closes the connection. What was read and not asked for is lost. */
  close(): void;
}

/**
 * Sends, and resolves when an answer begins.
 * @param signal lives as long as the call: nothing stops listening to it
 * @param onConnected the connection stands, its encryption included
 * @throws LlmError `unreachable` or `unsafe_address` before an answer begins, `malformed` where none can; `signal.reason`
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
      // no agent: it would keep connections and heed HTTP_PROXY; NODE_TLS_REJECT_UNAUTHORIZED may not switch verification off
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
      reject(notReached(cause));
      // before the end that a body without a length seems to have when its connection breaks
      body?.end(brokenOff(cause));
    });
    outgoing.on("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new LlmError("malformed", "the endpoint wants to change the protocol"));
    });
    outgoing.on("response", (answer: IncomingMessage) => {
      const read = new Body(answer);
      body = read;
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        part: () => read.part(),
        close: () => {
          read.stop(new Error("a part was asked for after the answer was closed: this is a bug in Mneme"));
          outgoing.destroy();
        },
      });
    });
    outgoing.end(call.body);
  });
}

/** Hands over what comes to whoever asks, and pauses what comes while nobody does. */
class Body {
  readonly #answer: IncomingMessage;
  /** What came and was not asked for yet. */
  #parts: Buffer[] = [];
  #asked: PromiseWithResolvers<Buffer | null> | null = null;
  #end: { readonly error: unknown } | null = null;

  constructor(answer: IncomingMessage) {
    this.#answer = answer;
    answer.on("data", (part: Buffer) => this.#came(part));
    answer.on("end", () => this.end(null));
    answer.on("error", (cause) => this.end(brokenOff(cause)));
    answer.pause();
  }

  part(): Promise<Buffer | null> {
    const part = this.#parts.shift();
    if (part !== undefined) return Promise.resolve(part);
    if (this.#end !== null) return this.#end.error === null ? Promise.resolve(null) : Promise.reject(this.#end.error);
    this.#asked = Promise.withResolvers();
    this.#answer.resume();
    return this.#asked.promise;
  }

  /** No more comes; what came can still be asked for. @param error null: the body is whole */
  end(error: unknown): void {
    if (this.#end !== null) return;
    this.#end = { error };
    if (error === null) this.#asked?.resolve(null);
    else this.#asked?.reject(error);
    this.#asked = null;
  }

  /** As `end`, but at once. */
  stop(error: unknown): void {
    this.#parts = [];
    this.end(error);
    this.#end = { error };
  }

  #came(part: Buffer): void {
    if (this.#end !== null) return;
    if (this.#asked === null) {
      this.#parts.push(part);
      this.#answer.pause();
    } else {
      this.#asked.resolve(part);
      this.#asked = null;
    }
  }
}

function notReached(cause: unknown): LlmError {
  const reason = cause instanceof UnsafeTarget ? "unsafe_address" : "unreachable";
  return new LlmError(reason, `the endpoint was not reached: ${reasonOf(cause)}`, { cause });
}

function brokenOff(cause: unknown): LlmError {
  return new LlmError("failed", "the connection was closed before the answer was whole", { cause });
}
