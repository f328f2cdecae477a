// Calls a project's language model while a caller waits: chooses the model, counts tokens, and turns failures into
// faults. answer/prompt.ts writes the prompts.

import type { AllowedModels, MonthlyTokens } from "../account/monthly-tokens.ts";
import type { AnswerEvent } from "../answer/events.ts";
import type { Gap } from "../answer/gaps.ts";
import { EmptyAnswer, generatedAnswer } from "../answer/generated-answer.ts";
import type { Turn } from "../answer/history.ts";
import { answerPrompt, checkedInstructions, type PromptInput } from "../answer/prompt.ts";
import {
  readStandaloneQuestion,
  STANDALONE_TOKENS_MAX,
  standaloneQuestionMessages,
} from "../answer/question-rewriting.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import {
  type ConfiguredLlm,
  estimatedTokens,
  type LlmChain,
  llmOf,
  type OperatorLlm,
} from "../domain/language-model.ts";
import type { ProjectSettings } from "../domain/project.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { Clock } from "../kit/clock.ts";
import {
  type LanguageModel,
  LlmError,
  type LlmFragment,
  type LlmMessage,
  type LlmUsage,
  usageSum,
} from "../ports/language-model.ts";

/** What generation needs. */
export interface GenerationDependencies {
  readonly model: LanguageModel;
  /** The operator's models, for projects without their own. */
  readonly operator: OperatorLlm;
  readonly monthlyTokens: MonthlyTokens;
  /** Maximum number of tokens of prompt and output together that a model accepts. */
  readonly contextTokens: number;
  readonly clock: Clock;
}

/** A question with the passages to answer it from. */
export interface GenerationRequest {
  readonly question: string;
  /** The self-contained question that was searched for. */
  readonly query: string;
  /** Time at which the question is asked, Unix milliseconds; default: now. */
  readonly asOf?: number;
  /** Zone of the times in the prompt: an IANA name, or an offset such as `+09:00`. Default: UTC. */
  readonly timeZone?: string;
  /** The caller's instructions on tone and form; null if there are none. */
  readonly instructions: string | null;
  /** Passages to answer from, best first. */
  readonly passages: readonly RankedPassage[];
  readonly maxSources: number;
  /** What the question names, but no passage is about. */
  readonly gap: Gap | null;
  /** Earlier turns of the conversation, oldest first. */
  readonly history: readonly Turn[];
}

/** What a caller may choose for one answer. An absent field means the project's setting. */
export interface Sampling {
  /** 0..2. */
  readonly temperature?: number;
  /** Maximum length of the answer, in tokens. */
  readonly outputTokensMax?: number;
}

/** Defaults for projects that set nothing else: answers stay close to the sources and have at most about two pages. */
const TEMPERATURE = 0.2;
const OUTPUT_TOKENS = 1_024;
/**
 * Maximum time in milliseconds for the language model to rewrite a question. After it, the contextual question is used,
 * which needs no language model.
 */
const STANDALONE_MS = 10_000;

/** The language model that writes one answer, with its fallbacks, and the tokens used so far. */
export class Generation {
  readonly #parts: GenerationDependencies;
  readonly #projectId: ProjectId;
  readonly #models: LlmChain;
  readonly #sampling: Sampling;
  /** Maximum length of the answer, in tokens. */
  readonly #outputTokensMax: number;
  /** Number of tokens of the calls that have ended. */
  #ended: LlmUsage = { prompt: 0, completion: 0 };
  /** The call in progress: number of tokens of its prompt, and its output so far. */
  #running: { readonly prompt: number; readonly output: string } | null = null;
  /** The models that may be called, with the reservation of this answer; null before the first call. */
  #allowed: AllowedModels | null = null;

  private constructor(parts: GenerationDependencies, projectId: ProjectId, models: LlmChain, sampling: Sampling) {
    this.#parts = parts;
    this.#projectId = projectId;
    this.#models = models;
    this.#sampling = sampling;
    this.#outputTokensMax = Math.max(...models.map((configured) => this.#outputTokensOf(configured)));
  }

  /**
   * The language model of a project; null if none is configured.
   * @param model replaces the configured model; null if the configured one is used
   * @param sampling replaces the project's settings. It cannot make answers longer than these allow
   * @throws Fault `invalid_request` if `model` is given and no endpoint is configured
   */
  static of(
    parts: GenerationDependencies,
    projectId: ProjectId,
    settings: ProjectSettings,
    model: string | null,
    sampling: Sampling = {},
  ): Generation | null {
    const models = llmOf({ ...settings.llm, model: model ?? settings.llm.model }, parts.operator);
    if (models !== null) return new Generation(parts, projectId, models, sampling);
    if (model === null) return null;
    throw new Fault("invalid_request", "No language model is configured, so 'model' cannot be chosen.", {
      param: "model",
    });
  }

  /** @throws Fault `invalid_request` for instructions that leave no room for sources */
  checkInstructions(instructions: string | null): void {
    checkedInstructions({ instructions, ...this.#bounds() });
  }

  /** Number of tokens used so far. It is estimated if the endpoint does not report it or the answer was interrupted. */
  get spent(): LlmUsage {
    if (this.#running === null) return this.#ended;
    const { prompt, output } = this.#running;
    return usageSum(this.#ended, { prompt, completion: estimatedTokens(output) });
  }

  /** Ends the reservation of tokens. Must be called when the answer has ended and its tokens are counted. */
  release(): void {
    this.#allowed?.release();
  }

  /**
   * Rewrites the question so that it can be understood without the conversation. Returns `otherwise` if the model is
   * too slow, fails, or writes something that is not a question.
   */
  async standalone(
    history: readonly Turn[],
    question: string,
    otherwise: string,
    signal: AbortSignal,
  ): Promise<string> {
    const messages = standaloneQuestionMessages(history, question);
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(STANDALONE_MS)]);
    const { contextTokens } = this.#parts; // reserved for the answer's call, which never takes more
    let text = "";
    try {
      for await (const fragment of this.#fragments(messages, STANDALONE_TOKENS_MAX, inTime, contextTokens)) {
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
   * @param onContext receives the passages of the prompt before the model is called
   * @throws Fault `llm_error` if the call fails or the answer is empty; `llm_timeout` if it takes too long;
   *   `overloaded` if too many calls of the project wait
   */
  async *answer(
    request: GenerationRequest,
    onContext: (passages: readonly RankedPassage[]) => void,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent> {
    const { asOf, ...asked } = request;
    const { maxSources, query } = asked;
    const prompt = answerPrompt({ ...asked, ...this.#bounds(asOf) });
    onContext(prompt.sources);
    // The output is limited to the rest of the model's context, because endpoints refuse calls that could exceed it.
    const outputRoom = this.#parts.contextTokens - prompt.tokens;
    try {
      const fragments = this.#fragments(prompt.messages, Math.min(this.#outputTokensMax, outputRoom), signal);
      for await (const event of generatedAnswer(fragments, prompt.sources, maxSources, query)) {
        yield event.type === "usage" ? { ...event, tokensUsed: sumOfTokens(this.spent) } : event;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(error);
    }
  }

  #bounds(asOf?: number): Pick<PromptInput, "nowMs" | "contextTokens" | "outputTokensMax"> {
    const { clock, contextTokens } = this.#parts;
    return { nowMs: asOf ?? clock.now(), contextTokens, outputTokensMax: this.#outputTokensMax };
  }

  // The fragments of the model's output. The tokens of a call are known only when it ends. Until then they are
  // estimated, so that they are counted even if the caller disconnects. The first call also reserves the tokens of the
  // later ones: two answers that wait for each other's tokens would wait forever.
  async *#fragments(
    messages: readonly LlmMessage[],
    outputTokensMax: number,
    signal: AbortSignal,
    laterTokens = 0,
  ): AsyncGenerator<LlmFragment> {
    const prompt = messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
    const tokens = prompt + outputTokensMax + laterTokens;
    const { monthlyTokens } = this.#parts;
    this.#allowed ??= await monthlyTokens.reserve(this.#projectId, this.#models, tokens, signal);
    const { models } = this.#allowed;
    const ended = (usage: LlmUsage) => {
      this.#ended = usageSum(this.#ended, usage);
      this.#running = null;
    };
    try {
      for await (const fragment of this.#call(models, messages, outputTokensMax, signal)) {
        if (fragment.type === "usage") ended(fragment.usage);
        else this.#running = { prompt, output: (this.#running?.output ?? "") + fragment.text };
        yield fragment;
      }
    } catch (error) {
      if (error instanceof LlmError) ended(error.usage);
      throw error;
    }
  }

  async *#call(
    [first, ...fallbacks]: LlmChain,
    messages: readonly LlmMessage[],
    outputTokensMax: number,
    signal: AbortSignal,
  ): AsyncGenerator<LlmFragment> {
    const { model } = this.#parts;
    const withLimits = (configured: ConfiguredLlm) => ({
      endpoint: configured.endpoint,
      temperature: this.#sampling.temperature ?? configured.temperature ?? TEMPERATURE,
      outputTokensMax: Math.min(this.#outputTokensOf(configured), outputTokensMax),
    });
    const request = { projectId: this.#projectId, purpose: "query", messages } as const;
    yield* model.stream({ ...request, ...withLimits(first), fallbacks: fallbacks.map(withLimits) }, signal);
  }

  #outputTokensOf(configured: ConfiguredLlm): number {
    const outputTokensMax = configured.outputTokensMax ?? OUTPUT_TOKENS;
    return Math.min(outputTokensMax, this.#sampling.outputTokensMax ?? outputTokensMax);
  }
}

/** Number of tokens read and written. */
export function sumOfTokens({ prompt, completion }: LlmUsage): number {
  return prompt + completion;
}

/** Converts a failure of a language model to the fault that the caller gets. Other errors are returned unchanged. */
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
