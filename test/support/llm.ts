// A language model's endpoint on loopback: keeps what it is asked, and answers what a test wants, well or badly.

import { systemClock } from "../../src/kit/clock.ts";

/** One request, as it arrived. */
export interface LlmCall {
  readonly path: string;
  readonly headers: Headers;
  readonly body: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly response_format?: { readonly json_schema: { readonly schema: { readonly required: readonly string[] } } };
    readonly [field: string]: unknown;
  };
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
}

/** How an endpoint answers. */
export type LlmAnswering = (call: LlmCall) => Response | Promise<Response>;

/** A listening endpoint. */
export interface LlmStub {
  readonly baseUrl: string;
  /** What came in, oldest first. */
  readonly calls: readonly LlmCall[];
  /** Calls that are being answered now. */
  underWay(): number;
  /** Forgets what came in. */
  forget(): void;
  /** How it answers from now on. */
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
    calls,
    forget: () => void calls.splice(0),
    underWay: () => server.pendingRequests,
    answer: (next) => {
      answering = next;
    },
    stop: () => server.stop(true),
  };
}

/** What a good model says of any text. */
export const DESCRIPTION = {
  title: "What a model calls it",
  type: "list",
  tags: ["first tag", "second tag"],
  language: "pt-BR",
  entities: [{ name: "Ada", type: "person" }],
  relations: [{ subject: "Ada", predicate: "knows", object: "Ben" }],
};

/** Answers each question with a good description. */
export function describing(usage: Usage | null = { prompt: 100, completion: 20 }): LlmAnswering {
  return () => streamed([JSON.stringify(DESCRIPTION)], usage);
}

/** Tokens of a call. */
export interface Usage {
  readonly prompt: number;
  readonly completion: number;
}

const SSE = { headers: { "content-type": "text/event-stream" } };

/** An event of a stream. */
export function event(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** A part of an answer's text, as an event's data. */
export function delta(content: string): object {
  return { choices: [{ index: 0, delta: { content } }] };
}

/** A stream of these parts of text, as a well-behaved endpoint sends it. */
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

/** Nothing comes, not even a status. */
export function hanging({ signal }: LlmCall): Promise<Response> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(new Response(null)), { once: true });
  });
}

/** These bytes come; then nothing more, and the connection stays open. */
export function stalling(text: string): LlmAnswering {
  return () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from(text)) }), SSE);
}

/** These parts of a text, one a millisecond; then its end, or, with `stays`, nothing more for as long as somebody listens. */
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

/** The same text again and again, for as long as somebody listens. */
export function endless(text: string): LlmAnswering {
  return () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(Buffer.from(text)) }), SSE);
}

/** A status, with a JSON body. */
export function status(code: number, headers: Record<string, string> = {}, body: object = {}): LlmAnswering {
  return () => Response.json(body, { status: code, headers });
}
