// How each provider's protocol writes a message with pictures.

import { expect, test } from "bun:test";
import { Dialects } from "../../src/adapters/llm/dialect.ts";
import { PROTOCOLS } from "../../src/adapters/llm/protocols.ts";
import { LLM_PROVIDERS, type LlmProvider } from "../../src/domain/project.ts";
import type { LlmRequest } from "../../src/ports/language-model.ts";

const JPEG = "/9j/4AAQ";

function bodyOf(provider: LlmProvider, pictures: readonly string[] | undefined): unknown {
  const endpoint = { provider, baseUrl: "http://llm.test", model: "m", apiKey: null, isTrusted: true };
  const request: LlmRequest = {
    ...{ endpoint, projectId: "prj" as never, purpose: "ingestion", temperature: 0, outputTokensMax: 9 },
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "Look.", ...(pictures !== undefined && { pictures }) },
    ],
  };
  return PROTOCOLS[provider].body(request, new Dialects().of(endpoint), 4_096);
}

const WRITTEN: Readonly<Record<LlmProvider, object>> = {
  openai: {
    role: "user",
    content: [
      { type: "text", text: "Look." },
      { type: "image_url", image_url: { url: `data:image/jpeg;base64,${JPEG}` } },
    ],
  },
  ollama: { role: "user", content: "Look.", images: [JPEG] },
  anthropic: {
    role: "user",
    content: [
      { type: "image", source: { type: "base64", media_type: "image/jpeg", data: JPEG } },
      { type: "text", text: "Look." },
    ],
  },
  gemini: { role: "user", parts: [{ text: "Look." }, { inlineData: { mimeType: "image/jpeg", data: JPEG } }] },
};

test.each(LLM_PROVIDERS)("%s has pictures beside the text", (provider) => {
  const body = bodyOf(provider, [JPEG]) as { readonly messages?: unknown[]; readonly contents?: unknown[] };
  expect((body.messages ?? body.contents)?.at(-1)).toEqual(WRITTEN[provider]);
});

test.each(LLM_PROVIDERS)("%s has a plain text without pictures", (provider) => {
  const body = bodyOf(provider, undefined) as { readonly messages?: unknown[]; readonly contents?: unknown[] };
  const plain =
    provider === "gemini" ? { role: "user", parts: [{ text: "Look." }] } : { role: "user", content: "Look." };
  expect((body.messages ?? body.contents)?.at(-1)).toEqual(plain);
});
