// Anthropic's messages (`/v1/messages`), version 2023-06-01.

import { type JsonRecord, recordOrNull, recordsIn } from "../../kit/record.ts";
import type { LlmEnding, LlmMessage } from "../../ports/language-model.ts";
import { countsOf, type Protocol, type Reported, textOf, withPath } from "./protocol.ts";

const VERSION = "2023-06-01";
/** The protocol's highest temperature. Other protocols allow up to 2. */
const TEMPERATURE_MAX = 1;

/** Values of `stop_reason` which mean that the model did not finish by itself. Any other value means that it did. */
const ENDINGS: Readonly<Record<string, LlmEnding>> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "withheld",
};

/** Anthropic's messages. Base URL: for example `https://api.anthropic.com`, with or without `/v1`. */
export const ANTHROPIC: Protocol = {
  framing: "events",
  url: (base) => withPath(withPath(base, "/v1"), "/messages"),
  headers: (apiKey) => ({ "anthropic-version": VERSION, ...(apiKey !== null && { "x-api-key": apiKey }) }),
  body: ({ endpoint, messages, temperature, outputTokensMax, schema }, dialect) => {
    const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
    return {
      model: endpoint.model,
      ...(system.length > 0 && { system: system.join("\n\n") }),
      messages: messages.filter(({ role }) => role !== "system").map(messageOf),
      max_tokens: outputTokensMax,
      ...(dialect.acceptsTemperature && { temperature: Math.min(temperature, TEMPERATURE_MAX) }),
      stream: true,
      ...(dialect.acceptsSchema &&
        schema !== undefined && { output_config: { format: { type: "json_schema", schema: schema.schema } } }),
    };
  },
  read: (event) => READERS[textOf(event.type)]?.(event) ?? {},
};

function messageOf({ role, content, pictures = [] }: LlmMessage) {
  if (pictures.length === 0) return { role, content };
  const images = pictures.map((data) => ({
    type: "image",
    source: { type: "base64", media_type: "image/jpeg", data },
  }));
  return { role, content: [...images, { type: "text", text: content }] };
}

/** What each type of event says. Others, such as `ping` and `content_block_stop`, say nothing. */
const READERS: Readonly<Record<string, (event: JsonRecord) => Reported>> = {
  error: () => ({ isError: true }),
  // the number of output tokens here is not final, so it is not read
  message_start: ({ message }) => ({
    isAnswer: true,
    usage: countsOf({ prompt: inputTokens(message), completion: null }),
  }),
  content_block_start: ({ content_block }) => ({ isAnswer: true, ...partOf(content_block) }),
  content_block_delta: ({ delta }) => ({ isAnswer: true, ...partOf(delta) }),
  message_delta: ({ delta, usage }) => {
    const counts = countsOf({ prompt: null, completion: recordOrNull(usage)?.output_tokens });
    return { isAnswer: true, ending: endingOf(recordOrNull(delta)?.stop_reason), usage: counts };
  },
  message_stop: () => ({ isAnswer: true, isEnd: true }),
  // the whole answer, if the endpoint ignores `stream`
  message: (message) => {
    const parts = recordsIn(message.content).map(partOf);
    return {
      isAnswer: true,
      text: parts.map(({ text = "" }) => text).join(""),
      reasoning: parts.map(({ reasoning = "" }) => reasoning).join(""),
      ending: endingOf(message.stop_reason),
      usage: countsOf({ prompt: inputTokens(message), completion: recordOrNull(message.usage)?.output_tokens }),
    };
  },
};

function partOf(value: unknown): Reported {
  const { text, thinking } = recordOrNull(value) ?? {};
  return { text: textOf(text), reasoning: textOf(thinking) };
}

// `input_tokens` lacks those that were written to the prompt cache or read from it.
function inputTokens(message: unknown): unknown {
  const usage = recordOrNull(recordOrNull(message)?.usage);
  if (usage === null) return null;
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage;
  return Number(input_tokens) + Number(cache_creation_input_tokens ?? 0) + Number(cache_read_input_tokens ?? 0);
}

function endingOf(reason: unknown): LlmEnding | null {
  if (typeof reason !== "string" || reason === "") return null;
  return Object.hasOwn(ENDINGS, reason) ? (ENDINGS[reason] ?? "model") : "model";
}
