// The operations for search, by POST and by GET, and query.

import type { Static } from "@sinclair/typebox";
import { type AnswerEvent, AnswerSoFar } from "../answer/events.ts";
import { Fault } from "../domain/fault.ts";
import { type Filter, parseFilter } from "../domain/filter.ts";
import { LIMITS } from "../domain/limits.ts";
import { scopeOf } from "../domain/memory-attributes.ts";
import type { Principal } from "../domain/scope.ts";
import type { ActivityService } from "../services/activity.ts";
import type { AnswerRun, AnswerService, Question } from "../services/answers.ts";
import type { Asker, RequestedSearch, SearchService } from "../services/search.ts";
import { parseStorable } from "./body.ts";
import { askedAt, checkAsks, checkNotBlank, knownAtOf } from "./drafts.ts";
import { type Answer, type Operation, reading, type WrittenAnswer, writing } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";
import type { SseEvent } from "./sse.ts";
import { queryView, searchView, sourceView } from "./views.ts";

/** What the search operations call. */
export interface SearchDependencies {
  readonly search: SearchService;
  readonly activity: ActivityService;
}

/** The fields of a search, by POST or by GET. */
type SearchBody = Omit<schema.SearchMemories, "filters">;

/** The operation searchMemories, by POST and by GET. */
export function searchOperations({ search, activity }: SearchDependencies): readonly Operation[] {
  const searchFor = async (
    principal: Principal,
    body: SearchBody,
    filter: Filter | null,
    asker: Asker,
  ): Promise<Answer> => {
    checkNotBlank(body.query, "query", "say what to search for");
    const requested: RequestedSearch = {
      query: body.query,
      mode: body.mode ?? null,
      limit: body.limit ?? LIMITS.searchResultsDefault,
      scoreMin: body.min_score ?? 0,
      includeGraph: body.includeGraph ?? false,
      filter,
      wantsEvidence: body.explain ?? false,
      ...scopeOf(body),
      ...askedAt(body),
      ...knownAtOf(body),
    };
    const startedAt = performance.now();
    const ranking = await search.search(principal, requested, asker);
    activity.searched(principal.projectId, ranking.mode, performance.now() - startedAt);
    return { status: 200, body: searchView(ranking, body.explain === true) };
  };

  return [
    reading({
      name: "searchMemories",
      group: "Memories",
      summary: "Find passages, best first.",
      method: "POST",
      path: "/v1/memories/search",
      scope: "memories:read",
      query: NoQuery,
      body: schema.SearchMemories,
      answers: { 200: schema.SearchResults },
      faults: ["invalid_filter", "model_unavailable"],
      read: async (call) => searchFor(call.principal, call.body, filterOf(call.body.filters), call),
    }),

    reading({
      name: "searchMemoriesByUrl",
      group: "Memories",
      summary: "Find passages, best first. Same as POST, and shares its rate limit.",
      method: "GET",
      path: "/v1/memories/search",
      scope: "memories:read",
      query: schema.SearchMemoriesQuery,
      answers: { 200: schema.SearchResults },
      faults: ["invalid_filter", "model_unavailable"],
      read: async (call) => {
        const { filters, ...rest } = call.query;
        return searchFor(call.principal, rest, filterOfText(filters), call);
      },
    }),
  ];
}

/** The operation queryMemories. */
export function queryOperation(answers: AnswerService): Operation {
  return writing({
    name: "queryMemories",
    group: "Memories",
    summary: "Answer a question from the stored memories, with sources.",
    method: "POST",
    path: "/v1/memories/query",
    scope: "query",
    query: NoQuery,
    body: schema.QueryMemories,
    answers: { 200: schema.QueryResult },
    streams: "when asked",
    faults: ["invalid_filter", "query_quota_exceeded", "model_unavailable", "llm_error", "llm_timeout"],
    write: async (call) => {
      const { principal, body } = call;
      checkAsks(body.query, "query", "ask a question");
      return writtenAnswer(await answers.ask(principal, questionOf(body), call));
    },
  });
}

function questionOf(body: Static<typeof schema.QueryMemories>): Question {
  return {
    text: body.query,
    mode: body.mode ?? null,
    maxSources: body.maxSources ?? LIMITS.sourcesDefault,
    filter: filterOf(body.filters),
    includeGraph: body.includeGraph ?? false,
    instructions: body.instructions ?? null,
    model: body.model ?? null,
    ...scopeOf(body),
    ...askedAt(body),
    ...knownAtOf(body),
  };
}

function writtenAnswer(run: AnswerRun): WrittenAnswer {
  const answer = new AnswerSoFar();
  return {
    events: answerEvents(run.events, answer),
    store: async (tx) => {
      await run.count(tx);
      return { status: 200, body: queryView(answer.whole()) };
    },
    lastEvents: () => {
      const { tokensUsed, state, evidence = null } = answer.whole();
      return [{ name: "usage", data: { tokens_used: tokensUsed, answer_state: state, evidence } }];
    },
    interrupt: run.count,
    release: run.release,
  };
}

async function* answerEvents(events: AsyncIterable<AnswerEvent>, answer: AnswerSoFar): AsyncGenerator<SseEvent> {
  for await (const event of events) {
    answer.add(event);
    if (event.type === "text") yield { name: "text", data: { content: event.content } };
    else if (event.type === "sources") yield { name: "sources", data: event.sources.map(sourceView) };
  }
}

/** Parses `filters`; null if absent. @throws Fault `invalid_filter` */
export function filterOf(filters: unknown): Filter | null {
  return filters === undefined ? null : parseFilter(filters);
}

/** Parses `filters` that are a query parameter; null if absent. @throws Fault `invalid_filter` */
export function filterOfText(text: string | undefined): Filter | null {
  return text === undefined ? null : filterOf(parseFilterText(text));
}

function parseFilterText(text: string): unknown {
  try {
    return parseStorable(text, "filters");
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_filter", "'filters' must be a JSON object, URL-encoded.", { param: "filters", cause });
  }
}
