// Has a language model extract the attributes of a memory that its caller did not give. prompt.ts writes the prompt,
// reply.ts parses the reply, kit/keyed-semaphore.ts and kit/circuit-breaker.ts limit calls to an endpoint, and
// `dailyTokens` and `monthlyTokens` limit a project's tokens. A failure here never fails the memory: missing attributes
// are then extracted locally, which means without a language model.

import type { AllowedModels, MonthlyTokens } from "../../account/monthly-tokens.ts";
import type { ProjectId } from "../../domain/ids.ts";
import {
  type ConfiguredLlm,
  estimatedTokens,
  type LlmChain,
  llmOf,
  type OperatorLlm,
} from "../../domain/language-model.ts";
import { EXTRACTED_FIELDS, type ExtractedField } from "../../domain/memory-attributes.ts";
import type { ProjectSettings } from "../../domain/project.ts";
import { CircuitBreaker } from "../../kit/circuit-breaker.ts";
import type { Clock } from "../../kit/clock.ts";
import { KeyedSemaphore } from "../../kit/keyed-semaphore.ts";
import type { Log } from "../../kit/log.ts";
import type { AnyText } from "../../kit/pieced-text.ts";
import type { AccountStore } from "../../ports/account-store.ts";
import type { TokenLimits } from "../../ports/coordination.ts";
import type { Job } from "../../ports/job-store.ts";
import {
  type LanguageModel,
  type LlmAnswer,
  LlmError,
  type LlmFailure,
  type LlmMessage,
  type LlmRequest,
} from "../../ports/language-model.ts";
import type { LlmExtraction, LlmExtractionStore } from "../../ports/llm-extraction-store.ts";
import { extractionPrompt, REPLY_TOKENS_MAX, repairPrompt, replySchema } from "./prompt.ts";
import { parseReply } from "./reply.ts";

/**
 * Back-pressure: maximum number of memories of a project that wait for a language model, and maximum total length of
 * their texts in UTF-16 code units. When one maximum is reached, no more memories of the project are claimed.
 */
const WAITING_MEMORIES_MAX = 32;
const WAITING_CHARACTERS_MAX = 4 * 1024 * 1024;
/**
 * Maximum total length of the texts that wait for language models, in UTF-16 code units, per project and overall. If
 * another text would exceed it, its attributes are extracted locally at once, so that a slow endpoint neither uses up
 * RAM nor delays other projects. A single text that waits alone may be longer.
 */
const PROJECT_BUFFER_CHARACTERS_MAX = 32 * 1024 * 1024;
const BUFFER_CHARACTERS_MAX = 128 * 1024 * 1024;
/** If an endpoint requests a wait of at most this many milliseconds, the call is repeated after the wait. */
const RETRY_AFTER_MS_MAX = 10_000;
/** HTTP statuses that are caused by the request and not by the endpoint. */
const REQUEST_ERROR_STATUSES: readonly (number | null)[] = [400, 413, 422];
/** Failures that a project's own texts and settings can cause. */
const PROJECT_FAILURES: readonly LlmFailure[] = ["too_long", "malformed", "failed"];

/** What an extractor needs. */
export interface LlmExtractorDependencies {
  readonly accounts: Pick<AccountStore, "project">;
  readonly extractions: LlmExtractionStore;
  readonly model: Pick<LanguageModel, "complete">;
  /** Language models of projects that do not configure their own. */
  readonly operator: OperatorLlm;
  readonly monthlyTokens: MonthlyTokens;
  /** Limits of a project's tokens per day (UTC). The descriptions of pictures count in them, too. */
  readonly dailyTokens: TokenLimits;
  readonly clock: Clock;
  readonly log: Log;
}

/** A memory and its text. */
export interface ExtractionInput {
  readonly job: Job;
  readonly content: AnyText;
  /** Title from the memory's file; null if the file has no title. */
  readonly title: string | null;
}

/** Connects an extraction with the job that it belongs to. */
export interface ExtractionContext {
  readonly signal: AbortSignal;
  /** Whether the job still holds its lease. Called before each call of a model. */
  readonly isHeld: () => Promise<boolean>;
  /**
   * Called with a sentence that says why no language model extracts the attributes. Callers see it in the memory's
   * progress.
   */
  readonly onNote: (note: string) => void;
}

/** A started extraction. */
type StartedExtraction = {
  /**
   * Whether attributes that the caller did not give are extracted: the project's setting `smart_ingestion.enabled`, or,
   * for a memory that is only indexed again, whether it has a title.
   */
  readonly isSmart: boolean;
} & (
  | {
      readonly isPending: false;
      /** Result of an earlier attempt; null if there is none, so that everything is extracted locally. */
      readonly extraction: LlmExtraction | null;
    }
  | {
      readonly isPending: true;
      /** Resolves when the language model has answered; with null if everything is extracted locally. */
      readonly extraction: Promise<LlmExtraction | null>;
    }
);

const LOCAL_ONLY: StartedExtraction = { isSmart: true, isPending: false, extraction: null };
const NO_EXTRACTION: StartedExtraction = { isSmart: false, isPending: false, extraction: null };

/** Extracts attributes of memories with language models. */
export class LlmExtractor {
  readonly #uses: LlmExtractorDependencies;
  readonly #semaphore = new KeyedSemaphore();
  readonly #breaker: CircuitBreaker;
  readonly #waiting = new Map<ProjectId, { memories: number; characters: number }>();
  #bufferedCharacters = 0;
  /**
   * Projects whose tokens of the day or month are used up and for which that was logged, so that it is not logged
   * again. The next call for a project removes it from the set.
   */
  readonly #exhausted = new Set<ProjectId>();

  constructor(uses: LlmExtractorDependencies) {
    this.#uses = uses;
    this.#breaker = new CircuitBreaker(uses.clock);
  }

  /**
   * Projects that have so many memories waiting for a language model that no more of their memories should be claimed.
   */
  saturatedProjects(): readonly ProjectId[] {
    return [...this.#waiting].flatMap(([projectId, { memories, characters }]) =>
      memories >= WAITING_MEMORIES_MAX || characters >= WAITING_CHARACTERS_MAX ? [projectId] : [],
    );
  }

  /**
   * Starts to extract the missing attributes of a memory, if the project uses a language model. Either this promise or
   * `extraction` rejects if the store fails or `signal` aborts.
   */
  async start(input: ExtractionInput, context: ExtractionContext): Promise<StartedExtraction> {
    const { job, title } = input;
    const given = job.memory.given;
    const missing = EXTRACTED_FIELDS.filter(
      (field) => !given.includes(field) && !(field === "title" && title !== null),
    );
    if (missing.length === 0 && title === null) return LOCAL_ONLY;
    const previous = await this.#uses.extractions.previous(job);
    if (job.isReindexed) {
      // A memory that was stored without smart ingestion has no title.
      return { isSmart: job.memory.title !== null, isPending: false, extraction: previous?.extraction ?? null };
    }
    const settings = (await this.#uses.accounts.project(job.projectId))?.settings;
    if (settings?.smart_ingestion.enabled === false) return NO_EXTRACTION;
    if (settings === undefined || missing.length === 0) return LOCAL_ONLY;
    if (previous !== null) {
      const isUseful = missing.some((field) => previous.extraction?.[field] !== undefined);
      return { isSmart: true, isPending: false, extraction: isUseful ? previous.extraction : null };
    }
    const models = llmOf(settings.llm, this.#uses.operator);
    if (models === null) return LOCAL_ONLY;
    if (!this.#fitsBuffer(input)) {
      context.onNote("Too much text waits for the language model: extracted locally.");
      return LOCAL_ONLY;
    }
    const request = new ExtractionRequest(job, missing, models, settings);
    return { isSmart: true, isPending: true, extraction: this.#extractBuffered(input, request, context) };
  }

  #fitsBuffer({ job, content }: ExtractionInput): boolean {
    const ofProject = this.#waiting.get(job.projectId)?.characters ?? 0;
    const fitsProject = ofProject === 0 || ofProject + content.length <= PROJECT_BUFFER_CHARACTERS_MAX;
    const all = this.#bufferedCharacters;
    return fitsProject && (all === 0 || all + content.length <= BUFFER_CHARACTERS_MAX);
  }

  async #extractBuffered(
    input: ExtractionInput,
    request: ExtractionRequest,
    context: ExtractionContext,
  ): Promise<LlmExtraction | null> {
    const { projectId } = input.job;
    const waiting = this.#waiting.get(projectId) ?? { memories: 0, characters: 0 };
    const count = (sign: 1 | -1) => {
      waiting.memories += sign;
      waiting.characters += sign * input.content.length;
      this.#bufferedCharacters += sign * input.content.length;
      if (waiting.memories > 0) this.#waiting.set(projectId, waiting);
      else this.#waiting.delete(projectId);
    };
    count(1);
    try {
      return await this.#extract(input, request, context);
    } finally {
      count(-1);
    }
  }

  /**
   * Sends the prompt, and sends it once more if the reply is unusable. Returns null if everything is extracted locally.
   */
  async #extract(
    { job, content, title: fileTitle }: ExtractionInput,
    request: ExtractionRequest,
    context: ExtractionContext,
  ): Promise<LlmExtraction | null> {
    const title = job.memory.given.includes("title") ? job.memory.title : fileTitle;
    const prompt = extractionPrompt({ content, title }, request.missing, crypto.randomUUID());
    let messages = prompt;
    for (const isLast of [false, true]) {
      const text = await this.#callWithinLimits(request, messages, context);
      if (text === null) return null;
      const reply = parseReply(text, request.missing);
      if (!("problem" in reply)) {
        this.#breaker.recordSuccess(request.projectKey);
        await this.#uses.extractions.keep(job, reply.extraction);
        return reply.extraction;
      }
      if (isLast) await this.#onUnusableReplies(request, reply.problem, context);
      messages = repairPrompt(prompt, text, reply.problem);
    }
    return null;
  }

  /**
   * Calls the endpoint if token limits, semaphore and circuit breaker allow it. Returns null if there is no answer; the
   * memory's progress then says why, unless the job's lease was lost.
   */
  async #callWithinLimits(
    request: ExtractionRequest,
    messages: readonly LlmMessage[],
    context: ExtractionContext,
  ): Promise<string | null> {
    const { projectId } = request.job;
    if (this.#isCircuitOpen(request, context)) return null;
    const tokens = messages.reduce((sum, { content }) => sum + estimatedTokens(content), request.replyTokensMax);
    const monthly = await this.#withinMonth(request, tokens, context);
    if (monthly === null) return null;
    try {
      const limit = request.dailyTokensMax;
      const limits = limit === null ? [] : [limit];
      const daily = await this.#uses.dailyTokens.reserve(projectId, tokens, limits, context.signal);
      try {
        if (limit !== null && daily.used >= limit) {
          const sentence = "daily token limit is reached: extracted locally until the next day (UTC)";
          this.#onBudgetExhausted(projectId, sentence, context);
          return null;
        }
        this.#exhausted.delete(projectId);
        return await this.#callInTurn(request, monthly.models, messages, context);
      } finally {
        daily.release();
      }
    } finally {
      monthly.release();
    }
  }

  /** Calls the endpoint when its semaphore allows it. */
  async #callInTurn(
    request: ExtractionRequest,
    models: LlmChain,
    messages: readonly LlmMessage[],
    context: ExtractionContext,
  ): Promise<string | null> {
    const releasePermit = await this.#semaphore.acquire(request.endpointKey);
    try {
      context.signal.throwIfAborted();
      // while this call waited, the lease may have been lost or the circuit may have opened
      if (!(await context.isHeld()) || this.#isCircuitOpen(request, context)) return null;
      return await this.#call(request, models, messages, context);
    } finally {
      releasePermit();
    }
  }

  /** The models whose monthly limit is not reached, with a reservation; null if there is none. */
  async #withinMonth(
    request: ExtractionRequest,
    tokens: number,
    context: ExtractionContext,
  ): Promise<AllowedModels | null> {
    const { projectId } = request.job;
    try {
      return await this.#uses.monthlyTokens.reserve(projectId, request.models, tokens, context.signal);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof LlmError)) throw error;
      const sentence = "monthly token limit is reached: extracted locally until the next month (UTC)";
      this.#onBudgetExhausted(projectId, sentence, context);
      return null;
    }
  }

  // A call keeps its permit during a wait that the endpoint requested. Otherwise another call would take its place.
  async #call(
    request: ExtractionRequest,
    [first, ...fallbacks]: LlmChain,
    messages: readonly LlmMessage[],
    context: ExtractionContext,
  ): Promise<string | null> {
    const { job } = request;
    const llmRequest = {
      ...callOf(first),
      fallbacks: fallbacks.map(callOf),
      projectId: job.projectId,
      purpose: "ingestion",
      messages,
      schema: { name: "memory", schema: replySchema(request.missing) },
    } as const;
    for (const isLast of [false, true]) {
      const answer = await this.#complete(llmRequest, context.signal);
      await this.#uses.extractions.countTokens(job, answer.usage);
      if (!(answer instanceof LlmError)) {
        this.#breaker.recordSuccess(request.endpointKey);
        return answer.text;
      }
      if (answer.reason === "stopped") throw answer;
      const isShortWait = answer.retryAfterMs !== null && answer.retryAfterMs <= RETRY_AFTER_MS_MAX;
      if (isLast || !isShortWait) {
        await this.#onFailedCall(request, answer, context);
        return null;
      }
      await this.#uses.clock.sleep(answer.retryAfterMs, context.signal);
      context.signal.throwIfAborted();
    }
    return null;
  }

  /** Never rejects, because even a bug in the language model client must not fail a memory. */
  async #complete(request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer | LlmError> {
    try {
      return await this.#uses.model.complete(request, signal);
    } catch (cause) {
      if (cause instanceof LlmError) return cause;
      this.#uses.log.error({ err: cause }, "a language model call failed unexpectedly");
      return new LlmError("failed", "the call failed unexpectedly", { cause });
    }
  }

  #isCircuitOpen(request: ExtractionRequest, { onNote }: ExtractionContext): boolean {
    const isOpen = this.#breaker.isOpen(request.endpointKey) || this.#breaker.isOpen(request.projectKey);
    if (isOpen) onNote("The language model failed several times and is not called for a while: extracted locally.");
    return isOpen;
  }

  async #onFailedCall(request: ExtractionRequest, error: LlmError, { onNote }: ExtractionContext): Promise<void> {
    const { job } = request;
    await this.#uses.extractions.keep(job, null);
    const { reason, message, isTransient } = error;
    this.#uses.log.warn(
      { memory: job.memory.id, project: job.projectId, reason, isTransient, error: message },
      "the language model did not answer; a memory is extracted locally",
    );
    onNote("The language model did not answer: extracted locally.");
    // neither a bad request nor a call that was never made is the endpoint's fault
    if (REQUEST_ERROR_STATUSES.includes(error.status) || reason === "overloaded") return;
    // a project's own text or settings can cause these failures, so they must not block other projects
    const isProjectFailure = error.status === null && PROJECT_FAILURES.includes(error.reason);
    this.#recordFailure(request, isProjectFailure ? request.projectKey : request.endpointKey, error.retryAfterMs);
  }

  async #onUnusableReplies(request: ExtractionRequest, problem: string, { onNote }: ExtractionContext): Promise<void> {
    const { job } = request;
    await this.#uses.extractions.keep(job, null);
    this.#uses.log.warn(
      { memory: job.memory.id, project: job.projectId, problem },
      "the language model's replies are unusable; a memory is extracted locally",
    );
    onNote("The language model's replies were unusable: extracted locally.");
    this.#recordFailure(request, request.projectKey, null);
  }

  #recordFailure({ job }: ExtractionRequest, key: string, requestedMs: number | null): void {
    if (!this.#breaker.recordFailure(key, requestedMs)) return;
    this.#uses.log.warn({ project: job.projectId }, "a language model failed and is not called for a while");
  }

  /** @param what what happened to the project, such as "daily token limit is reached: …" */
  #onBudgetExhausted(projectId: ProjectId, what: string, { onNote }: ExtractionContext): void {
    onNote(`The project's ${what}.`);
    if (this.#exhausted.has(projectId)) return;
    this.#exhausted.add(projectId);
    this.#uses.log.warn({ project: projectId }, `the project's ${what}`);
  }
}

/** What a call of a model needs besides its messages. */
function callOf({ endpoint, outputTokensMax }: ConfiguredLlm) {
  return { endpoint, temperature: 0, outputTokensMax: Math.min(outputTokensMax ?? REPLY_TOKENS_MAX, REPLY_TOKENS_MAX) };
}

/** What to extract for one job, with which models and limits. */
class ExtractionRequest {
  readonly dailyTokensMax: number | null;
  readonly replyTokensMax: number;
  /** Identifies the models, for limits that all projects using them share. */
  readonly endpointKey: string;
  /** Identifies the models as used by one project: unusable replies to its texts must not block other projects. */
  readonly projectKey: string;

  constructor(
    readonly job: Job,
    readonly missing: readonly ExtractedField[],
    readonly models: LlmChain,
    { smart_ingestion }: ProjectSettings,
  ) {
    this.dailyTokensMax = smart_ingestion.daily_token_limit;
    this.replyTokensMax = Math.max(...models.map((model) => callOf(model).outputTokensMax));
    this.endpointKey = JSON.stringify(
      models.map(({ endpoint }) => [endpoint.provider, endpoint.baseUrl, endpoint.model, endpoint.apiKey]),
    );
    this.projectKey = JSON.stringify([job.projectId, this.endpointKey]);
  }
}
