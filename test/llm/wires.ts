// What endpoints of each provider send and receive, in the form that the provider documents.

import type { LlmProvider } from "../../src/domain/project.ts";
import type { LlmEnding, LlmUsage } from "../../src/ports/language-model.ts";
import { delta, event } from "../support/llm.ts";

/** How an answer ends: the tokens that the endpoint reports, and why the model stopped. */
export interface WireEnd {
  readonly usage?: LlmUsage | null;
  readonly ending?: LlmEnding;
}

/** The protocol of one provider, seen from the endpoint. */
export interface Wire {
  readonly contentType: string;
  /** What a base URL has after the host. */
  readonly basePath: string;
  /** Path of a call of the model `small`. */
  readonly path: string;
  /** Name and value of the header that contains the key. */
  readonly keyHeader: (key: string) => readonly [string, string];
  /** Text of the last message of a request. */
  readonly lastMessage: (body: Body) => string;
  /** The body of a request as the client should send it, for the messages of `request` in client-helpers.ts. */
  readonly requestBody: (schema: object) => object;
  /** What the endpoint sends before the texts. */
  readonly begin: (usage: LlmUsage | null) => readonly string[];
  readonly text: (text: string) => string;
  /** A part of the model's reasoning. */
  readonly reasoning: (text: string) => string;
  readonly end: (end: WireEnd) => readonly string[];
  /** An error in the middle of a stream. */
  readonly error: string;
  /** Body of a refusal. `code` is a word in lower case. */
  readonly refusal: (code: string, message: string) => object;
}

// biome-ignore lint/suspicious/noExplicitAny: each provider has its own form
type Body = any;

const USER = { role: "user", content: "Hello?" };

const named = (name: string, data: object) => `event: ${name}\n${event({ type: name, ...data })}`;
const line = (data: object) =>
  `${JSON.stringify({ model: "small", created_at: "2026-01-01T00:00:00.000000Z", ...data })}\n`;
const candidate = (parts: readonly object[], more: object = {}, usage: object = {}) =>
  event({ candidates: [{ content: { parts, role: "model" }, index: 0, ...more }], modelVersion: "small", ...usage });

/** All providers. */
export const WIRES: Readonly<Record<LlmProvider, Wire>> = {
  openai: {
    contentType: "text/event-stream",
    basePath: "/v1",
    path: "/v1/chat/completions",
    keyHeader: (key) => ["authorization", `Bearer ${key}`],
    lastMessage: ({ messages }) => messages.at(-1).content,
    requestBody: (schema) => ({
      model: "small",
      messages: [{ role: "system", content: "Be brief." }, USER],
      max_tokens: 100,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
      response_format: { type: "json_schema", json_schema: { name: "memory", schema, strict: true } },
    }),
    begin: () => [],
    text: (text) => event(delta(text)),
    reasoning: (text) => event({ choices: [{ index: 0, delta: { reasoning_content: text } }] }),
    end: ({ usage = null, ending = "model" }) => {
      const reason = { model: "stop", length: "length", withheld: "content_filter" }[ending];
      const counts = usage && { prompt_tokens: usage.prompt, completion_tokens: usage.completion };
      return [
        event({ choices: [{ index: 0, delta: {}, finish_reason: reason }] }),
        ...(counts === null ? [] : [event({ choices: [], usage: counts })]),
        event("[DONE]"),
      ];
    },
    error: event({ error: { type: "server_error", message: "boom" } }),
    refusal: (code, message) => ({ error: { code, message } }),
  },
  ollama: {
    contentType: "application/x-ndjson",
    basePath: "",
    path: "/api/chat",
    keyHeader: (key) => ["authorization", `Bearer ${key}`],
    lastMessage: ({ messages }) => messages.at(-1).content,
    requestBody: (schema) => ({
      model: "small",
      messages: [{ role: "system", content: "Be brief." }, USER],
      stream: true,
      options: { num_predict: 100, num_ctx: 8_192, temperature: 0 },
      format: schema,
      think: false,
    }),
    begin: () => [],
    text: (content) => line({ message: { role: "assistant", content }, done: false }),
    reasoning: (thinking) => line({ message: { role: "assistant", content: "", thinking }, done: false }),
    // Ollama cannot withhold an answer
    end: ({ usage = null, ending = "model" }) => {
      const counts = usage && { prompt_eval_count: usage.prompt, eval_count: usage.completion };
      const message = { role: "assistant", content: "" };
      return [line({ message, done: true, done_reason: ending === "length" ? "length" : "stop", ...counts })];
    },
    error: `${JSON.stringify({ error: "an error was encountered while running the model" })}\n`,
    refusal: (_code, message) => ({ error: message }),
  },
  anthropic: {
    contentType: "text/event-stream; charset=utf-8",
    basePath: "",
    path: "/v1/messages",
    keyHeader: (key) => ["x-api-key", key],
    lastMessage: ({ messages }) => messages.at(-1).content,
    requestBody: (schema) => ({
      model: "small",
      system: "Be brief.",
      messages: [USER],
      max_tokens: 100,
      temperature: 0,
      stream: true,
      output_config: { format: { type: "json_schema", schema } },
    }),
    begin: (usage) => [
      named("message_start", {
        message: {
          ...{ id: "msg_1", type: "message", role: "assistant", content: [], model: "small", stop_reason: null },
          ...(usage && { usage: { input_tokens: usage.prompt, output_tokens: 1 } }),
        },
      }),
      named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      named("ping", {}),
    ],
    text: (text) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    reasoning: (thinking) => named("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking } }),
    end: ({ usage = null, ending = "model" }) => {
      const reason = { model: "end_turn", length: "max_tokens", withheld: "refusal" }[ending];
      return [
        named("content_block_stop", { index: 0 }),
        named("message_delta", {
          delta: { stop_reason: reason, stop_sequence: null },
          ...(usage && { usage: { output_tokens: usage.completion } }),
        }),
        named("message_stop", {}),
      ];
    },
    error: named("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
    refusal: (type, message) => ({ type: "error", error: { type, message } }),
  },
  gemini: {
    contentType: "text/event-stream",
    basePath: "/v1beta",
    path: "/v1beta/models/small:streamGenerateContent?alt=sse",
    keyHeader: (key) => ["x-goog-api-key", key],
    lastMessage: ({ contents }) => contents.at(-1).parts[0].text,
    requestBody: (schema) => ({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [{ role: "user", parts: [{ text: "Hello?" }] }],
      generationConfig: {
        maxOutputTokens: 100,
        temperature: 0,
        responseMimeType: "application/json",
        responseJsonSchema: schema,
      },
    }),
    begin: () => [],
    text: (text) => candidate([{ text }]),
    reasoning: (text) => candidate([{ text, thought: true }]),
    end: ({ usage = null, ending = "model" }) => {
      const finishReason = { model: "STOP", length: "MAX_TOKENS", withheld: "SAFETY" }[ending];
      const counts = usage && { promptTokenCount: usage.prompt, candidatesTokenCount: usage.completion };
      const metadata = counts && { usageMetadata: { ...counts, totalTokenCount: 0 } };
      return [candidate([{ text: "" }], { finishReason }, metadata ?? {})];
    },
    error: event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
    refusal: (code, message) => ({ error: { code: 400, message, status: code.toUpperCase() } }),
  },
};

/** The body of a complete response. */
export function wireAnswer(wire: Wire, texts: readonly string[], end: WireEnd): string {
  return [...wire.begin(end.usage ?? null), ...texts.map(wire.text), ...wire.end(end)].join("");
}
