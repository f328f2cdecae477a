// What tests of language model calls have in common: a request, a client with short waits, a raw endpoint, and what came of a call.

import { createLanguageModel, type LanguageModelOptions } from "../../src/adapters/llm/client.ts";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { LlmEndpoint } from "../../src/domain/language-model.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { type LanguageModel, LlmError, type LlmFragment, type LlmRequest } from "../../src/ports/language-model.ts";
import { listen, type Receiver, type Respond } from "../outbound/receiver.ts";

/** A key that must stand in no message. */
export const SECRET = "sk-very-secret-0123456789";
/** Waits that are over soon. */
export const QUICK = { connectMs: 2_000, firstByteMs: 300, idleMs: 300, totalMs: 5_000 };
/** Waits that no test sees the end of. */
export const PATIENT = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 };
/** A signal that never aborts. */
export const NEVER = new AbortController().signal;

/** A client; without `options` its waits are QUICK. */
export function model(options: Partial<LanguageModelOptions> = {}): LanguageModel {
  return createLanguageModel({ allow: AllowList.parse(""), clock: systemClock, timeouts: QUICK, ...options });
}

/** A question of ingestion to a trusted endpoint; `more` replaces parts of it. */
export function request(
  baseUrl: string,
  more: Partial<LlmRequest> = {},
  endpoint: Partial<LlmEndpoint> = {},
): LlmRequest {
  return {
    endpoint: { baseUrl, model: "small", apiKey: SECRET, isTrusted: true, ...endpoint },
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

/** The failure that something came to, which repeats no key. @throws Error when it came to none */
export async function failureOf(asked: Promise<unknown>): Promise<LlmError> {
  try {
    await asked;
  } catch (error) {
    if (!(error instanceof LlmError)) throw error;
    if (`${error.message} ${error.stack}`.includes(SECRET)) throw new Error("the failure repeats the key");
    return error;
  }
  throw new Error("there was no failure");
}

/** What came of a stream. */
export interface Streamed {
  readonly texts: readonly string[];
  /** The last fragment; null: there was none, and `failure` says why. */
  readonly end: Extract<LlmFragment, { type: "usage" }> | null;
  readonly failure: LlmError | null;
}

/** Reads a stream to its end. @throws Error when it breaks the order of fragments, or fails with anything but an LlmError */
export async function streamed(fragments: AsyncIterable<LlmFragment>): Promise<Streamed> {
  const texts: string[] = [];
  let end: Streamed["end"] = null;
  try {
    for await (const fragment of fragments) {
      if (end !== null) throw new Error("something came after the usage");
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

/** The beginning of an answer whose body ends with its connection. */
export const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
/** The beginning of an answer whose body comes in chunks. */
export const CHUNKED = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/** An endpoint that answers byte for byte what a test wants. */
export async function rawEndpoint(respond: Respond): Promise<Receiver & { readonly baseUrl: string }> {
  const receiver = await listen(respond);
  return { ...receiver, baseUrl: `http://127.0.0.1:${receiver.port}/v1` };
}
