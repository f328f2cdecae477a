// Runs the contract of LanguageModel for the client with each provider, with fallbacks and with the concurrency limit,
// and for the scripted in-memory model.

import { limitConcurrency } from "../../src/adapters/llm/concurrency-limit.ts";
import { withFallbacks } from "../../src/adapters/llm/fallbacks.ts";
import { LLM_PROVIDERS, type LlmProvider } from "../../src/domain/project.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { Metrics } from "../../src/metrics.ts";
import type { LlmRequest } from "../../src/ports/language-model.ts";
import { languageModelContract, type OpenLanguageModel } from "../contract/language-model.ts";
import { type Script, ScriptedLanguageModel } from "../in-memory/language-model.ts";
import { type LlmCall, startLlm, status } from "../support/llm.ts";
import { model, PATIENT } from "./client-helpers.ts";
import { WIRES, type Wire } from "./wires.ts";

const openClient =
  (provider: LlmProvider): OpenLanguageModel =>
  (script) => {
    const wire = WIRES[provider];
    const llm = startLlm((call) => answerOf(wire, call, script));
    const client = model({ timeouts: PATIENT });
    const withProvider = (request: LlmRequest) => ({ ...request, endpoint: { ...request.endpoint, provider } });
    return {
      model: {
        stream: (request, signal) => client.stream(withProvider(request), signal),
        complete: (request, signal) => client.complete(withProvider(request), signal),
      },
      baseUrl: `${llm.origin}${wire.basePath}`,
      calls: () => llm.calls.length,
      endings: provider === "ollama" ? ["model", "length"] : undefined,
      close: () => llm.stop(),
    };
  };

for (const provider of LLM_PROVIDERS) languageModelContract(`The client for ${provider}`, openClient(provider));
languageModelContract("The client with a limit of calls", (script) => {
  const opened = openClient("openai")(script);
  return { ...opened, model: limitConcurrency(opened.model, { concurrency: 2, metrics: new Metrics() }) };
});
languageModelContract("The client with fallbacks", (script) => {
  const opened = openClient("openai")(script);
  return { ...opened, model: withFallbacks(opened.model, systemClock) };
});
languageModelContract("Scripted", (script) => {
  const scripted = new ScriptedLanguageModel(script);
  return {
    model: scripted,
    baseUrl: "http://model.example/v1",
    calls: () => scripted.requests.length,
    close: () => Promise.resolve(),
  };
});

/** Returns the endpoint's response to a call, so that the call ends as the script specifies. */
function answerOf(wire: Wire, call: LlmCall, script: Script): Response | Promise<Response> {
  const messages = [{ role: "user", content: wire.lastMessage(call.body) }];
  const scripted = script({ messages } as unknown as Parameters<Script>[0]);
  const { failure, afterTexts = "end", texts = [], usage = null } = scripted;
  if (failure !== undefined) {
    const { retryAfterMs } = failure;
    const headers: Record<string, string> = {};
    if (retryAfterMs !== undefined) headers["retry-after"] = `${retryAfterMs / 1_000}`;
    return status(failure.status, headers)(call);
  }
  const events = [...wire.begin(usage), ...texts.map(wire.text), ...(afterTexts === "end" ? wire.end(scripted) : [])];
  const body = new ReadableStream({
    start: (stream) => {
      for (const each of events) stream.enqueue(Buffer.from(each));
      if (afterTexts !== "silence") stream.close();
    },
  });
  return new Response(body, { headers: { "content-type": wire.contentType } });
}
