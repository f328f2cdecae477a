// How a question becomes an answer: it is made to stand by itself, searched for within the caller's scope, and answered from what was
// found: by the project's language model, or without one in sentences of what is stored. The same events feed a JSON body and a
// stream.

import { contextualQuestion } from "../answer/contextual-question.ts";
import type { AnswerEvent, CitedPassage } from "../answer/events.ts";
import { extractiveAnswer } from "../answer/extractive-answer.ts";
import type { Turn } from "../answer/history.ts";
import { noEvidenceAnswer } from "../answer/no-evidence.ts";
import { rerankerSentenceScorer, type ScoreSentences, type SentenceScorerParts } from "../answer/sentence-relevance.ts";
import { sentencesOf } from "../answer/sentences.ts";
import type { Filter } from "../domain/filter.ts";
import { LIMITS } from "../domain/limits.ts";
import { DEFAULT_SETTINGS } from "../domain/project.ts";
import type { ModeName, RankedPassage } from "../domain/ranking.ts";
import type { Viewer } from "../domain/scope.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { LlmUsage } from "../ports/language-model.ts";
import { MODES } from "../retrieval/modes.ts";
import { Generation, type GenerationParts, usageOf } from "./generation.ts";
import type { SearchService } from "./search.ts";

/** A question as a caller words it. */
export interface Question {
  readonly text: string;
  readonly mode: ModeName;
  /** Passages that the answer may stand on, at most. */
  readonly maxSources: number;
  readonly filter: Filter | null;
  readonly includeGraph: boolean;
  readonly userId?: string;
  /** On tone and form, for a language model; null: none. */
  readonly instructions: string | null;
  /** In place of the configured language model; null: that one. */
  readonly model: string | null;
}

/** An answer that comes about. */
export interface AnswerRun {
  /** What retrieval throws comes before the first of them. Stops when the caller's signal aborts. */
  readonly events: AsyncGenerator<AnswerEvent>;
  /** Tokens that language models took for it so far; estimated where it was broken off. */
  readonly tokens: () => LlmUsage;
  /** The passages that it may have told without citing them, best first: what a language model was given. Sentences are cited as quoted. */
  readonly context: () => readonly RankedPassage[];
}

/** What the service stands on. */
export interface AnswerServiceParts {
  readonly search: Pick<SearchService, "search" | "admits" | "isShown">;
  readonly accounts: Pick<AccountStore, "project">;
  readonly generation: GenerationParts;
  /** Who reads sentences, where the mode has passages read and no language model answers. */
  readonly reading: SentenceScorerParts;
}

/** A model is given passages to choose from: what says the same as a better one is left out. */
const PASSAGES_PER_SOURCE = 1.5;

const NO_TOKENS: LlmUsage = { prompt: 0, completion: 0 };

/** Answers questions of one project. */
export class AnswerService {
  readonly #parts: AnswerServiceParts;
  readonly #scoreSentences: ScoreSentences;

  constructor(parts: AnswerServiceParts) {
    this.#parts = parts;
    this.#scoreSentences = rerankerSentenceScorer(parts.reading);
  }

  /**
   * Begins an answer; no work is done before its first event is asked for.
   * @param history earlier turns of the conversation, oldest first
   * @throws Fault `invalid_request` for a model where none is configured, and for instructions that leave no room for sources
   */
  answer(viewer: Viewer, question: Question, signal: AbortSignal, history: readonly Turn[] = []): AnswerRun {
    const { generation, evidenceMin } = this.check(viewer, question);
    let context: readonly RankedPassage[] = [];
    const onContext = (passages: readonly RankedPassage[]) => {
      context = passages;
    };
    return {
      events: this.#events(viewer, question, { generation, evidenceMin, history, signal, onContext }),
      tokens: () => generation?.spent ?? NO_TOKENS,
      context: () => context,
    };
  }

  /** What `answer` would refuse, where it is begun later. @returns what answers. @throws as `answer` does */
  check(viewer: Viewer, { model, instructions }: Pick<Question, "model" | "instructions">): Answering {
    const settings = this.#parts.accounts.project(viewer.projectId)?.settings ?? DEFAULT_SETTINGS;
    const generation = Generation.of(this.#parts.generation, viewer.projectId, settings, model);
    generation?.checkInstructions(instructions);
    return { generation, evidenceMin: settings.min_evidence };
  }

  async *#events(viewer: Viewer, question: Question, terms: AnswerTerms): AsyncGenerator<AnswerEvent> {
    const { generation, signal } = terms;
    const { text, maxSources, instructions: _instructions, model: _model, ...scope } = question;
    const query = await this.#standaloneQuestion(viewer, question, terms);
    const limit = generation === null ? maxSources : Math.ceil(maxSources * PASSAGES_PER_SOURCE);
    const request = { ...scope, query, limit: Math.min(limit, LIMITS.searchResults), scoreMin: 0 };
    const { results } = await this.#parts.search.search(viewer.projectId, request, signal);
    const passages = evidenceAmong(results, terms.evidenceMin);
    if (passages.length === 0) return yield* this.#withoutEvidence(text, generation);

    const live = (sources: readonly CitedPassage[]) =>
      sources.filter(({ passage }) => this.#parts.search.isShown(viewer.projectId, request, passage));
    for await (const event of this.#answered(question, query, passages, terms)) {
      // what was deleted meanwhile is shown no more
      yield event.type === "sources" ? { ...event, sources: live(event.sources) } : event;
    }
  }

  #answered(
    { text, mode, maxSources, instructions }: Question,
    query: string,
    passages: readonly RankedPassage[],
    { generation, history, signal, onContext }: AnswerTerms,
  ): AsyncIterable<AnswerEvent> {
    if (generation !== null) {
      const asked = { question: text, topic: query, instructions, passages, maxSources, history };
      return generation.answer(asked, onContext, signal);
    }
    const reading = MODES[mode].rerankDepth > 0 ? { scoreSentences: this.#scoreSentences } : {};
    return extractiveAnswer(query, passages, { maxSources, signal, ...reading });
  }

  async *#withoutEvidence(text: string, generation: Generation | null): AsyncGenerator<AnswerEvent> {
    yield { type: "text", content: noEvidenceAnswer(await this.#parts.reading.languageOf(text)) };
    yield { type: "sources", sources: [] };
    yield usageOf(generation?.spent ?? NO_TOKENS);
  }

  // A model is asked only where there is something to be found.
  async #standaloneQuestion(viewer: Viewer, question: Question, terms: AnswerTerms): Promise<string> {
    const { generation, history, signal } = terms;
    if (history.length === 0) return question.text;
    const local = contextualQuestion(history, question.text);
    if (generation === null || !(await this.#parts.search.admits(viewer.projectId, question))) return local;
    return generation.standalone(history, question.text, local, signal);
  }
}

/** What answers the questions of a project. */
export interface Answering {
  /** null: sentences of what is stored. */
  readonly generation: Generation | null;
  /** 0..1: a best passage below is no evidence. */
  readonly evidenceMin: number;
}

interface AnswerTerms extends Answering {
  readonly history: readonly Turn[];
  readonly signal: AbortSignal;
  readonly onContext: (passages: readonly RankedPassage[]) => void;
}

/** What an answer can be made of: nothing where the best is too little, and nothing of passages in which nothing is said. */
function evidenceAmong(results: readonly RankedPassage[], evidenceMin: number): readonly RankedPassage[] {
  if (results[0] === undefined || results[0].score < evidenceMin) return [];
  return results.filter(({ text }) => sentencesOf(text).next().done === false);
}
