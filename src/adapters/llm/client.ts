// The client of OpenAI-compatible endpoints: control of one call. How long it may take is watch.ts, how it travels exchange.ts,
// what the answer means completion.ts, what an endpoint takes dialect.ts.

import type { IncomingHttpHeaders } from "node:http";
import { estimatedTokens, type LlmEndpoint } from "../../domain/language-model.ts";
import type { Clock } from "../../kit/clock.ts";
import {
  type LanguageModel,
  type LlmAnswer,
  LlmError,
  type LlmRequest,
  type LlmUsage,
} from "../../ports/language-model.ts";
import { type Admission, admittedAddresses, readTarget, resolveBySystem, UnsafeTarget } from "../outbound/guard.ts";
import { admittingLookup } from "../outbound/sender.ts";
import { Completion, errorCode, parsed } from "./completion.ts";
import { bodyOf, Dialects, plainer } from "./dialect.ts";
import { type AnswerReader, exchange, type HttpCall } from "./exchange.ts";
import { type LlmTimeouts, Watch } from "./watch.ts";

/** Bytes of an error's body that are read: enough for the field that it names. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** What a client goes by. */
export interface LanguageModelOptions extends Admission {
  readonly timeouts: LlmTimeouts;
  readonly clock: Clock;
}

/** A LanguageModel that goes by these options. */
export function createLanguageModel({
  allow,
  resolve = resolveBySystem,
  timeouts,
  clock,
}: LanguageModelOptions): LanguageModel {
  const dialects = new Dialects();
  return {
    async complete(request, signal) {
      const watch = new Watch(timeouts, signal);
      const { endpoint } = request;
      try {
        const target = await targetOf(endpoint, { allow, resolve });
        let dialect = dialects.of(endpoint);
        for (;;) {
          const call = { ...target, headers: headersOf(endpoint), body: bodyOf(request, dialect) };
          const outcome = await ask(call, request, watch);
          if (!(outcome instanceof Refusal)) {
            dialects.learn(endpoint, dialect);
            return outcome;
          }
          const next = outcome.isOfRequest ? plainer(dialect, request, outcome.body) : null;
          if (next === null) throw outcome.toError(clock.now());
          dialect = next;
        }
      } finally {
        watch.close();
      }
    },
  };
}

/** An answer with another status than 200. */
class Refusal {
  constructor(
    private readonly status: number,
    private readonly headers: IncomingHttpHeaders,
    readonly body: string,
  ) {}

  /** Whether it may be the request's form that is refused. */
  get isOfRequest(): boolean {
    return this.status === 400 || this.status === 422;
  }

  toError(nowMs: number): LlmError {
    const { status } = this;
    const detail = { status, ...retryAfter(this.headers["retry-after"], nowMs) };
    if (status === 429)
      return new LlmError("rate_limited", "the endpoint has had too many requests (status 429)", detail);
    if (status >= 300 && status < 400) {
      return new LlmError(
        "refused",
        `the endpoint redirects elsewhere (status ${status}), which is not followed`,
        detail,
      );
    }
    const code = errorCode(parsed(this.body));
    if (status >= 500) return new LlmError("failed", `the endpoint failed with status ${status}${code}`, detail);
    return new LlmError("refused", `the endpoint refused the request with status ${status}${code}`, detail);
  }
}

async function ask(call: HttpCall, request: LlmRequest, watch: Watch): Promise<LlmAnswer | Refusal> {
  const completion = new Completion(request.outputTokensMax);
  const answer = new AnswerParts(completion, watch);
  const promptTokens = request.messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
  watch.asked();
  try {
    await exchange(call, answer, watch.signal);
    if (answer.refusal === null && !answer.isWhole) completion.end();
  } catch (error) {
    // of a refusal the status stands, whatever becomes of its body; of an answer that has ended only its end was missing
    const isCutOff = error instanceof LlmError && (error.reason === "timed_out" || error.reason === "failed");
    const isEnough = answer.refusal !== null || completion.hasFinished;
    if (!isCutOff || !isEnough) throw withUsage(error, completion.usage(promptTokens));
  }
  return answer.refusal ?? { text: completion.text, usage: completion.usage(promptTokens) };
}

/** Leads the parts of an answer to where they belong. */
class AnswerParts implements AnswerReader {
  /** Whether the answer says that it is whole. */
  isWhole = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #refusal: Buffer[] = [];
  #refusalBytes = 0;

  constructor(
    private readonly completion: Completion,
    private readonly watch: Watch,
  ) {}

  /** The answer, where its status is not 200; null before any answer, too. */
  get refusal(): Refusal | null {
    if (this.#status === 0 || this.#status === 200) return null;
    return new Refusal(this.#status, this.#headers, Buffer.concat(this.#refusal).toString("utf8"));
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    const coding = headers["content-encoding"] ?? "identity";
    if (status === 200 && coding !== "identity") {
      throw new LlmError("malformed", "the endpoint compressed its answer, which it was not asked to");
    }
  }

  part(bytes: Uint8Array): boolean {
    this.watch.heard();
    if (this.#status === 200) {
      this.isWhole = this.completion.part(bytes);
      return this.isWhole;
    }
    this.#refusal.push(Buffer.from(bytes));
    this.#refusalBytes += bytes.byteLength;
    return this.#refusalBytes >= REFUSAL_BYTES_MAX;
  }
}

// An untrusted address is judged again at each connection: what it resolves to may have changed.
async function targetOf(
  endpoint: LlmEndpoint,
  admission: Required<Admission>,
): Promise<Pick<HttpCall, "url" | "lookup">> {
  try {
    if (endpoint.isTrusted) return { url: completionsUrl(new URL(endpoint.baseUrl)) };
    const target = readTarget(endpoint.baseUrl);
    // a literal address is connected to without a lookup
    if (target.isLiteralAddress) await admittedAddresses(target, admission);
    return { url: completionsUrl(target.url), lookup: admittingLookup(target, admission) };
  } catch (cause) {
    const reason = cause instanceof UnsafeTarget ? cause.message : "is not a well-formed URL";
    throw new LlmError("unsafe_address", `the endpoint's address ${reason}`, { cause });
  }
}

// The query stays: some services want their version there.
function completionsUrl(base: URL): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/{1,100}$/, "")}/chat/completions`;
  url.hash = "";
  return url;
}

function headersOf({ apiKey }: LlmEndpoint): Record<string, string> {
  if (apiKey !== null && !/^[\x20-\x7e]*$/.test(apiKey)) {
    throw new LlmError("refused", "the endpoint's key holds characters that a header cannot hold");
  }
  return {
    "content-type": "application/json",
    accept: "text/event-stream, application/json",
    "accept-encoding": "identity",
    ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }),
  };
}

function withUsage(error: unknown, usage: LlmUsage): unknown {
  if (!(error instanceof LlmError)) return error;
  const { reason, message, status, cause } = error;
  return new LlmError(reason, message, { ...(status !== null && { status }), usage, cause });
}

// In seconds, or as a date.
function retryAfter(header: string | undefined, nowMs: number): { readonly retryAfterMs?: number } {
  if (header === undefined) return {};
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return ms >= 0 ? { retryAfterMs: ms } : {};
}
