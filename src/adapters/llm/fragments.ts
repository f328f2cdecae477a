// A LanguageModel out of nothing but a generator of fragments: what ends a call at once, and the whole answer, are the same for all.

import type { LanguageModel, LlmAnswer, LlmFragment, LlmRequest } from "../../ports/language-model.ts";

/**
 * Makes the fragments of one call. Throws `LlmError` `stopped` soon after `signal` aborts, also when it is asked for a fragment that
 * it has.
 */
export type StreamFragments = (request: LlmRequest, signal: AbortSignal) => AsyncGenerator<LlmFragment, void>;

/** The model whose answers `stream` makes. */
export function languageModelOf(stream: StreamFragments): LanguageModel {
  const ending = (request: LlmRequest, signal: AbortSignal) => endedByReturn(request, signal, stream);
  return { stream: ending, complete: (request, signal) => collected(ending(request, signal)) };
}

// A generator's own return() waits for the fragment that is awaited, for minutes where an endpoint is silent. This one aborts first.
function endedByReturn(
  request: LlmRequest,
  signal: AbortSignal,
  stream: StreamFragments,
): AsyncGenerator<LlmFragment, void> {
  const ending = new AbortController();
  const stop = () => ending.abort();
  const fragments = stream(request, ending.signal);
  let isReturned = false;
  // not AbortSignal.any: the listener goes when the call ends, however long the caller's signal lives
  const unlisten = () => signal.removeEventListener("abort", stop);
  return {
    async next() {
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true }); // a listener that is there already stays alone
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

async function collected(fragments: AsyncIterable<LlmFragment>): Promise<LlmAnswer> {
  const texts: string[] = [];
  for await (const fragment of fragments) {
    if (fragment.type === "usage") return { text: texts.join(""), usage: fragment.usage };
    texts.push(fragment.text);
  }
  throw new Error("an answer ended without its usage: this is a bug in Mneme");
}
