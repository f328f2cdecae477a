// Client for OpenAI-compatible endpoints: controls the course of a call, including retries. Related files:
// call-timer.ts (timeouts), exchange.ts (HTTP), completion.ts and refusal.ts (responses), dialect.ts (request forms),
// retries.ts (retry policy).

import type { LlmEndpoint } from "../../domain/language-model.ts";
import type { Clock } from "../../kit/clock.ts";
import { type LanguageModel, LlmError, type LlmFragment, type LlmRequest } from "../../ports/language-model.ts";
import { type Admission, admittedAddresses, parseTarget, resolveBySystem, UnsafeTarget } from "../outbound/guard.ts";
import { admittingLookup } from "../outbound/sender.ts";
import { CallTimer, type LlmTimeouts } from "./call-timer.ts";
import { Completion } from "./completion.ts";
import { Dialects, requestBody, requestHeaders, simplerDialect } from "./dialect.ts";
import { exchange, type HttpAnswer, type HttpCall } from "./exchange.ts";
import { languageModelFromStream } from "./from-stream.ts";
import { Refusal } from "./refusal.ts";
import { waitBeforeRetry } from "./retries.ts";

/** Maximum number of bytes read of an error body: enough to find the refused field and the error code. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** Options of the client. */
export interface LanguageModelOptions extends Admission {
  readonly timeouts: LlmTimeouts;
  readonly clock: Clock;
  /** Returns the jitter for a wait before a retry, in 0..1. Default: a random number. */
  readonly random?: () => number;
}

/** Creates a LanguageModel that calls OpenAI-compatible endpoints. */
export function createLanguageModel(options: LanguageModelOptions): LanguageModel {
  const client = new Client(options);
  return languageModelFromStream((request, signal) => client.stream(request, signal));
}

class Client {
  readonly #dialects = new Dialects();
  readonly #admission: Required<Admission>;
  readonly #timeouts: LlmTimeouts;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor({ allow, resolve = resolveBySystem, timeouts, clock, random = randomFraction }: LanguageModelOptions) {
    this.#admission = { allow, resolve };
    this.#timeouts = timeouts;
    this.#clock = clock;
    this.#random = random;
  }

  async *stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void> {
    const timer = new CallTimer(this.#timeouts, signal);
    const completion = new Completion(request);
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
    const target = await targetOf(endpoint, this.#admission);
    let dialect = this.#dialects.of(endpoint);
    for (let retries = 0; ; ) {
      const call = { ...target, headers: requestHeaders(endpoint, target.url), body: requestBody(request, dialect) };
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
      // calls of ingestion are not retried here, because ingestion has its own backoff for all its calls
      const mayRetry = request.purpose === "query" && !timer.signal.aborted;
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
  admission: Required<Admission>,
): Promise<Pick<HttpCall, "url" | "lookup">> {
  try {
    if (endpoint.isTrusted) return { url: completionsUrl(new URL(endpoint.baseUrl)) };
    const target = parseTarget(endpoint.baseUrl);
    // node makes no DNS lookup for a literal IP address, so it is checked here
    if (target.isLiteralAddress) await admittedAddresses(target, admission);
    return { url: completionsUrl(target.url), lookup: admittingLookup(target, admission) };
  } catch (cause) {
    const reason = cause instanceof UnsafeTarget ? cause.message : "is not a well-formed URL";
    throw new LlmError("unsafe_address", `the endpoint's address ${reason}`, { cause });
  }
}

// Keeps the query string: some services expect the API version in it.
function completionsUrl(base: URL): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/{1,100}$/, "")}/chat/completions`;
  url.hash = "";
  return url;
}

function randomFraction(): number {
  const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
  return word / 2 ** 32;
}
