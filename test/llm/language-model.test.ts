// Runs the contract of LanguageModel for the client, with and without the concurrency limit, and for the scripted
// in-memory model.

import { limitConcurrency } from "../../src/adapters/llm/concurrency-limit.ts";
import { Metrics } from "../../src/metrics.ts";
import { languageModelContract, type OpenLanguageModel } from "../contract/language-model.ts";
import { type Script, type ScriptedCall, ScriptedLanguageModel } from "../in-memory/language-model.ts";
import { delta, event, type LlmCall, startLlm, status } from "../support/llm.ts";
import { model, PATIENT } from "./client-helpers.ts";

const FINISH_REASONS = { model: "stop", length: "length", withheld: "content_filter" } as const;

const openClient: OpenLanguageModel = (script) => {
  const llm = startLlm((call) => answerOf(call, script));
  const close = () => llm.stop();
  return { model: model({ timeouts: PATIENT }), baseUrl: llm.baseUrl, calls: () => llm.calls.length, close };
};

languageModelContract("The client", openClient);
languageModelContract("The client with a limit of calls", (script) => {
  const opened = openClient(script);
  return { ...opened, model: limitConcurrency(opened.model, { concurrency: 2, metrics: new Metrics() }) };
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
function answerOf(call: LlmCall, script: Script): Response | Promise<Response> {
  const scripted = script({ messages: call.body.messages } as unknown as Parameters<Script>[0]);
  const { failure, afterTexts = "end", texts = [] } = scripted;
  if (failure !== undefined) {
    const { retryAfterMs } = failure;
    const headers: Record<string, string> = {};
    if (retryAfterMs !== undefined) headers["retry-after"] = `${retryAfterMs / 1_000}`;
    return status(failure.status, headers)(call);
  }
  const events = [...texts.map(delta), ...(afterTexts === "end" ? endOf(scripted) : [])].map(event);
  const body = new ReadableStream({
    start: (stream) => {
      for (const each of events) stream.enqueue(Buffer.from(each));
      if (afterTexts !== "silence") stream.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function endOf({ usage = null, ending = "model" }: ScriptedCall): readonly (object | string)[] {
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: FINISH_REASONS[ending] }] };
  if (usage === null) return [finish, "[DONE]"];
  const counts = { prompt_tokens: usage.prompt, completion_tokens: usage.completion };
  return [finish, { choices: [], usage: counts }, "[DONE]"];
}
