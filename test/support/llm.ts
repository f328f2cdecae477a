// A language model endpoint on loopback. Records requests, and answers as the test specifies.

import type { OperatorLlm } from "../../src/domain/language-model.ts";
import { systemClock } from "../../src/kit/clock.ts";

/** Settings of an operator who has configured no language model. */
export const NO_OPERATOR_LLM: OperatorLlm = {
  provider: "openai",
  baseUrl: null,
  model: null,
  apiKey: null,
  fallbacks: [],
  monthlyTokensMax: null,
};

/** One received request. */
export interface LlmCall {
  readonly path: string;
  readonly headers: Headers;
  readonly body: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly response_format?: { readonly json_schema: { readonly schema: { readonly required: readonly string[] } } };
    readonly [field: string]: unknown;
  };
  /** Signal that aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** Answers a request. */
export type LlmAnswering = (call: LlmCall) => Response | Promise<Response>;

/** A listening endpoint. */
export interface LlmStub {
  /** Base URL of its OpenAI-compatible API. */
  readonly baseUrl: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Received requests, oldest first. */
  readonly calls: readonly LlmCall[];
  /** Number of requests in progress. */
  underWay(): number;
  /** Clears the recorded requests. */
  forget(): void;
  /** Sets the function that answers requests from now on. */
  answer(how: LlmAnswering): void;
  stop(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1. */
export function startLlm(how: LlmAnswering = describing()): LlmStub {
  const calls: LlmCall[] = [];
  let answering = how;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const body = (await request.json()) as LlmCall["body"];
      const call = { path: `${pathname}${search}`, headers: request.headers, body, signal: request.signal };
      calls.push(call);
      return answering(call);
    },
  });
  return {
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    origin: `http://127.0.0.1:${server.port}`,
    calls,
    forget: () => void calls.splice(0),
    underWay: () => server.pendingRequests,
    answer: (next) => {
      answering = next;
    },
    stop: () => server.stop(true),
  };
}

/** A valid LLM extraction for any text. */
export const DESCRIPTION = {
  title: "What a model calls it",
  type: "list",
  tags: ["first tag", "second tag"],
  language: "pt-BR",
  entities: [{ name: "Ada", type: "person" }],
  relations: [{ subject: "Ada", predicate: "knows", object: "Ben" }],
};

/** Answers each request with a valid LLM extraction. */
export function describing(usage: Usage | null = { prompt: 100, completion: 20 }): LlmAnswering {
  return () => streamed([JSON.stringify(DESCRIPTION)], usage);
}

/** Token counts of a response. */
export interface Usage {
  readonly prompt: number;
  readonly completion: number;
}

const SSE = { headers: { "content-type": "text/event-stream" } };

/** An event of a stream. */
export function event(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** Event data with a part of the answer's text. */
export function delta(content: string): object {
  return { choices: [{ index: 0, delta: { content } }] };
}

/** A stream of these texts, as a well-behaved endpoint sends it. */
export function streamed(parts: readonly string[], usage: Usage | null = null): Response {
  const counted = usage && { choices: [], usage: { prompt_tokens: usage.prompt, completion_tokens: usage.completion } };
  const events = [
    ...parts.map(delta),
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ...(counted === null ? [] : [counted]),
    "[DONE]",
  ];
  return new Response(events.map(event).join(""), SSE);
}

/**
 * Short time limits in milliseconds, for a service whose calls of the model are meant to fail. Where calls should
 * succeed, the default limits are needed: a busy machine can stand still for longer than these.
 */
export const SHORT_LIMITS = { llmFirstByteTimeoutMs: 400, llmIdleTimeoutMs: 400, llmTimeoutMs: 1_500 };

/** Sends nothing, not even a status. */
export function hanging({ signal }: LlmCall): Promise<Response> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(new Response(null)), { once: true });
  });
}

/** Sends these bytes, then nothing more, and keeps the connection open. */
export function stalling(text: string): LlmAnswering {
  return () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from(text)) }), SSE);
}

/**
 * Sends these texts, one per millisecond, and then ends the answer. With `stays`, it does not end the answer, but sends
 * nothing more and keeps the connection open.
 */
export function trickling(parts: readonly string[], { stays }: { readonly stays: boolean }): LlmAnswering {
  return () => {
    let at = 0;
    const pull = async (stream: ReadableStreamDefaultController) => {
      await systemClock.sleep(1);
      const part = parts[at++];
      if (part !== undefined) return stream.enqueue(Buffer.from(event(delta(part))));
      if (stays) return await Promise.withResolvers<void>().promise;
      stream.enqueue(Buffer.from(await streamed([]).text()));
      stream.close();
    };
    return new Response(new ReadableStream({ pull }), SSE);
  };
}

/** Sends the same text repeatedly until the caller disconnects. */
export function endless(text: string): LlmAnswering {
  return () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(Buffer.from(text)) }), SSE);
}

/** Responds with a status and a JSON body. */
export function status(code: number, headers: Record<string, string> = {}, body: object = {}): LlmAnswering {
  return () => Response.json(body, { status: code, headers });
}
