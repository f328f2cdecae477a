// Language models for a request thread. The main thread calls them, because their limits hold for the whole server.

import { languageModelFromStream } from "../../adapters/llm/from-stream.ts";
import type { LanguageModel, LlmFragment, LlmRequest } from "../../ports/language-model.ts";
import type { ReceivedCall, ThreadCalls } from "./thread-calls.ts";

/** What the caller of a model sends: it wants the next fragment, or no more of them. */
type Asked = "next" | "stop";

/** Calls language models on the main thread. The next fragment is asked for when the last one was taken. */
export function remoteLanguageModel(calls: ThreadCalls): LanguageModel {
  return languageModelFromStream(async function* (request, signal) {
    let arrived = Promise.withResolvers<LlmFragment | null>();
    let send: (asked: Asked) => void = () => undefined;
    const ended = calls.call<null>("callModel", request, {
      onBegin: (sendTo) => {
        send = sendTo;
      },
      onPart: (fragment: LlmFragment) => arrived.resolve(fragment),
    });
    ended.then(
      () => arrived.resolve(null),
      (error: unknown) => arrived.reject(error),
    );
    const stop = () => send("stop");
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        send("next");
        const fragment = await arrived.promise;
        if (fragment === null) return;
        arrived = Promise.withResolvers();
        void Promise.allSettled([arrived.promise]); // thrown when the next fragment is asked for
        yield fragment;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      send("stop"); // without effect after the end
    }
  });
}

/** Calls a language model for another thread. Resolves when the answer is complete or no longer wanted. */
export async function callModel(model: LanguageModel, request: LlmRequest, call: ReceivedCall): Promise<null> {
  const stopping = new AbortController();
  let asked = Promise.withResolvers<void>();
  call.listen((message) => {
    if (message === "stop") stopping.abort();
    asked.resolve();
  });
  const signal = AbortSignal.any([call.signal, stopping.signal]);
  await asked.promise;
  for await (const fragment of model.stream(request, signal)) {
    asked = Promise.withResolvers();
    call.emit(fragment);
    if (!signal.aborted) await asked.promise;
  }
  return null;
}
