// The client of OpenAI-compatible endpoints: control of one call. How long it may take is watch.ts, how it travels exchange.ts,
// what the answer means completion.ts and refusal.ts, what an endpoint takes dialect.ts, when a call is made again retries.ts.

import type { LlmEndpoint } from "../../domain/language-model.ts";
import type { Clock } from "../../kit/clock.ts";
import { type LanguageModel, LlmError, type LlmFragment, type LlmRequest } from "../../ports/language-model.ts";
import { type Admission, admittedAddresses, readTarget, resolveBySystem, UnsafeTarget } from "../outbound/guard.ts";
import { admittingLookup } from "../outbound/sender.ts";
import { Completion } from "./completion.ts";
import { bodyOf, Dialects, headersOf, plainer } from "./dialect.ts";
import { exchange, type HttpAnswer, type HttpCall } from "./exchange.ts";
import { languageModelOf } from "./fragments.ts";
import { Refusal } from "./refusal.ts";
import { waitBeforeRetry } from "./retries.ts";
import { type LlmTimeouts, Watch } from "./watch.ts";

/** Bytes of an error's body that are read: enough for the field that it names. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** What a client goes by. */
export interface LanguageModelOptions extends Admission {
  readonly timeouts: LlmTimeouts;
  readonly clock: Clock;
  /** In 0..1, for the waits before repetitions. Defaults to chance. */
  readonly random?: () => number;
}

/** A LanguageModel that goes by these options. */
export function createLanguageModel(options: LanguageModelOptions): LanguageModel {
  const client = new Client(options);
  return languageModelOf((request, signal) => client.stream(request, signal));
}

class Client {
  readonly #dialects = new Dialects();
  readonly #admission: Required<Admission>;
  readonly #timeouts: LlmTimeouts;
  readonly #clock: Clock;
  readonly #random: () => number;

  constructor({ allow, resolve = resolveBySystem, timeouts, clock, random = chance }: LanguageModelOptions) {
    this.#admission = { allow, resolve };
    this.#timeouts = timeouts;
    this.#clock = clock;
    this.#random = random;
  }

  async *stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void> {
    const watch = new Watch(this.#timeouts, signal);
    const completion = new Completion(request);
    let answer: HttpAnswer | null = null;
    try {
      answer = await this.#opened(request, watch);
      yield* textsOf(answer, completion, watch);
    } catch (error) {
      if (!(error instanceof LlmError)) throw error;
      // of an answer that has ended only its end was missing
      const isCutOff = error.reason === "timed_out" || error.reason === "failed";
      if (!isCutOff || !completion.hasFinished) throw error.withUsage(completion.usage);
    } finally {
      answer?.close();
      watch.close();
    }
    yield { type: "usage", usage: completion.usage, ending: completion.ending };
  }

  // The answer of status 200, however often and in however plain a form it takes to ask for it.
  async #opened(request: LlmRequest, watch: Watch): Promise<HttpAnswer> {
    const { endpoint } = request;
    const target = await targetOf(endpoint, this.#admission);
    let dialect = this.#dialects.of(endpoint);
    for (let retries = 0; ; ) {
      const call = { ...target, headers: headersOf(endpoint, target.url), body: bodyOf(request, dialect) };
      const outcome = await asked(call, watch);
      if (!(outcome instanceof Refusal) && !(outcome instanceof LlmError)) {
        this.#dialects.learn(endpoint, dialect);
        return outcome;
      }
      watch.rests();
      const isOfForm = outcome instanceof Refusal && outcome.isOfRequest;
      const next = isOfForm ? plainer(dialect, request, outcome.body) : null;
      if (next !== null) {
        dialect = next;
        continue;
      }
      const failure = outcome instanceof Refusal ? outcome.toError(this.#clock.now()) : outcome;
      // ingestion makes pauses of its own, for all of its calls; two of them would add up
      const isRepeated = request.purpose === "query" && !watch.signal.aborted;
      const ms = isRepeated ? waitBeforeRetry(failure, retries, watch.leftMs, this.#random()) : null;
      if (ms === null) throw failure;
      retries++;
      await this.#clock.sleep(ms, watch.signal);
      watch.signal.throwIfAborted();
    }
  }
}

async function* textsOf(answer: HttpAnswer, completion: Completion, watch: Watch): AsyncGenerator<LlmFragment, void> {
  for (let isFirst = true; ; isFirst = false) {
    // the first part is waited for since the connection stands
    if (!isFirst) watch.awaits(completion.hasFinished);
    const part = await answer.part();
    watch.rests();
    for (const text of part === null ? completion.end() : completion.take(part)) {
      yield { type: "text", text };
      watch.signal.throwIfAborted();
    }
    if (part === null || completion.isWhole) return;
  }
}

// What one request gave; an LlmError is a connection that did not come about.
async function asked(call: HttpCall, watch: Watch): Promise<HttpAnswer | Refusal | LlmError> {
  watch.asked();
  let answer: HttpAnswer;
  try {
    answer = await exchange(call, watch.signal, () => watch.connected());
  } catch (error) {
    if (error instanceof LlmError && error.reason === "unreachable") return error;
    throw error;
  }
  if (answer.status !== 200) return await refusalOf(answer, watch);
  if ((answer.headers["content-encoding"] ?? "identity") !== "identity") {
    answer.close();
    throw new LlmError("malformed", "the endpoint compressed its answer, which it was not asked to");
  }
  return answer;
}

async function refusalOf(answer: HttpAnswer, watch: Watch): Promise<Refusal> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    while (bytes < REFUSAL_BYTES_MAX) {
      const part = await answer.part();
      if (part === null) break;
      parts.push(part);
      bytes += part.byteLength;
      watch.awaits(true);
    }
  } catch (error) {
    // the status stands, whatever becomes of its body
    if (!(error instanceof LlmError) || error.reason === "stopped") throw error;
  } finally {
    answer.close();
  }
  return new Refusal(answer.status, answer.headers, Buffer.concat(parts).toString("utf8"));
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

function chance(): number {
  const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
  return word / 2 ** 32;
}
