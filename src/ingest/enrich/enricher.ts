// Which attributes of a memory a language model finds: control of the one question that a memory is worth. What is
// asked and what is understood of the reply are question.ts and reply.ts; when an endpoint may be called, gate.ts; what
// a project may spend, daily-budget.ts. Whatever happens here, the memory is not the worse for it: what is not found is
// extracted locally.

import type { ProjectId } from "../../domain/ids.ts";
import { endpointOf, estimatedTokens, type LlmEndpoint, type OperatorLlm } from "../../domain/language-model.ts";
import { EXTRACTED_FIELDS, type ExtractedField } from "../../domain/memory.ts";
import type { ProjectSettings } from "../../domain/project.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { AccountStore } from "../../ports/account-store.ts";
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
import { DailyBudget } from "./daily-budget.ts";
import { Breaker, Gate } from "./gate.ts";
import { question, REPLY_TOKENS_MAX, repair, replySchema } from "./question.ts";
import { readReply } from "./reply.ts";

/**
 * Memories of a project that wait for a language model at most before no more of them are claimed, and their texts'
 * length.
 */
const WAITING_MAX = 32;
const WAITING_CHARACTERS_MAX = 4 * 1024 * 1024;
/**
 * Length of the texts that wait for one at most, of a project and of all: what comes on top is extracted locally, at
 * once, so that nobody's slow endpoint keeps memory or holds up others. A text alone may be longer.
 */
const PROJECT_HELD_CHARACTERS_MAX = 32 * 1024 * 1024;
const HELD_CHARACTERS_MAX = 128 * 1024 * 1024;
/** A pause that an endpoint asks for is kept and the question asked again, if it is this long at most. */
const PAUSE_MS_MAX = 10_000;
/** Statuses that say something of the request rather than of the endpoint. */
const STATUSES_OF_REQUEST: readonly (number | null)[] = [400, 413, 422];

/** What a project's own texts and settings can make of a call. */
const REASONS_OF_PROJECT: readonly LlmFailure[] = ["too_long", "malformed", "failed"];

/** What an enricher stands on. */
export interface EnricherParts {
  readonly accounts: Pick<AccountStore, "project">;
  readonly extractions: LlmExtractionStore;
  readonly model: Pick<LanguageModel, "complete">;
  /** What holds where a project says nothing. */
  readonly operator: OperatorLlm;
  readonly clock: Clock;
  readonly log: Log;
}

/** A memory whose text is there. */
export interface ReadMemory {
  readonly job: Job;
  readonly content: string;
  /** The title that its file has; null: none. */
  readonly title: string | null;
}

/** What an enricher asks of, and tells, whoever works on the memory. */
export interface EnrichContext {
  readonly signal: AbortSignal;
  /** Whether the memory still is as it was claimed: asked before each call. */
  readonly isHeld: () => Promise<boolean>;
  /** Takes a sentence about why no language model extracts. */
  readonly onNote: (note: string) => void;
}

/** Whether a language model is asked about a memory, and what it extracts. */
type Inquiry =
  | {
      readonly isAsked: false;
      /** What was extracted in an earlier attempt; null: nothing, so everything is extracted locally. */
      readonly extraction: LlmExtraction | null;
    }
  | { readonly isAsked: true; readonly extraction: Promise<LlmExtraction | null> };

const NOT_ASKED: Inquiry = { isAsked: false, extraction: null };

/** Asks language models about memories. */
export class Enricher {
  readonly #parts: EnricherParts;
  readonly #budget: DailyBudget;
  readonly #gate = new Gate();
  readonly #breaker: Breaker;
  readonly #waiting = new Map<ProjectId, { memories: number; characters: number }>();
  #heldCharacters = 0;
  /** Projects that were said to have reached their ceiling since they last had not. */
  readonly #spent = new Set<ProjectId>();

  constructor(parts: EnricherParts) {
    this.#parts = parts;
    this.#budget = new DailyBudget(parts.extractions);
    this.#breaker = new Breaker(parts.clock);
  }

  /** Projects of which so many memories wait for a language model that no more are to be claimed. */
  fullProjects(): readonly ProjectId[] {
    return [...this.#waiting].flatMap(([projectId, { memories, characters }]) =>
      memories >= WAITING_MAX || characters >= WAITING_CHARACTERS_MAX ? [projectId] : [],
    );
  }

  /**
   * Has a language model extract the missing attributes of a memory, if one is to be asked. Rejects, or `extraction`
   * does, if the store cannot be read or written, and when `signal` aborts.
   */
  async find(read: ReadMemory, context: EnrichContext): Promise<Inquiry> {
    const { job, title } = read;
    const given = job.memory.given;
    const missing = EXTRACTED_FIELDS.filter(
      (field) => !given.includes(field) && !(field === "title" && title !== null),
    );
    if (missing.length === 0) return NOT_ASKED;
    const asked = await this.#parts.extractions.previous(job);
    if (asked !== null) {
      const isOfUse = missing.some((field) => asked.extraction?.[field] !== undefined);
      return { isAsked: false, extraction: isOfUse ? asked.extraction : null };
    }
    const settings = (await this.#parts.accounts.project(job.projectId))?.settings;
    if (settings === undefined || !settings.smart_ingestion.enabled) return NOT_ASKED;
    const endpoint = endpointOf(settings.llm, this.#parts.operator);
    if (endpoint === null) return NOT_ASKED;
    if (!this.#hasRoomFor(read)) {
      context.onNote("Too much text waits for the language model: extracted locally.");
      return NOT_ASKED;
    }
    return { isAsked: true, extraction: this.#wait(read, new Question(missing, endpoint, settings), context) };
  }

  #hasRoomFor({ job, content }: ReadMemory): boolean {
    const ofProject = this.#waiting.get(job.projectId)?.characters ?? 0;
    const fitsProject = ofProject === 0 || ofProject + content.length <= PROJECT_HELD_CHARACTERS_MAX;
    const held = this.#heldCharacters;
    return fitsProject && (held === 0 || held + content.length <= HELD_CHARACTERS_MAX);
  }

  async #wait(read: ReadMemory, inquiry: Question, context: EnrichContext): Promise<LlmExtraction | null> {
    const { projectId } = read.job;
    const waiting = this.#waiting.get(projectId) ?? { memories: 0, characters: 0 };
    const hold = (sign: 1 | -1) => {
      waiting.memories += sign;
      waiting.characters += sign * read.content.length;
      this.#heldCharacters += sign * read.content.length;
      if (waiting.memories > 0) this.#waiting.set(projectId, waiting);
      else this.#waiting.delete(projectId);
    };
    hold(1);
    try {
      return await this.#inquire(read, inquiry, context);
    } finally {
      hold(-1);
    }
  }

  // One question, and one repetition of it where the reply is of no use.
  async #inquire(read: ReadMemory, inquiry: Question, context: EnrichContext): Promise<LlmExtraction | null> {
    const { job } = read;
    const caller = job.memory.given.includes("title") ? job.memory.title : read.title;
    const first = question({ content: read.content, title: caller }, inquiry.missing, crypto.randomUUID());
    let messages = first;
    for (const isLast of [false, true]) {
      const text = await this.#ask(job, inquiry, messages, context);
      if (text === null) return null;
      const reply = readReply(text, inquiry.missing);
      if (!("problem" in reply)) {
        this.#breaker.succeeded(inquiry.repliesKey(job));
        await this.#parts.extractions.keep(job, reply.extraction);
        return reply.extraction;
      }
      if (isLast) await this.#gaveNothing(job, inquiry, reply.problem, context);
      messages = repair(first, text, reply.problem);
    }
    return null;
  }

  // null: no answer, for whatever reason; it was said.
  async #ask(
    job: Job,
    inquiry: Question,
    messages: readonly LlmMessage[],
    context: EnrichContext,
  ): Promise<string | null> {
    if (this.#isLeftAlone(job, inquiry, context)) return null;
    const tokens = messages.reduce((sum, { content }) => sum + estimatedTokens(content), inquiry.replyTokensMax);
    const reservation = await this.#budget.reserve(job.projectId, tokens, inquiry.ceiling);
    if (reservation === null) {
      this.#reachedCeiling(job, context);
      return null;
    }
    this.#spent.delete(job.projectId);
    const leave = await this.#gate.enter(inquiry.endpointKey);
    try {
      context.signal.throwIfAborted();
      // what waited for its turn may be gone, or the endpoint left alone by now
      if (!(await context.isHeld()) || this.#isLeftAlone(job, inquiry, context)) return null;
      return await this.#call(job, inquiry, messages, context);
    } finally {
      leave();
      reservation.end();
    }
  }

  // Keeps its place at the gate through a pause that the endpoint asks for: so the endpoint has its pause from all.
  async #call(
    job: Job,
    inquiry: Question,
    messages: readonly LlmMessage[],
    context: EnrichContext,
  ): Promise<string | null> {
    const request = {
      endpoint: inquiry.endpoint,
      projectId: job.projectId,
      purpose: "ingestion",
      messages,
      temperature: 0,
      outputTokensMax: inquiry.replyTokensMax,
      schema: { name: "memory", schema: replySchema(inquiry.missing) },
    } as const;
    for (const isLast of [false, true]) {
      const answer = await this.#answer(request, context.signal);
      await this.#parts.extractions.countTokens(job, answer.usage);
      if (!(answer instanceof LlmError)) {
        this.#breaker.succeeded(inquiry.endpointKey);
        return answer.text;
      }
      if (answer.reason === "stopped") throw answer;
      const isPause = answer.retryAfterMs !== null && answer.retryAfterMs <= PAUSE_MS_MAX;
      if (isLast || !isPause) {
        await this.#failed(job, inquiry, answer, context);
        return null;
      }
      await this.#parts.clock.sleep(answer.retryAfterMs, context.signal);
      context.signal.throwIfAborted();
    }
    return null;
  }

  // A bug in the client is no reason to fail a memory, either.
  async #answer(request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer | LlmError> {
    try {
      return await this.#parts.model.complete(request, signal);
    } catch (cause) {
      if (cause instanceof LlmError) return cause;
      this.#parts.log.error({ err: cause }, "a call of a language model broke down");
      return new LlmError("failed", "the call broke down", { cause });
    }
  }

  #isLeftAlone(job: Job, inquiry: Question, { onNote }: EnrichContext): boolean {
    const isOpen = this.#breaker.isOpen(inquiry.endpointKey) || this.#breaker.isOpen(inquiry.repliesKey(job));
    if (isOpen) onNote("The language model failed several times and is left alone for a while: extracted locally.");
    return isOpen;
  }

  async #failed(job: Job, inquiry: Question, error: LlmError, { onNote }: EnrichContext): Promise<void> {
    await this.#parts.extractions.keep(job, null);
    const { reason, message, isTransient } = error;
    this.#parts.log.warn(
      { memory: job.memory.id, project: job.projectId, reason, isTransient, error: message },
      "the language model gave no answer; a memory is extracted locally",
    );
    onNote("The language model gave no answer: extracted locally.");
    // nor does a call that was not made say anything of the endpoint
    if (STATUSES_OF_REQUEST.includes(error.status) || reason === "overloaded") return;
    // a text or a setting of one project can bring these about: they are not the others' endpoint's fault
    const isOfProject = error.status === null && REASONS_OF_PROJECT.includes(error.reason);
    const key = isOfProject ? inquiry.repliesKey(job) : inquiry.endpointKey;
    if (this.#breaker.failed(key, error.retryAfterMs)) this.#logLeftAlone(job);
  }

  async #gaveNothing(job: Job, inquiry: Question, problem: string, { onNote }: EnrichContext): Promise<void> {
    await this.#parts.extractions.keep(job, null);
    this.#parts.log.warn(
      { memory: job.memory.id, project: job.projectId, problem },
      "the language model's replies are of no use; a memory is extracted locally",
    );
    onNote("The language model's replies were of no use: extracted locally.");
    if (this.#breaker.failed(inquiry.repliesKey(job))) this.#logLeftAlone(job);
  }

  #logLeftAlone({ projectId }: Job): void {
    this.#parts.log.warn({ project: projectId }, "a language model is left alone for a while after its failures");
  }

  #reachedCeiling({ projectId }: Job, { onNote }: EnrichContext): void {
    onNote("The project's daily token limit is reached: extracted locally until the next day (UTC).");
    if (this.#spent.has(projectId)) return;
    this.#spent.add(projectId);
    this.#parts.log.warn(
      { project: projectId },
      "the project's daily token limit is reached; its memories are extracted locally until the next day (UTC)",
    );
  }
}

/** What is asked about one memory, and of whom. */
class Question {
  readonly ceiling: number | null;
  readonly replyTokensMax: number;
  /** Names the endpoint, for what all its callers share. */
  readonly endpointKey: string;

  constructor(
    readonly missing: readonly ExtractedField[],
    readonly endpoint: LlmEndpoint,
    { llm, smart_ingestion }: ProjectSettings,
  ) {
    this.ceiling = smart_ingestion.daily_token_limit;
    this.replyTokensMax = Math.min(llm.max_output_tokens ?? REPLY_TOKENS_MAX, REPLY_TOKENS_MAX);
    this.endpointKey = JSON.stringify([endpoint.baseUrl, endpoint.model, endpoint.apiKey]);
  }

  /** Names what the endpoint replies to one project: texts that lead it astray are not the others' fault. */
  repliesKey({ projectId }: Job): string {
    return JSON.stringify([projectId, this.endpointKey]);
  }
}
