// A language model whose answers come from a script in the test, without a network. Every fragment arrives after a
// short random delay (delays.ts).

import {
  type LanguageModel,
  type LlmAnswer,
  type LlmEnding,
  LlmError,
  type LlmFailure,
  type LlmFragment,
  type LlmRequest,
  type LlmUsage,
} from "../../src/ports/language-model.ts";
import { Delays } from "./delays.ts";

/** What happens in a call: its texts and how it ends, or why it fails. */
export interface ScriptedCall {
  /** Text fragments, in their order. */
  readonly texts?: readonly string[];
  /** Tokens that the model reports. Null or absent if it reports none; they are estimated then. */
  readonly usage?: LlmUsage | null;
  readonly ending?: LlmEnding;
  /**
   * What follows the texts: the end of the answer, silence until the caller aborts, or a broken connection. Default:
   * `end`.
   */
  readonly afterTexts?: "end" | "silence" | "break";
  /** Why the call fails without an answer. Without this field, the call succeeds. */
  readonly failure?: { readonly reason: LlmFailure; readonly status: number; readonly retryAfterMs?: number };
}

/** Returns what happens in the call that a request makes. */
export type Script = (request: LlmRequest) => ScriptedCall;

/** A language model that follows a script. */
export class ScriptedLanguageModel implements LanguageModel {
  readonly #delays = new Delays();
  /** All requests that were made, oldest first. */
  readonly requests: LlmRequest[] = [];

  constructor(private readonly script: Script) {}

  async *stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void> {
    stopIfAborted(signal);
    this.requests.push(request);
    const { texts = [], usage = null, ending = "model", afterTexts = "end", failure } = this.script(request);
    await this.#delays.next();
    if (failure !== undefined) throw new LlmError(failure.reason, "the endpoint gave no answer", failure);
    let completion = 0;
    const used = (): LlmUsage => usage ?? { prompt: promptTokens(request), completion: Math.ceil(completion / 4) };
    try {
      for (const text of texts) {
        stopIfAborted(signal);
        await this.#delays.next();
        completion += Buffer.byteLength(text);
        if (Math.ceil(completion / 4) > 2 * request.outputTokensMax) {
          throw new LlmError("too_long", "the answer is much longer than requested");
        }
        if (text !== "") yield { type: "text", text };
      }
      stopIfAborted(signal);
      if (afterTexts === "break") throw new LlmError("failed", "the connection broke within the answer");
      if (afterTexts === "silence") await aborted(signal);
    } catch (error) {
      throw error instanceof LlmError ? error.withUsage(used()) : error;
    }
    yield { type: "usage", usage: used(), ending };
  }

  async complete(request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer> {
    let text = "";
    for await (const fragment of this.stream(request, signal)) {
      if (fragment.type === "usage") return { text, usage: fragment.usage };
      text += fragment.text;
    }
    throw new Error("a stream ended without its usage");
  }
}

/** Estimates the number of tokens of a prompt: about one per four bytes of UTF-8. */
function promptTokens({ messages }: LlmRequest): number {
  return Math.ceil(messages.reduce((bytes, { content }) => bytes + Buffer.byteLength(content), 0) / 4);
}

function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new LlmError("stopped", "the call was stopped");
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new LlmError("stopped", "the call was stopped"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
