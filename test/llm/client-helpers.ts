// Helpers for tests of language model calls: a request, clients with short timeouts, a raw endpoint, and the outcome of
// a call.

import { createLanguageModel, type LanguageModelOptions } from "../../src/adapters/llm/client.ts";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { LlmEndpoint } from "../../src/domain/language-model.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { type LanguageModel, LlmError, type LlmFragment, type LlmRequest } from "../../src/ports/language-model.ts";
import { listen, type Receiver, type Respond } from "../outbound/receiver.ts";

/** An API key that no message may contain. */
export const SECRET = "sk-very-secret-0123456789";
/** Timeouts that no test reaches. */
export const PATIENT = { connectMs: 600_000, firstByteMs: 600_000, idleMs: 600_000, totalMs: 600_000 };
/** Timeouts that expire soon. */
export const QUICK = { ...PATIENT, firstByteMs: 300, idleMs: 300 };
/**
 * Timeouts for an endpoint that falls silent after it has sent something, which arrives in time even if the machine
 * stands still for seconds.
 */
export const STALLED = { ...PATIENT, idleMs: 5_000 };
/** A signal that never aborts. */
export const NEVER = new AbortController().signal;

/** Creates a client; its timeouts are PATIENT unless `options` sets others. */
export function model(options: Partial<LanguageModelOptions> = {}): LanguageModel {
  return createLanguageModel({
    allow: AllowList.parse(""),
    clock: systemClock,
    timeouts: PATIENT,
    contextTokens: 8_192,
    ...options,
  });
}

/**
 * Creates an ingestion request to a trusted endpoint; `more` replaces fields of the request, `endpoint` fields of its
 * endpoint.
 */
export function request(
  baseUrl: string,
  more: Partial<LlmRequest> = {},
  endpoint: Partial<LlmEndpoint> = {},
): LlmRequest {
  return {
    endpoint: { provider: "openai", baseUrl, model: "small", apiKey: SECRET, isTrusted: true, ...endpoint },
    projectId: "prj_test" as ProjectId,
    purpose: "ingestion",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hello?" },
    ],
    temperature: 0,
    outputTokensMax: 100,
    ...more,
  };
}

/**
 * Returns the LlmError that the call failed with.
 * @throws Error if the call succeeded, or if its error contains the API key
 */
export async function failureOf(call: Promise<unknown>): Promise<LlmError> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof LlmError)) throw error;
    if (`${error.message} ${error.stack}`.includes(SECRET)) throw new Error("the failure contains the key");
    return error;
  }
  throw new Error("the call did not fail");
}

/** What a test received of a stream: its texts, and its end or failure. */
export interface Streamed {
  readonly texts: readonly string[];
  /** The last fragment, which has the usage; null if the stream failed with `failure`. */
  readonly end: Extract<LlmFragment, { type: "usage" }> | null;
  readonly failure: LlmError | null;
}

/**
 * Reads a stream to its end.
 * @throws Error if the fragments are out of order. Errors other than an LlmError are passed on
 */
export async function streamed(fragments: AsyncIterable<LlmFragment>): Promise<Streamed> {
  const texts: string[] = [];
  let end: Streamed["end"] = null;
  try {
    for await (const fragment of fragments) {
      if (end !== null) throw new Error("a fragment followed the usage");
      if (fragment.type === "usage") end = fragment;
      else if (fragment.text === "") throw new Error("a text was empty");
      else texts.push(fragment.text);
    }
  } catch (failure) {
    if (!(failure instanceof LlmError)) throw failure;
    return { texts, end: null, failure };
  }
  if (end === null) throw new Error("a stream ended without its usage");
  return { texts, end, failure: null };
}

/** Head of a response whose body ends when the connection is closed. */
export const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
/** Head of a response with a chunked body. */
export const CHUNKED = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/** Starts an endpoint that sends exactly the bytes that a test specifies. */
export async function rawEndpoint(respond: Respond): Promise<Receiver & { readonly baseUrl: string }> {
  const receiver = await listen(respond);
  return { ...receiver, baseUrl: `http://127.0.0.1:${receiver.port}/v1` };
}
