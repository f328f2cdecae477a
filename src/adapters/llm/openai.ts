// OpenAI's chat completions, which many services and servers speak. Known deviations are tolerated: no `[DONE]`, usage
// missing or on every event, events without choices, content in parts, comments, an error mid-stream.

import { isRecord, type JsonRecord, recordOrNull } from "../../kit/record.ts";
import type { LlmEnding, LlmMessage, LlmUsage } from "../../ports/language-model.ts";
import { bearer, countsOf, type Protocol, textOf, withPath } from "./protocol.ts";

/** Values of `finish_reason` which mean that the model did not finish by itself. Any other value means that it did. */
const ENDINGS: Readonly<Record<string, LlmEnding | "broken">> = {
  length: "length",
  max_tokens: "length",
  content_filter: "withheld",
  refusal: "withheld",
  error: "broken",
  abort: "broken",
};

/**
 * Hosts of Azure. Azure expects API keys in the header `api-key`. As a bearer token it accepts only JSON Web Tokens of
 * its directory.
 */
const AZURE_HOSTS = /\.(openai|cognitiveservices|services\.ai)\.azure\.com$/;

/** OpenAI's chat completions. Base URL: for example `https://api.openai.com/v1`. */
export const OPENAI: Protocol = {
  framing: "events",
  url: (base) => withPath(base, "/chat/completions"),
  headers: (apiKey, { hostname }) => {
    if (apiKey === null) return {};
    const isToken = /^eyJ[^.]+\.[^.]+\.[^.]+$/.test(apiKey);
    return AZURE_HOSTS.test(hostname) && !isToken ? { "api-key": apiKey } : bearer(apiKey);
  },
  body: ({ endpoint, messages, temperature, outputTokensMax, schema }, dialect) => ({
    model: endpoint.model,
    messages: messages.map(messageOf),
    [dialect.lengthField]: outputTokensMax,
    ...(dialect.acceptsTemperature && { temperature }),
    // streamed, so that a stalled endpoint can be distinguished from a slow one
    stream: true,
    ...(dialect.acceptsStreamOptions && { stream_options: { include_usage: true } }),
    ...(dialect.acceptsSchema &&
      schema !== undefined && {
        response_format: {
          type: "json_schema",
          json_schema: { name: schema.name, strict: true, schema: schema.schema },
        },
      }),
  }),
  read: (message) => {
    if (isError(message)) return { isError: true };
    const usage = usageOf(message);
    const choice = Array.isArray(message.choices) ? recordOrNull(message.choices[0]) : null;
    if (choice === null) return { usage };
    const said = recordOrNull(choice.delta) ?? recordOrNull(choice.message);
    const refusal = contentOf(said?.refusal);
    return {
      usage,
      isAnswer: true,
      text: contentOf(said?.content) || refusal || contentOf(choice.text),
      reasoning: contentOf(said?.reasoning_content) || contentOf(said?.reasoning),
      isRefused: refusal !== "",
      ending: endingOf(choice.finish_reason),
    };
  },
};

function messageOf({ role, content, pictures = [] }: LlmMessage) {
  if (pictures.length === 0) return { role, content };
  const images = pictures.map((jpeg) => ({ type: "image_url", image_url: { url: `data:image/jpeg;base64,${jpeg}` } }));
  return { role, content: [{ type: "text", text: content }, ...images] };
}

// Nearly every server sends `{"error": …}`; older ones send `{"object": "error", …}`.
function isError({ error, object }: JsonRecord): boolean {
  return (error !== undefined && error !== null) || object === "error";
}

// Returns null while the answer continues. Some servers send an empty reason, or the word "null", with every event.
function endingOf(reason: unknown): LlmEnding | "broken" | null {
  if (typeof reason !== "string" || reason === "" || reason === "null") return null;
  return Object.hasOwn(ENDINGS, reason) ? (ENDINGS[reason] ?? "model") : "model";
}

// Skips parts of other types: images, and the model's reasoning.
function contentOf(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  const texts = content.filter(isRecord).map(({ type = "text", text }) => {
    return type === "text" || type === "output_text" ? textOf(text) : "";
  });
  return texts.join("");
}

function usageOf({ usage }: JsonRecord): Partial<LlmUsage> {
  const counts = recordOrNull(usage);
  if (counts === null) return {};
  const read = countsOf({ prompt: counts.prompt_tokens, completion: counts.completion_tokens ?? 0 });
  return read.prompt === undefined || read.completion === undefined ? {} : read;
}
