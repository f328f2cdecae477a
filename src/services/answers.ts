// Answers questions: makes the question self-contained, searches within the caller's scope, and answers from what was
// found, with the project's language model or with quoted sentences. The same events feed a JSON body and a stream.

import { contextualQuestion } from "../answer/contextual-question.ts";
import { type AnswerEvent, citedFirst, collectAnswer } from "../answer/events.ts";
import { extractiveAnswer } from "../answer/extractive-answer.ts";
import { areAllFound, checkedAgainst, type Gap, gapIn, neighboursOf, withoutNeighbours } from "../answer/gaps.ts";
import type { Turn } from "../answer/history.ts";
import { joinedAnswer } from "../answer/joined-answer.ts";
import { lacksAskedKind } from "../answer/kind-evidence.ts";
import { gapAnswer, noEvidenceAnswer, noEvidenceFor } from "../answer/no-evidence.ts";
import { withoutOtherTimes } from "../answer/other-times.ts";
import { questionLanguage } from "../answer/question-language.ts";
import { questionParts } from "../answer/question-parts.ts";
import { type ScoreSentences, type SentenceScorerDependencies, sentenceScorer } from "../answer/sentence-relevance.ts";
import { sentencesOf } from "../answer/sentences.ts";
import {
  happenedWithin,
  spansMeant,
  storedWithin,
  tellingOf,
  timeAlone,
  timelineAnswer,
  timelineOf,
} from "../answer/time-alone.ts";
import { bothOf, type Filter } from "../domain/filter.ts";
import type { ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { MemoryScope } from "../domain/memory-attributes.ts";
import { DEFAULT_SETTINGS } from "../domain/project.ts";
import type { ModeName, RankedPassage, Ranking } from "../domain/ranking.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import { UTC } from "../kit/time-zone.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { QueryQuotas, QuotaReservation } from "../ports/coordination.ts";
import type { LlmUsage } from "../ports/language-model.ts";
import type { Transaction } from "../ports/transactions.ts";
import { type AskedQuestion, withoutOutdated } from "../retrieval/current-first.ts";
import { MODES } from "../retrieval/modes.ts";
import { type Series, seriesIn } from "../retrieval/series.ts";
import type { ActivityService } from "./activity.ts";
import { Generation, type GenerationDependencies, type Sampling, sumOfTokens } from "./generation.ts";
import type { AskedAt, Asker, RequestedSearch, SearchService } from "./search.ts";

/** A question as a caller asks it. */
export interface Question extends MemoryScope, AskedAt {
  /** The answer is from the texts and relations of this time, Unix milliseconds; default: now. */
  readonly knownAt?: number;
  readonly text: string;
  /** null if the project's `default_mode` is used. */
  readonly mode: ModeName | null;
  /** Maximum number of sources of the answer. */
  readonly maxSources: number;
  readonly filter: Filter | null;
  readonly includeGraph: boolean;
  /** The caller's instructions to the language model on tone and form; null if there are none. */
  readonly instructions: string | null;
  /** Language model to use instead of the configured one; null if the configured one is used. */
  readonly model: string | null;
  /** How the language model writes; default: as the project's settings say. */
  readonly sampling?: Sampling;
}

/** An answer in progress. It has reservations in the project's monthly quotas until `release` is called. */
export interface AnswerRun {
  /**
   * The events of the answer. Errors of retrieval are thrown before the first event. Stops when the caller's signal
   * aborts.
   */
  readonly events: AsyncGenerator<AnswerEvent>;
  /**
   * The passages in the prompt, in its order; none for an extractive answer. The answer may use them without citing
   * them.
   */
  readonly context: () => readonly RankedPassage[];
  /** Number of tokens used so far. */
  readonly spent: () => LlmUsage;
  /** Counts the question and its tokens, in the transaction that stores the answer. */
  readonly count: (transaction: Transaction) => Promise<void>;
  /** Must always be called when the answer ends, also after an error. A second call does nothing. */
  readonly release: () => void;
}

/** What the service needs. */
export interface AnswerServiceDependencies {
  readonly search: Pick<
    SearchService,
    "search" | "refuseThen" | "admits" | "stillShown" | "sentenceReaders" | "timeZone"
  >;
  readonly accounts: Pick<AccountStore, "project">;
  readonly activity: Pick<ActivityService, "answered">;
  readonly quota: QueryQuotas;
  readonly generation: GenerationDependencies;
  /** How sentences are scored for an extractive answer. */
  readonly reading: Omit<SentenceScorerDependencies, "embedder" | "reranker">;
}

/** A language model gets this many times more passages than sources are shown, because near-duplicates are dropped. */
const PASSAGES_PER_SOURCE = 1.5;

/** Number of the best passages that are checked for the kind of thing that a question asks for. */
const KIND_PASSAGES = 4;

/** To answer or refuse a question, a reader reads the passages in every mode, also in those that do not rerank. */
const READING = { wantsEvidence: true, mayRead: true } as const;

const NO_TOKENS: LlmUsage = { prompt: 0, completion: 0 };

/** Answers the questions of one project. */
export class AnswerService {
  readonly #uses: AnswerServiceDependencies;

  constructor(uses: AnswerServiceDependencies) {
    this.#uses = uses;
  }

  /**
   * Begins an answer and reserves a query in the quota. No further work is done until the first event is requested.
   * @param history earlier turns of the conversation, oldest first
   * @throws Fault `invalid_request` for a model if no endpoint is configured, and for instructions that leave no room
   *   for sources; `insufficient_scope` if a confined viewer names another user; `query_quota_exceeded`
   */
  async ask(
    viewer: Viewer,
    question: Question,
    { signal, confirm }: Asker,
    history: readonly Turn[] = [],
  ): Promise<AnswerRun> {
    userOf(viewer, question.userId);
    const answering = await this.check(viewer, question);
    const reservation = await this.reserveQuery(viewer);
    return this.#begin(viewer, question, answering, { signal, confirm, reservation, history });
  }

  /** Reserves a query in the project's monthly quota. @throws Fault `query_quota_exceeded` */
  reserveQuery(viewer: Viewer): Promise<QuotaReservation> {
    return this.#uses.quota.reserve(viewer.projectId);
  }

  /**
   * Begins an answer for which the caller has already reserved a query. No work is done until the first event is
   * requested.
   * @param terms `history` has the earlier turns of the conversation, oldest first
   * @throws Fault `invalid_request` for a model if no endpoint is configured, and for instructions that leave no room
   *   for sources
   */
  async answer(viewer: Viewer, question: Question, terms: AskTerms): Promise<AnswerRun> {
    return this.#begin(viewer, question, await this.check(viewer, question), terms);
  }

  /**
   * What a search finds for a question, at most `maxSources` passages, and whether the question would be answered from
   * them. Counts no query and calls no language model.
   * @throws Fault as `SearchService.search`
   */
  async assess(
    viewer: Viewer,
    question: Question,
    asker: Asker,
  ): Promise<{ readonly results: readonly RankedPassage[]; readonly isAnswerable: boolean }> {
    const answering = await this.check(viewer, question);
    const { text, maxSources: limit } = question;
    const request = { ...scopeOfQuestion(question), mode: answering.mode, query: text, limit, ...READING };
    const ranking = await this.#uses.search.search(viewer, request, asker);
    const { isAnswerable } = await this.#found(text, text, ranking, answering);
    return { results: ranking.results, isAnswerable };
  }

  #begin(
    viewer: Viewer,
    question: Question,
    answering: Answering,
    { signal, confirm, reservation, history }: AskTerms,
  ): AnswerRun {
    let context: readonly RankedPassage[] = [];
    const onContext = (passages: readonly RankedPassage[]) => {
      context = passages;
    };
    return {
      events: this.#events(viewer, question, { ...answering, history, signal, confirm, onContext }),
      context: () => context,
      spent: () => answering.generation?.spent ?? NO_TOKENS,
      count: (transaction) => reservation.count(transaction, answering.generation?.spent ?? NO_TOKENS),
      release: () => {
        reservation.release();
        answering.generation?.release();
      },
    };
  }

  /**
   * Validates a question before any other work is done. Returns the language model, the minimum evidence and the mode
   * for its answer.
   * @throws Fault `invalid_request` for a model if no endpoint is configured, and for instructions that leave no room
   *   for sources; as `SearchService.refuseThen`
   */
  async check(
    viewer: Viewer,
    question: Pick<Question, "model" | "instructions" | "mode" | "sampling" | "knownAt" | "filter">,
  ): Promise<Answering> {
    const { model, instructions, mode, sampling } = question;
    await this.#uses.search.refuseThen(viewer.projectId, question);
    const project = await this.#uses.accounts.project(viewer.projectId);
    const settings = project?.settings ?? DEFAULT_SETTINGS;
    const generation = Generation.of(this.#uses.generation, viewer.projectId, settings, model, sampling);
    generation?.checkInstructions(instructions);
    return { generation, evidenceMin: settings.min_evidence, mode: mode ?? settings.default_mode };
  }

  async *#events(viewer: Viewer, question: Question, terms: AnswerTerms): AsyncGenerator<AnswerEvent> {
    const query = await this.#standaloneQuestion(viewer, question, terms);
    const scope = scopeOfQuestion(question);
    for await (const event of this.#inParts(viewer, question, query, terms)) {
      if (event.type === "usage") this.#uses.activity.answered(viewer.projectId, event.state);
      // Sources whose memories were deleted in the meantime are left out.
      if (event.type !== "sources") yield event;
      else yield { ...event, sources: await this.#uses.search.stillShown(viewer, scope, event.sources) };
    }
  }

  /**
   * Answers a question for several things part by part, and joins these answers, unless none of the parts is answered.
   * A language model gets the whole question instead.
   */
  async *#inParts(viewer: Viewer, question: Question, query: string, terms: AnswerTerms): AsyncGenerator<AnswerEvent> {
    const parts = terms.generation === null ? questionParts(query) : [];
    if (parts.length > 0 && parts.length <= question.maxSources) {
      const maxSources = Math.floor(question.maxSources / parts.length);
      const answers = await Promise.all(
        parts.map(async ({ text, query: own }) => {
          const events = this.#answer(viewer, { ...question, text, maxSources }, own, terms);
          return { text, answer: await collectAnswer(events) };
        }),
      );
      if (answers.some(({ answer }) => answer.state !== "not_found")) {
        const passages = answers.flatMap(({ answer }) => answer.sources.map(({ passage }) => passage));
        const language = await this.#languageOf(query, passages);
        return yield* joinedAnswer(answers, question.maxSources, (part) => noEvidenceFor(part, language));
      }
    }
    yield* this.#answer(viewer, question, query, terms);
  }

  /** @param query the question, made self-contained */
  async *#answer(viewer: Viewer, question: Question, query: string, terms: AnswerTerms): AsyncGenerator<AnswerEvent> {
    const { generation } = terms;
    const { text, maxSources } = question;
    const limit = generation === null ? maxSources : Math.ceil(maxSources * PASSAGES_PER_SOURCE);
    const request = {
      ...scopeOfQuestion(question),
      mode: terms.mode,
      query,
      limit: Math.min(limit, LIMITS.searchResults),
    };
    const ranking = await this.#uses.search.search(viewer, { ...request, ...READING }, terms);
    const timeline = await this.#timeline(viewer, request, ranking, terms);
    const found =
      timeline.length > 0
        ? { series: [], passages: timeline, gap: null, isAnswerable: true }
        : await this.#found(text, query, ranking, terms);
    const evidence = timeline.length > 0 ? 1 : ranking.evidence;
    let events: AsyncIterable<AnswerEvent> | Iterable<AnswerEvent>;
    if (!found.isAnswerable) events = this.#notFound(text, found, maxSources, terms);
    else if (timeline.length > 0 && generation === null) events = timelineAnswer(timeline);
    else events = this.#answered(viewer, question, query, found, terms);
    for await (const event of events) yield event.type === "usage" ? { ...event, evidence } : event;
  }

  /**
   * What is stored of a time, in order, if a question asks for nothing but that time; otherwise empty. Memories that do
   * not say when they happened count by when they were stored, but only if there are no others.
   */
  async #timeline(
    viewer: Viewer,
    request: RequestedSearch,
    ranking: Ranking,
    terms: AnswerTerms,
  ): Promise<readonly RankedPassage[]> {
    const { time, asOf } = ranking;
    const asked = timeAlone(request.query, time);
    if (asked === null || time === null) return [];
    const within = async (times: Filter) => {
      const filter = bothOf(request.filter, times);
      const wide = { ...request, filter, mode: "fast", limit: LIMITS.searchResults } as const;
      return (await this.#uses.search.search(viewer, wide, terms)).results;
    };
    const told = tellingOf(asked, ranking.results);
    for (const span of spansMeant(asked, time, asOf)) {
      // `told` has results for `asked`, the span that the search preferred
      const found = [...(span === asked ? told : []), ...(await within(happenedWithin(span)))];
      if (found.length > 0) return timelineOf(found, request.limit);
    }
    return timelineOf(await within(storedWithin(asked)), request.limit);
  }

  /** What a search found for a question, and what it did not find. */
  async #found(
    text: string,
    query: string,
    ranking: Ranking,
    { generation, evidenceMin: chosenMin }: Pick<Answering, "generation" | "evidenceMin">,
  ): Promise<Found> {
    const language = await this.#uses.reading.languageOf(query);
    const passages = withoutOutdated({ text: query, language }, ranking, withSentences(ranking));
    const asked = { language, asOf: ranking.asOf, time: ranking.time };
    const own = seriesIn(text, asked);
    // a follow-up question may name its things only in the question before
    const series = own.length > 0 || text === query ? own : seriesIn(query, asked);
    const evidenceMin = chosenMin ?? ranking.evidenceMin;
    const isEvident = passages.length > 0 && ranking.evidence !== null && ranking.evidence >= evidenceMin;
    // a language model sees for itself what passages are about
    const others = generation === null ? ownAndCurrent({ text: query, ...asked }, series, passages) : passages;
    if (evidenceMin === 0) return { series, passages: others, gap: null, isAnswerable: isEvident };
    const hasKind = (texts: readonly RankedPassage[]) =>
      !lacksAskedKind(
        text,
        query,
        texts.slice(0, KIND_PASSAGES).map((passage) => passage.text),
      );
    const relevantMin = chosenMin ?? ranking.relevantMin;
    const gap = gapIn(series, passages, relevantMin);
    if (gap !== null && (gap.isPartial || gap.neighbours.length === 0 || hasKind(neighboursOf(gap, KIND_PASSAGES)))) {
      const isPartlyEvident = gap.found.some(({ score }) => score >= relevantMin);
      if (generation === null) {
        const current = ownAndCurrent({ text: query, ...asked }, series, gap.found);
        return { series, passages: current, gap, isAnswerable: isPartlyEvident };
      }
      return { series, passages, gap, isAnswerable: isEvident || isPartlyEvident };
    }
    // of two things that are asked for, each passage lacks one, which counts against its evidence
    const areEvident = isEvident || areAllFound(series, passages, relevantMin);
    // without a language model nobody else reads the passages, so they must have the kind of thing that is asked for
    const isAnswerable = areEvident && (generation !== null || hasKind(others));
    return { series, passages: others, gap: null, isAnswerable };
  }

  async *#answered(
    viewer: Viewer,
    question: Question,
    query: string,
    { series, passages, gap }: Found,
    { generation, mode, history, signal, onContext }: AnswerTerms,
  ): AsyncGenerator<AnswerEvent> {
    const { text, maxSources, instructions, asOf } = question;
    if (generation !== null) {
      // a date without a time is the same day in every zone
      const timeZone = question.isDay === true ? UTC : await this.#uses.search.timeZone(viewer, question);
      const asked = { question: text, query, instructions, passages, maxSources, history, gap, timeZone };
      const events = generation.answer({ ...asked, ...(asOf !== undefined && { asOf }) }, onContext, signal);
      return yield* checkedAgainst(series, gap, events);
    }
    const scoreSentences = this.#sentenceScorer(viewer.projectId, mode);
    const options = { maxSources, language: await this.#languageOf(query), signal, scoreSentences };
    for await (const event of extractiveAnswer(query, passages, options)) {
      if (gap !== null && event.type === "sources") {
        yield { type: "text", content: ` ${gapAnswer(await this.#languageOf(text, passages), gap, [])}` };
      }
      yield gap !== null && event.type === "usage" ? { ...event, state: "partial" } : event;
    }
  }

  #sentenceScorer(projectId: ProjectId, mode: ModeName): ScoreSentences {
    const { reading, search } = this.#uses;
    return async (question, sentences, signal) => {
      const { embedder, reranker } = await search.sentenceReaders(projectId, signal);
      const score = sentenceScorer({ ...reading, embedder, reranker: MODES[mode].rerankDepth > 0 ? reranker : null });
      return score(question, sentences, signal);
    };
  }

  /** Says that nothing that was found answers the question, and cites neighbours of what it names, if there are any. */
  async *#notFound(
    text: string,
    { gap, passages }: Found,
    maxSources: number,
    { generation }: AnswerTerms,
  ): AsyncGenerator<AnswerEvent> {
    const language = await this.#languageOf(text, passages);
    const cited = gap === null ? [] : neighboursOf(gap, maxSources);
    const content = gap === null ? noEvidenceAnswer(language) : gapAnswer(language, gap, cited);
    yield { type: "text", content, cites: cited };
    yield { type: "sources", sources: citedFirst(cited, [], maxSources) };
    yield { type: "usage", tokensUsed: sumOfTokens(generation?.spent ?? NO_TOKENS), state: "not_found" };
  }

  async #languageOf(text: string, passages: readonly RankedPassage[] = []): Promise<string> {
    return questionLanguage(text, await this.#uses.reading.languageOf(text), passages);
  }

  // The question, made self-contained. The language model is called only if the search can find any memory.
  async #standaloneQuestion(viewer: Viewer, question: Question, terms: AnswerTerms): Promise<string> {
    const { generation, history, signal } = terms;
    if (history.length === 0) return question.text;
    const local = contextualQuestion(history, question.text);
    if (generation === null || !(await this.#uses.search.admits(viewer, question))) return local;
    return generation.standalone(history, question.text, local, signal);
  }
}

/** Which memories the search for a question covers, and when it is asked. */
function scopeOfQuestion(question: Question) {
  const {
    text: _text,
    maxSources: _sources,
    instructions: _instructions,
    model: _model,
    sampling: _s,
    ...scope
  } = question;
  return { ...scope, scoreMin: 0 };
}

/** What an answer needs besides its question. */
interface AskTerms extends Asker {
  readonly reservation: QuotaReservation;
  readonly history: readonly Turn[];
}

/** How the questions of a project are answered. */
export interface Answering {
  /** The language model that writes the answer; null if the answer is extractive. */
  readonly generation: Generation | null;
  /**
   * Evidence, 0..1, below which the question is not answered; null: the default of the search (`Ranking.evidenceMin`).
   * 0: it is answered if any passage is found.
   */
  readonly evidenceMin: number | null;
  /** Mode of the search. */
  readonly mode: ModeName;
}

interface AnswerTerms extends Answering, Asker {
  readonly history: readonly Turn[];
  readonly onContext: (passages: readonly RankedPassage[]) => void;
}

/** What a search found for a question. */
interface Found {
  /** The series of which the question names members. */
  readonly series: readonly Series[];
  /** The passages to answer from, best first. */
  readonly passages: readonly RankedPassage[];
  /** What the question names, but no found passage is about. */
  readonly gap: Gap | null;
  readonly isAnswerable: boolean;
}

function withSentences({ results }: Ranking): readonly RankedPassage[] {
  return results.filter(({ text }) => sentencesOf(text).next().done === false);
}

/** The passages to quote: without those about other members of a series or another time than the question names. */
function ownAndCurrent(
  { time, ...question }: AskedQuestion & Pick<Ranking, "time">,
  series: readonly Series[],
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  const own = withoutNeighbours(series, passages);
  return time === null ? own : withoutOtherTimes(question, time, own);
}
