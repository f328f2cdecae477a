// Calls the server of a remote model: bounded time and size, no redirects, retries with jitter, and a circuit breaker.

import type { RemoteModel } from "../../domain/installed-model.ts";
import { CircuitBreaker } from "../../kit/circuit-breaker.ts";
import type { Clock } from "../../kit/clock.ts";
import { KeyedSemaphore } from "../../kit/keyed-semaphore.ts";
import { parsedJson } from "../../kit/record.ts";
import { retryAfterMs } from "../../kit/retry-after.ts";
import type { Metrics } from "../../metrics.ts";
import type { Priority } from "../../ports/models.ts";
import { BadAnswer, NOT_A_NUMBER } from "./forms.ts";

/** Maximum size of an answer, in bytes: 32 vectors of 4,096 numbers have about 3 MB. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum duration of one request, in milliseconds. A person waits for a query. */
const REQUEST_MS: RequestDurations = { query: 10_000, ingest: 60_000 };
/** Maximum number of retries. */
const RETRIES: Readonly<Record<Priority, number>> = { query: 1, ingest: 3 };
/** Maximum wait before the first retry, in milliseconds. It doubles with each; jitter takes away up to half. */
const WAIT_MS = 250;
/** Maximum wait that an endpoint can request, in milliseconds. */
const REQUESTED_MS_MAX = 10_000;
/** How long an endpoint that failed three times in a row is not called, in milliseconds. */
const OPEN_MS = 10_000;
/** Refusals that another attempt may change. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429];

/** Maximum duration of one request by its priority, in milliseconds. */
export type RequestDurations = Readonly<Record<Priority, number>>;

/** A call that failed. The message is a sentence without key and address, for the operator. */
export class RemoteFailure extends Error {
  override readonly name = "RemoteFailure";

  constructor(
    message: string,
    readonly isTransient: boolean,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/** A request, and how its answer is read. */
export interface RemoteCall<Result> {
  readonly remote: RemoteModel;
  /** Appended to the base URL. */
  readonly path: string;
  readonly body: object;
  readonly priority: Priority;
  readonly signal?: AbortSignal | undefined;
  /** Reads and checks the answer. @throws BadAnswer */
  readonly read: (answer: unknown) => Result;
  /** Number of tokens that the endpoint counted; null if it says none. */
  readonly tokens: (answer: unknown) => number | null;
}

/** What endpoints need. */
export interface RemoteEndpointsDependencies {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Jitter in 0..1. */
  readonly random: () => number;
  /** Default: `REQUEST_MS`. */
  readonly requestMs?: RequestDurations;
}

/** The servers of all remote models of this node. */
export class RemoteEndpoints {
  readonly #uses: RemoteEndpointsDependencies;
  readonly #breaker: CircuitBreaker;
  readonly #ingestion = new KeyedSemaphore();
  readonly #requests: ReturnType<Metrics["counter"]>;
  readonly #tokens: ReturnType<Metrics["counter"]>;
  /** The last failure of each endpoint that has not answered since. */
  readonly #failures = new Map<string, string>();

  constructor(uses: RemoteEndpointsDependencies) {
    this.#uses = uses;
    this.#breaker = new CircuitBreaker(uses.clock, OPEN_MS);
    const { metrics } = uses;
    this.#requests = metrics.counter("mneme_remote_model_requests_total", "Requests to remote models by outcome.", [
      "model",
      "outcome",
    ]);
    this.#tokens = metrics.counter("mneme_remote_model_tokens_total", "Tokens that remote models counted.", ["model"]);
  }

  /** Why the last call of the endpoint failed, in one sentence; null if it did not, or there was none. */
  problem(remote: RemoteModel): string | null {
    return this.#failures.get(keyOf(remote)) ?? null;
  }

  /**
   * Makes a call, with retries.
   * @throws RemoteFailure; `signal.reason` if the signal aborts
   */
  async call<Result>(call: RemoteCall<Result>): Promise<Result> {
    const key = keyOf(call.remote);
    if (this.#breaker.isOpen(key)) throw new RemoteFailure(this.#failures.get(key) ?? "It failed several times.", true);
    const release = call.priority === "ingest" ? await this.#ingestion.acquire(key) : () => undefined;
    try {
      const result = await this.#withRetries(call);
      this.#breaker.recordSuccess(key);
      this.#failures.delete(key);
      return result;
    } catch (error) {
      if (!(error instanceof RemoteFailure)) throw error;
      this.#failures.set(key, error.message);
      this.#breaker.recordFailure(key);
      throw error;
    } finally {
      release();
    }
  }

  async #withRetries<Result>(call: RemoteCall<Result>): Promise<Result> {
    const { clock, random } = this.#uses;
    for (let retries = 0; ; retries++) {
      try {
        return await this.#once(call);
      } catch (error) {
        call.signal?.throwIfAborted();
        if (!(error instanceof RemoteFailure) || !error.isTransient || retries >= RETRIES[call.priority]) throw error;
        const ms = error.retryAfterMs ?? WAIT_MS * 2 ** retries * (1 - random() / 2);
        if (ms > REQUESTED_MS_MAX) throw error;
        await clock.sleep(ms, call.signal);
        call.signal?.throwIfAborted();
      }
    }
  }

  async #once<Result>(call: RemoteCall<Result>): Promise<Result> {
    const { model } = call.remote;
    try {
      const { clock, requestMs = REQUEST_MS } = this.#uses;
      const answer = await post(call, requestMs[call.priority], clock.now());
      const result = call.read(answer);
      this.#requests(model, "answered").add();
      this.#tokens(model).add(call.tokens(answer) ?? 0);
      return result;
    } catch (error) {
      this.#requests(model, call.signal?.aborted === true ? "stopped" : "failed").add();
      // a retry may bring a right answer: some servers mix up answers under load
      if (error instanceof BadAnswer) throw new RemoteFailure(`The endpoint ${error.message}.`, true);
      throw error;
    }
  }
}

async function post({ remote, path, body, signal }: RemoteCall<unknown>, ms: number, nowMs: number): Promise<unknown> {
  const timeout = AbortSignal.timeout(ms);
  let response: Response | null = null;
  let text: string;
  try {
    response = await fetch(`${remote.base_url.replace(/\/{1,100}$/, "")}${path}`, {
      method: "POST",
      redirect: "manual",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(remote.api_key !== null && { authorization: `Bearer ${remote.api_key}` }),
      },
      body: JSON.stringify(body),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    text = await textOf(response);
  } catch (error) {
    if (error instanceof RemoteFailure) throw error;
    signal?.throwIfAborted();
    const why = timeout.aborted ? `did not answer within ${ms / 1_000} s` : brokenConnection(error, response !== null);
    throw new RemoteFailure(`The endpoint ${why}.`, true);
  }
  const { status } = response;
  if (status !== 200) {
    const isTransient = status >= 500 || TRANSIENT_STATUSES.includes(status);
    const retryMs = retryAfterMs(response.headers.get("retry-after"), nowMs);
    throw new RemoteFailure(`The endpoint ${refusalOf(status, isTransient)}.`, isTransient, retryMs);
  }
  const answer = parsedJson(text);
  if (answer === undefined) throw new BadAnswer(otherThanJson(text));
  return answer;
}

async function textOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > ANSWER_BYTES_MAX) {
      const sentence = `The endpoint sent an answer of more than ${ANSWER_BYTES_MAX / 1024 / 1024} MiB: check the address.`;
      throw new RemoteFailure(sentence, false);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** What a person can do about errors of a connection, by their code. */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "cannot be reached: nothing listens at its address",
  ENOTFOUND: "cannot be reached: the name in its address is not known",
  EPROTO: "cannot be reached: it does not speak TLS, so its address may begin with http",
  ZlibError: "sent an answer that cannot be decompressed: check what lies between the servers",
};

/** Ends the sentence "The endpoint …". @param hasStatus whether a status had arrived */
function brokenConnection(error: unknown, hasStatus: boolean): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = CONNECTION_ERRORS[code];
  if (known !== undefined) return known;
  if (/CERT|SELF_SIGNED|ISSUER/.test(code)) return `cannot be reached: its certificate is not valid (${code})`;
  if (hasStatus) return "broke off its answer: see the log of that server";
  return code === "ECONNRESET"
    ? "closed the connection without an answer: see the log of that server"
    : "cannot be reached";
}

/** Ends the sentence "The endpoint …". */
function refusalOf(status: number, isTransient: boolean): string {
  if (status >= 200 && status < 300) return `sent no result (status ${status}): check the address and the API`;
  if (status >= 300 && status < 400) {
    return `redirects (status ${status}), which is not followed: use the address that it redirects to`;
  }
  if (status === 429) return "is asked too often (status 429): wait, or raise the limit of that server";
  const what = isTransient ? "failed" : "refused the request";
  return `${what} with status ${status}${status >= 500 ? ": see the log of that server" : hintFor(status)}`;
}

function hintFor(status: number): string {
  if (status === 401 || status === 403) return ": check the key";
  if (status === 400 || status === 422) return ": check the API and the model's name";
  if (status === 413) return ": raise that server's limit of a request, or add the model with fewer tokens per text";
  return status === 404 || status === 405 ? ": check the address, the API and the model's name" : "";
}

/** Ends the sentence "The endpoint …". */
function otherThanJson(text: string): string {
  const start = text.trimStart();
  if (start === "") return "sent an empty answer: check the address and the API";
  if (start.startsWith("<")) return "sent a web page instead of JSON: check the address";
  // Python's json module writes these numbers
  if (/[[,:] {0,9}-?(NaN|Infinity)\b/.test(text)) return NOT_A_NUMBER;
  return "sent an answer that is not JSON: check the address";
}

function keyOf({ api, base_url, model }: RemoteModel): string {
  return JSON.stringify([api, base_url, model]);
}
