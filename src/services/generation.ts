// How a project's language model is asked on behalf of a caller who waits: which one it is, what it is sent, what that
// took, and what its failures are to the caller. What it is sent says answer/prompt.ts; how it is called,
// ports/language-model.ts.

import type { AnswerEvent } from "../answer/events.ts";
import { EmptyAnswer, generatedAnswer } from "../answer/generated-answer.ts";
import type { Turn } from "../answer/history.ts";
import { answerPrompt, checkedInstructions, type PromptParts } from "../answer/prompt.ts";
import {
  readStandaloneQuestion,
  STANDALONE_TOKENS_MAX,
  standaloneQuestionMessages,
} from "../answer/question-rewriting.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { endpointOf, estimatedTokens, type LlmEndpoint, type OperatorLlm } from "../domain/language-model.ts";
import type { ProjectSettings } from "../domain/project.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { Clock } from "../kit/clock.ts";
import {
  type LanguageModel,
  LlmError,
  type LlmFragment,
  type LlmMessage,
  type LlmRequest,
  type LlmUsage,
} from "../ports/language-model.ts";

/** What generation stands on. */
export interface GenerationParts {
  readonly model: LanguageModel;
  /** What holds where a project says nothing. */
  readonly operator: OperatorLlm;
  /** Tokens that models can read and write in all. */
  readonly contextTokens: number;
  readonly clock: Clock;
}

/** A question and what may be said for it. */
export interface GenerationRequest {
  readonly question: string;
  /** What the passages were searched for: the question as it stands by itself. */
  readonly topic: string;
  /** The caller's, on tone and form; null: none. */
  readonly instructions: string | null;
  /** Best first. */
  readonly passages: readonly RankedPassage[];
  readonly maxSources: number;
  /** Earlier turns, oldest first. */
  readonly history: readonly Turn[];
}

/** Where a project sets nothing: near the sources, and half a page. */
const TEMPERATURE = 0.2;
const OUTPUT_TOKENS = 1_024;
/** Making a question self-contained is worth this much of a wait; beyond, local means must do. */
const STANDALONE_MS = 10_000;

/** The language model of one answer, and what it took so far. */
export class Generation {
  readonly #parts: GenerationParts;
  readonly #call: Pick<LlmRequest, "endpoint" | "projectId" | "purpose" | "temperature">;
  readonly #outputTokensMax: number;
  /** Of calls that have ended. */
  #ended: LlmUsage = { prompt: 0, completion: 0 };
  /** Of the one that has not. */
  #running: { readonly prompt: number; readonly said: string } | null = null;

  private constructor(parts: GenerationParts, projectId: ProjectId, endpoint: LlmEndpoint, settings: ProjectSettings) {
    this.#parts = parts;
    const temperature = settings.llm.temperature ?? TEMPERATURE;
    this.#call = { endpoint, projectId, purpose: "query", temperature };
    this.#outputTokensMax = settings.llm.max_output_tokens ?? OUTPUT_TOKENS;
  }

  /**
   * The language model that answers for a project; null: none is configured.
   * @param model in place of the configured one; null: that one.
   * @throws Fault `invalid_request` for a model where there is no endpoint to ask for it
   */
  static of(
    parts: GenerationParts,
    projectId: ProjectId,
    settings: ProjectSettings,
    model: string | null,
  ): Generation | null {
    const endpoint = endpointOf({ ...settings.llm, model: model ?? settings.llm.model }, parts.operator);
    if (endpoint !== null) return new Generation(parts, projectId, endpoint, settings);
    if (model === null) return null;
    throw new Fault("invalid_request", "No language model is configured, so 'model' cannot be chosen.", {
      param: "model",
    });
  }

  /** @throws Fault `invalid_request` for instructions that leave no room for sources */
  checkInstructions(instructions: string | null): void {
    checkedInstructions({ instructions, ...this.#bounds() });
  }

  /** Read and written so far; estimated where the endpoint did not say, or an answer was broken off. */
  get spent(): LlmUsage {
    if (this.#running === null) return this.#ended;
    const { prompt, said } = this.#running;
    return sumOf(this.#ended, { prompt, completion: estimatedTokens(said) });
  }

  /**
   * The question as it can be understood without what was said before it. `otherwise`, when the model is too slow,
   * fails, or says something that is no such question.
   */
  async standalone(
    history: readonly Turn[],
    question: string,
    otherwise: string,
    signal: AbortSignal,
  ): Promise<string> {
    const messages = standaloneQuestionMessages(history, question);
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(STANDALONE_MS)]);
    let text = "";
    try {
      for await (const fragment of this.#ask(messages, STANDALONE_TOKENS_MAX, inTime)) {
        if (fragment.type === "text") text += fragment.text;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LlmError) return otherwise;
      throw error;
    }
    return readStandaloneQuestion(text, otherwise);
  }

  /**
   * The answer's events, as the model writes them.
   * @param onContext told the passages of the prompt before the model is asked
   * @throws Fault `llm_error`, `llm_timeout`, `overloaded`
   */
  async *answer(
    request: GenerationRequest,
    onContext: (passages: readonly RankedPassage[]) => void,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent> {
    const prompt = answerPrompt({
      ...request,
      ...this.#bounds(),
    });
    onContext(prompt.sources);
    // an endpoint refuses what would go beyond its model's context together
    const room = this.#parts.contextTokens - prompt.tokens;
    try {
      const fragments = this.#ask(prompt.messages, Math.min(this.#outputTokensMax, room), signal);
      for await (const event of generatedAnswer(fragments, prompt.sources, request.maxSources)) {
        yield event.type === "usage" ? usageOf(this.spent) : event;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(error);
    }
  }

  #bounds(): Pick<PromptParts, "nowMs" | "contextTokens" | "outputTokensMax"> {
    const { clock, contextTokens } = this.#parts;
    return { nowMs: clock.now(), contextTokens, outputTokensMax: this.#outputTokensMax };
  }

  // What a call took is known when it ends; until then it is estimated, so that it is counted whoever leaves.
  async *#ask(
    messages: readonly LlmMessage[],
    outputTokensMax: number,
    signal: AbortSignal,
  ): AsyncGenerator<LlmFragment> {
    const prompt = messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
    const ended = (usage: LlmUsage) => {
      this.#ended = sumOf(this.#ended, usage);
      this.#running = null;
    };
    try {
      for await (const fragment of this.#parts.model.stream({ ...this.#call, messages, outputTokensMax }, signal)) {
        if (fragment.type === "usage") ended(fragment.usage);
        else this.#running = { prompt, said: (this.#running?.said ?? "") + fragment.text };
        yield fragment;
      }
    } catch (error) {
      if (error instanceof LlmError) ended(error.usage);
      throw error;
    }
  }
}

function sumOf(left: LlmUsage, right: LlmUsage): LlmUsage {
  return { prompt: left.prompt + right.prompt, completion: left.completion + right.completion };
}

/** The usage event of an answer for which language models took this much. */
export function usageOf(tokens: LlmUsage): AnswerEvent {
  return { type: "usage", tokensUsed: tokens.prompt + tokens.completion };
}

/** A failure of a language model as the caller is told of it; anything else as it is. */
export function faultOf(error: unknown): unknown {
  if (error instanceof EmptyAnswer) {
    return new Fault("llm_error", `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`, {
      cause: error,
    });
  }
  if (!(error instanceof LlmError)) return error;
  const message = `The language model did not answer: ${error.message}.`;
  if (error.reason === "timed_out") return new Fault("llm_timeout", message, { cause: error });
  if (error.reason !== "overloaded") return new Fault("llm_error", message, { cause: error });
  return new Fault("overloaded", "Too many questions wait for the language model of this project.", {
    retryAfterSeconds: 1,
    cause: error,
  });
}
