// Client for language models: controls the course of a call, including retries. Related files: call-timer.ts
// (timeouts), exchange.ts (HTTP), completion.ts and refusal.ts (responses), protocols.ts (what differs by provider),
// dialect.ts (fields that an endpoint accepts), retries.ts (retry policy).

import type { LlmEndpoint } from "../../domain/language-model.ts";
import type { Clock } from "../../kit/clock.ts";
import { randomFraction } from "../../kit/random-fraction.ts";
import { type LanguageModel, LlmError, type LlmFragment, type LlmRequest } from "../../ports/language-model.ts";
import { type Admission, admittedAddresses, parseTarget, resolveBySystem, UnsafeTarget } from "../outbound/guard.ts";
import { admittingLookup } from "../outbound/sender.ts";
import { CallTimer, type LlmTimeouts } from "./call-timer.ts";
import { Completion } from "./completion.ts";
import { Dialects, simplerDialect } from "./dialect.ts";
import { exchange, type HttpAnswer, type HttpCall } from "./exchange.ts";
import { languageModelFromStream } from "./from-stream.ts";
import type { Protocol } from "./protocol.ts";
import { PROTOCOLS } from "./protocols.ts";
import { Refusal } from "./refusal.ts";
import { waitBeforeRetry } from "./retries.ts";

/** Maximum number of bytes read of an error body: enough to find the refused field and the error code. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** Options of the client. */
export interface LanguageModelOptions extends Admission {
  readonly timeouts: LlmTimeouts;
  /** Tokens that models should accept, input and output together. Only Ollama receives it. */
  readonly contextTokens: number;
  readonly clock: Clock;
  /** Returns the jitter for a wait before a retry, in 0..1. Default: a random number. */
  readonly random?: () => number;
}

/** Creates a LanguageModel that calls endpoints of every provider. */
export function createLanguageModel(options: LanguageModelOptions): LanguageModel {
  const client = new Client(options);
  return languageModelFromStream((request, signal) => client.stream(request, signal));
}

class Client {
  readonly #dialects = new Dialects();
  readonly #admission: Required<Admission>;
  readonly #timeouts: LlmTimeouts;
  readonly #contextTokens: number;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor({ allow, resolve = resolveBySystem, random = randomFraction, ...options }: LanguageModelOptions) {
    const { timeouts, contextTokens, clock } = options;
    this.#admission = { allow, resolve };
    this.#timeouts = timeouts;
    this.#contextTokens = contextTokens;
    this.#clock = clock;
    this.#random = random;
  }

  async *stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void> {
    const timer = new CallTimer(this.#timeouts, signal);
    const completion = new Completion(request, PROTOCOLS[request.endpoint.provider]);
    let answer: HttpAnswer | null = null;
    try {
      answer = await this.#open(request, timer);
      yield* textsOf(answer, completion, timer);
    } catch (error) {
      if (!(error instanceof LlmError)) throw error;
      // a call that was cut off after the model had finished its text is a success: only the end marker and the usage
      // are missing
      const isCutOff = error.reason === "timed_out" || error.reason === "failed";
      if (!isCutOff || !completion.hasFinished) throw error.withUsage(completion.usage);
    } finally {
      answer?.close();
      timer.close();
    }
    yield { type: "usage", usage: completion.usage, ending: completion.ending };
  }

  // Sends the request, repeatedly if necessary, until a response with status 200 begins: in a simpler dialect if a
  // field was refused, and again after a transient failure.
  async #open(request: LlmRequest, timer: CallTimer): Promise<HttpAnswer> {
    const { endpoint } = request;
    const protocol = PROTOCOLS[endpoint.provider];
    const target = await targetOf(endpoint, protocol, this.#admission);
    let dialect = this.#dialects.of(endpoint);
    for (let retries = 0; ; ) {
      const body = JSON.stringify(protocol.body(request, dialect, this.#contextTokens));
      const call = { ...target, headers: requestHeaders(endpoint, target.url), body };
      const outcome = await send(call, timer);
      if (!(outcome instanceof Refusal) && !(outcome instanceof LlmError)) {
        this.#dialects.learn(endpoint, dialect);
        return outcome;
      }
      timer.pause();
      const mayBeUnsupportedField = outcome instanceof Refusal && outcome.mayBeUnsupportedField;
      const next = mayBeUnsupportedField ? simplerDialect(dialect, request, outcome.body) : null;
      if (next !== null) {
        dialect = next;
        continue;
      }
      const failure = outcome instanceof Refusal ? outcome.toError(this.#clock.now()) : outcome;
      // Calls of ingestion are not retried here, because ingestion has its own backoff for all its calls. If there is a
      // fallback, it is called instead.
      const isLast = request.fallbacks === undefined || request.fallbacks.length === 0;
      const mayRetry = request.purpose === "query" && isLast && !timer.signal.aborted;
      const ms = mayRetry ? waitBeforeRetry(failure, retries, timer.leftMs, this.#random()) : null;
      if (ms === null) throw failure;
      retries++;
      await this.#clock.sleep(ms, timer.signal);
      timer.signal.throwIfAborted();
    }
  }
}

async function* textsOf(
  answer: HttpAnswer,
  completion: Completion,
  timer: CallTimer,
): AsyncGenerator<LlmFragment, void> {
  for (let isFirst = true; ; isFirst = false) {
    // the timeout for the first part has been running since the connection was established
    if (!isFirst) timer.awaitPart(completion.hasFinished);
    const part = await answer.nextPart();
    timer.pause();
    for (const text of part === null ? completion.end() : completion.push(part)) {
      yield { type: "text", text };
      timer.signal.throwIfAborted();
    }
    if (part === null || completion.isComplete) return;
  }
}

// Sends one request. Returns an LlmError, instead of throwing it, if no connection was made, because the request may
// then be repeated.
async function send(call: HttpCall, timer: CallTimer): Promise<HttpAnswer | Refusal | LlmError> {
  timer.awaitConnection();
  let answer: HttpAnswer;
  try {
    answer = await exchange(call, timer.signal, () => timer.awaitFirstByte());
  } catch (error) {
    if (error instanceof LlmError && error.reason === "unreachable") return error;
    throw error;
  }
  if (answer.status !== 200) return await readRefusal(answer, timer);
  if ((answer.headers["content-encoding"] ?? "identity") !== "identity") {
    answer.close();
    throw new LlmError("malformed", "the endpoint sent a compressed answer although none was requested");
  }
  return answer;
}

async function readRefusal(answer: HttpAnswer, timer: CallTimer): Promise<Refusal> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    while (bytes < REFUSAL_BYTES_MAX) {
      const part = await answer.nextPart();
      if (part === null) break;
      parts.push(part);
      bytes += part.byteLength;
      timer.awaitPart(true);
    }
  } catch (error) {
    // the status counts even if the body cannot be read
    if (!(error instanceof LlmError) || error.reason === "stopped") throw error;
  } finally {
    answer.close();
  }
  return new Refusal(answer.status, answer.headers, Buffer.concat(parts).toString("utf8"));
}

// An untrusted host is checked again at each connection, because its name may resolve to another address by then.
async function targetOf(
  endpoint: LlmEndpoint,
  protocol: Protocol,
  admission: Required<Admission>,
): Promise<Pick<HttpCall, "url" | "lookup">> {
  try {
    if (endpoint.isTrusted) return { url: protocol.url(new URL(endpoint.baseUrl), endpoint.model) };
    const target = parseTarget(endpoint.baseUrl);
    // node makes no DNS lookup for a literal IP address, so it is checked here
    if (target.isLiteralAddress) await admittedAddresses(target, admission);
    return { url: protocol.url(target.url, endpoint.model), lookup: admittingLookup(target, admission) };
  } catch (cause) {
    if (cause instanceof LlmError) throw cause;
    const reason = cause instanceof UnsafeTarget ? cause.message : "is not a well-formed URL";
    throw new LlmError("unsafe_address", `the endpoint's address ${reason}`, { cause });
  }
}

/**
 * Returns the headers of a request to `url`.
 * @throws LlmError `refused` if the key contains characters that are not allowed in headers
 */
export function requestHeaders({ apiKey, provider }: LlmEndpoint, url: URL): Readonly<Record<string, string>> {
  if (apiKey !== null && !/^[\x20-\x7e]*$/.test(apiKey)) {
    throw new LlmError("refused", "the endpoint's key contains characters that a header cannot hold");
  }
  return {
    "content-type": "application/json",
    accept: "text/event-stream, application/x-ndjson, application/json",
    "accept-encoding": "identity",
    ...PROTOCOLS[provider].headers(apiKey, url),
  };
}
