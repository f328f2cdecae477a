// Builds a LanguageModel from a generator of fragments. Adds what all models share: cancellation and the complete
// answer.

import type { LanguageModel, LlmAnswer, LlmFragment, LlmRequest } from "../../ports/language-model.ts";

/**
 * Generates the fragments of one call. Throws `LlmError` `stopped` soon after `signal` aborts, even if another fragment
 * is already available.
 */
export type StreamFragments = (request: LlmRequest, signal: AbortSignal) => AsyncGenerator<LlmFragment, void>;

/** A LanguageModel whose answers come from `stream`. */
export function languageModelFromStream(stream: StreamFragments): LanguageModel {
  const cancellable = (request: LlmRequest, signal: AbortSignal) => withImmediateReturn(request, signal, stream);
  return { stream: cancellable, complete: (request, signal) => collectAnswer(cancellable(request, signal)) };
}

// A generator's own return() waits for the pending fragment, which takes minutes if the endpoint is silent. This one
// aborts first.
function withImmediateReturn(
  request: LlmRequest,
  signal: AbortSignal,
  stream: StreamFragments,
): AsyncGenerator<LlmFragment, void> {
  const ending = new AbortController();
  const stop = () => ending.abort();
  const fragments = stream(request, ending.signal);
  let isReturned = false;
  // not AbortSignal.any: the listener must be removed when the call ends, since the caller's signal may live much
  // longer
  const unlisten = () => signal.removeEventListener("abort", stop);
  return {
    async next() {
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true }); // adding the same listener again has no effect
      try {
        const next = await fragments.next();
        if (next.done) unlisten();
        return next;
      } catch (error) {
        unlisten();
        if (isReturned) return { done: true, value: undefined };
        throw error;
      }
    },
    async return() {
      isReturned = true;
      unlisten();
      stop();
      return await fragments.return();
    },
    async throw(error) {
      unlisten();
      stop();
      return await fragments.throw(error);
    },
    async [Symbol.asyncDispose]() {
      await this.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function collectAnswer(fragments: AsyncIterable<LlmFragment>): Promise<LlmAnswer> {
  const texts: string[] = [];
  for await (const fragment of fragments) {
    if (fragment.type === "usage") return { text: texts.join(""), usage: fragment.usage };
    texts.push(fragment.text);
  }
  throw new Error("an answer ended without its usage: this is a bug in Mneme");
}
