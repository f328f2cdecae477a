// Gemini's `streamGenerateContent`, as Server-Sent Events (`alt=sse`). Each event is a GenerateContentResponse. The
// stream has no end marker: it ends after the event with a `finishReason`.

import { recordOrNull, recordsIn } from "../../kit/record.ts";
import type { LlmEnding, LlmMessage } from "../../ports/language-model.ts";
import { countsOf, modelPath, type Protocol, textOf, withPath } from "./protocol.ts";

/** Values of `finishReason`. Those that are not listed mean that the answer was withheld. */
const ENDINGS: Readonly<Record<string, LlmEnding | "broken" | null>> = {
  FINISH_REASON_UNSPECIFIED: null,
  STOP: "model",
  MAX_TOKENS: "length",
  OTHER: "broken",
  MALFORMED_FUNCTION_CALL: "broken",
};

/** Gemini's content. Base URL: `https://generativelanguage.googleapis.com`, with or without a version. */
export const GEMINI: Protocol = {
  framing: "events",
  url: (base, model) => {
    const versioned = /\/v\d[a-z0-9]{0,20}\/{0,100}$/.test(base.pathname) ? base : withPath(base, "/v1beta");
    const name = model.includes("/") ? model : `models/${model}`;
    const url = withPath(versioned, `/${modelPath(name)}:streamGenerateContent`);
    url.searchParams.set("alt", "sse");
    return url;
  },
  headers: (apiKey) => (apiKey === null ? {} : { "x-goog-api-key": apiKey }),
  body: ({ messages, temperature, outputTokensMax, schema }, dialect) => {
    const system = messages.filter(({ role }) => role === "system");
    const parts = (texts: readonly LlmMessage[]) =>
      texts.flatMap(({ content, pictures = [] }) => [
        { text: content },
        ...pictures.map((data) => ({ inlineData: { mimeType: "image/jpeg", data } })),
      ]);
    return {
      ...(system.length > 0 && { systemInstruction: { parts: parts(system) } }),
      contents: messages
        .filter(({ role }) => role !== "system")
        .map((message) => ({ role: message.role === "user" ? "user" : "model", parts: parts([message]) })),
      generationConfig: {
        maxOutputTokens: outputTokensMax,
        ...(dialect.acceptsTemperature && { temperature }),
        ...(dialect.acceptsSchema &&
          schema !== undefined && { responseMimeType: "application/json", responseJsonSchema: schema.schema }),
      },
    };
  },
  read: ({ error, candidates, promptFeedback, usageMetadata }) => {
    if (error !== undefined && error !== null) return { isError: true };
    const usage = usageOf(usageMetadata);
    const candidate = recordsIn(candidates)[0];
    if (candidate === undefined) {
      // the prompt was refused, so there is no candidate
      const isBlocked = textOf(recordOrNull(promptFeedback)?.blockReason) !== "";
      return { usage, ...(isBlocked && { isAnswer: true, ending: "withheld" }) };
    }
    const parts = recordsIn(recordOrNull(candidate.content)?.parts);
    const textsOf = (areThoughts: boolean) =>
      parts.map(({ thought, text }) => ((thought === true) === areThoughts ? textOf(text) : "")).join("");
    return {
      isAnswer: true,
      text: textsOf(false),
      reasoning: textsOf(true),
      ending: endingOf(candidate.finishReason),
      usage,
    };
  },
};

function endingOf(reason: unknown): LlmEnding | "broken" | null {
  if (typeof reason !== "string" || reason === "") return null;
  return Object.hasOwn(ENDINGS, reason) ? (ENDINGS[reason] ?? null) : "withheld";
}

function usageOf(metadata: unknown) {
  const counts = recordOrNull(metadata);
  if (counts === null) return {};
  // the tokens of the model's reasoning are counted separately; a count of zero is left out
  const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = counts;
  return countsOf({ prompt: promptTokenCount, completion: Number(candidatesTokenCount) + Number(thoughtsTokenCount) });
}
