// Search in both its forms, and query: questions to what is stored.

import { type AnswerEvent, collectAnswer } from "../answer/events.ts";
import { Fault } from "../domain/fault.ts";
import { type Filter, parseFilter } from "../domain/filter.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Principal } from "../domain/scope.ts";
import type { AnswerService, Question } from "../services/answers.ts";
import type { SearchQuestion, SearchService } from "../services/search.ts";
import { parseStorable } from "./body.ts";
import { checkNotBlank } from "./drafts.ts";
import { type Answer, type Operation, operation } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";
import type { SseEvent } from "./sse.ts";
import { queryView, searchView, sourceView } from "./views.ts";

/** What search and query stand on. */
export interface SearchOperationsParts {
  readonly search: SearchService;
  readonly answers: AnswerService;
}

/** What a search asks for, whichever form it came in. */
interface SearchBody {
  readonly query: string;
  readonly limit?: number | null;
  readonly userId?: string | null;
  readonly includeGraph?: boolean | null;
  readonly mode?: SearchQuestion["mode"] | null;
  readonly min_score?: number | null;
  readonly explain?: boolean | null;
}

/** The operations searchMemories (POST and GET) and queryMemories. */
export function searchOperations({ search, answers }: SearchOperationsParts): readonly Operation[] {
  const searchFor = async (
    principal: Principal,
    body: SearchBody,
    filter: Filter | null,
    signal: AbortSignal,
  ): Promise<Answer> => {
    checkNotBlank(body.query, "query", "say what to search for");
    const mode = body.mode ?? "balanced";
    const question: SearchQuestion = {
      query: body.query,
      mode,
      limit: body.limit ?? LIMITS.searchResultsDefault,
      scoreMin: body.min_score ?? 0,
      includeGraph: body.includeGraph ?? false,
      filter,
      ...(body.userId != null && { userId: body.userId }),
    };
    const ranking = await search.search(principal, question, signal);
    return { status: 200, body: searchView(ranking, mode, body.explain === true) };
  };

  return [
    operation({
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
      run: async ({ principal, body, signal }) => searchFor(principal, body, filterOf(body.filters), signal),
    }),

    operation({
      name: "searchMemoriesByUrl",
      group: "Memories",
      summary: "Find passages, best first; the same as POST, and in the same rate-limit window.",
      method: "GET",
      path: "/v1/memories/search",
      scope: "memories:read",
      query: schema.SearchMemoriesQuery,
      answers: { 200: schema.SearchResults },
      faults: ["invalid_filter", "model_unavailable"],
      run: async ({ principal, query, signal }) => {
        const { filters, ...rest } = query;
        const filter = filters === undefined ? null : filterOf(parseFilterText(filters));
        return searchFor(principal, rest, filter, signal);
      },
    }),

    operation({
      name: "queryMemories",
      group: "Memories",
      summary: "Answer a question from what is stored, with its sources.",
      method: "POST",
      path: "/v1/memories/query",
      scope: "query",
      query: NoQuery,
      body: schema.QueryMemories,
      answers: { 200: schema.QueryResult },
      streams: "when asked",
      faults: ["invalid_filter", "query_quota_exceeded", "model_unavailable", "llm_error", "llm_timeout"],
      run: async ({ principal, body, commit, stream, signal }) => {
        checkNotBlank(body.query, "query", "ask a question");
        const question: Question = {
          text: body.query,
          mode: body.mode ?? "balanced",
          maxSources: body.maxSources ?? LIMITS.sourcesDefault,
          filter: filterOf(body.filters),
          includeGraph: body.includeGraph ?? false,
          instructions: body.instructions ?? null,
          model: body.model ?? null,
          ...(body.userId != null && { userId: body.userId }),
        };
        const run = await answers.ask(principal, question, signal);
        let isCounted = false;
        const count = async () => {
          if (isCounted) return;
          isCounted = true;
          await commit(async (tx) => {
            await run.count(tx);
            return { status: 200, body: null };
          });
        };
        if (body.stream === true) {
          let isBegun = false;
          const events = answerEvents(run.events, async (event) => {
            isBegun = true;
            if (event.type === "usage") await count();
          });
          return stream(events, async (how) => {
            // a caller who hangs up in the middle of an answer has got a part of it: that counts
            try {
              if (how === "aborted" && isBegun) await count();
            } finally {
              run.release();
            }
          });
        }
        try {
          const answered = await collectAnswer(run.events);
          await count();
          return { status: 200, body: queryView(answered) };
        } finally {
          run.release();
        }
      },
    }),
  ];
}

async function* answerEvents(
  events: AsyncIterable<AnswerEvent>,
  onEvent: (event: AnswerEvent) => Promise<void>,
): AsyncGenerator<SseEvent> {
  for await (const event of events) {
    await onEvent(event);
    switch (event.type) {
      case "text":
        yield { name: "text", data: { content: event.content } };
        break;
      case "sources":
        yield { name: "sources", data: event.sources.map(sourceView) };
        break;
      case "usage":
        yield { name: "usage", data: { tokens_used: event.tokensUsed } };
    }
  }
}

/** The conditions that a request gives; null: none. @throws Fault `invalid_filter` */
export function filterOf(filters: unknown): Filter | null {
  return filters === undefined ? null : parseFilter(filters);
}

function parseFilterText(text: string): unknown {
  try {
    return parseStorable(text, "filters");
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid_filter", "'filters' must be a JSON object, URL-encoded.", { param: "filters", cause });
  }
}
