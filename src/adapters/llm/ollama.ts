// Ollama's own protocol, `/api/chat`: one JSON object per line. Unlike its OpenAI-compatible one, it lets the caller
// set the context size. Ollama silently cuts prompts that are longer than that.

import { recordOrNull } from "../../kit/record.ts";
import type { LlmEnding } from "../../ports/language-model.ts";
import { bearer, countsOf, type Protocol, textOf, withPath } from "./protocol.ts";

/** Ollama's chat. Base URL: `http://127.0.0.1:11434`, for example, or that of its OpenAI-compatible API. */
export const OLLAMA: Protocol = {
  framing: "lines",
  url: (base) => {
    const root = new URL(base);
    root.pathname = root.pathname.replace(/\/(v1|api)\/{0,100}$/, "");
    return withPath(root, "/api/chat");
  },
  headers: bearer,
  body: ({ endpoint, messages, temperature, outputTokensMax, schema }, dialect, contextTokens) => ({
    model: endpoint.model,
    messages: messages.map(({ role, content, pictures }) => ({
      ...{ role, content },
      ...(pictures !== undefined && { images: pictures }),
    })),
    stream: true,
    options: {
      num_predict: outputTokensMax,
      // the same for all calls, because Ollama loads a model again for each other size
      num_ctx: contextTokens,
      ...(dialect.acceptsTemperature && { temperature }),
    },
    // reasoning is switched off, because Ollama cannot apply a schema to it
    ...(dialect.acceptsSchema && schema !== undefined && { format: schema.schema, think: false }),
  }),
  read: ({ error, message, done, done_reason, prompt_eval_count, eval_count }) => {
    if (error !== undefined && error !== null) return { isError: true };
    const said = recordOrNull(message);
    if (said === null && done !== true) return {};
    return {
      isAnswer: true,
      text: textOf(said?.content),
      reasoning: textOf(said?.thinking),
      ...(done === true && {
        ending: endingOf(done_reason),
        isEnd: true,
        usage: countsOf({ prompt: prompt_eval_count, completion: eval_count }),
      }),
    };
  },
};

function endingOf(reason: unknown): LlmEnding {
  return reason === "length" ? "length" : "model";
}
