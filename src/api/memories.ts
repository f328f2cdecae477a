// The operations on /v1/memories: what each asks for and what it answers.

import { Fault, invariant } from "../domain/fault.ts";
import { isId, type MemoryId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryDraft, Progress } from "../domain/memory.ts";
import type { Clock } from "../kit/clock.ts";
import type { Accepted } from "../ports/memory-store.ts";
import type { MemoryService } from "../services/memories.ts";
import type { SearchService } from "../services/search.ts";
import { check } from "./check.ts";
import { draftOf } from "./drafts.ts";
import { errorView } from "./errors.ts";
import { type Operation, operation } from "./operation.ts";
import { BatchCreate, CreateMemory, ListMemoriesQuery, NoQuery, SearchMemories } from "./schema.ts";
import { memoryView, searchView } from "./views.ts";

/** What the operations on memories stand on. */
export interface MemoryOperationsParts {
  readonly memories: MemoryService;
  readonly search: SearchService;
  readonly progressOf: (memory: Memory) => Progress;
  readonly clock: Clock;
}

/** The operations on /v1/memories. */
export function memoryOperations({ memories, search, progressOf, clock }: MemoryOperationsParts): readonly Operation[] {
  const acceptedView = (accepted: Accepted, content: string) =>
    memoryView({ memory: accepted.memory, content }, progressOf);

  return [
    operation({
      name: "createMemory",
      method: "POST",
      path: "/v1/memories",
      scope: "memories:write",
      query: NoQuery,
      body: CreateMemory,
      run: async ({ principal, body }) => {
        const draft = draftOf(body, clock.now());
        const [accepted] = await memories.create(principal.projectId, [draft]);
        invariant(accepted, "one draft gives one row");
        const isUnchanged = accepted.outcome === "updated" && accepted.memory.state.status === "completed";
        return { status: isUnchanged ? 200 : 202, body: acceptedView(accepted, draft.content) };
      },
    }),

    operation({
      name: "batchCreate",
      method: "POST",
      path: "/v1/memories/batch",
      scope: "memories:write",
      query: NoQuery,
      body: BatchCreate,
      run: async ({ principal, body }) => {
        if (body.memories.length > LIMITS.memoriesPerBatch) {
          throw new Fault(
            "batch_too_large",
            `A batch holds at most ${LIMITS.memoriesPerBatch} memories, found ${body.memories.length}. Nothing was stored.`,
            { param: "memories" },
          );
        }
        const items = body.memories.map((item, index) => checkItem(item, index, clock.now()));
        const drafts = items.filter((item): item is MemoryDraft => !(item instanceof Fault));
        if (drafts.length === 0) {
          throw new Fault(
            "invalid_request",
            "None of the batch's memories could be accepted; 'items' says why for each.",
            {
              items: items.flatMap((item, index) => (item instanceof Fault ? [{ index, error: item }] : [])),
            },
          );
        }
        const accepted = (await memories.create(principal.projectId, drafts)).values();
        const data = items.map((item, index) => {
          if (item instanceof Fault) return { index, error: errorView(item) };
          const next = accepted.next().value;
          invariant(next, "every draft gives one row");
          return { index, memory: acceptedView(next, item.content) };
        });
        return { status: 202, body: { data, accepted: drafts.length, failed: items.length - drafts.length } };
      },
    }),

    operation({
      name: "listMemories",
      method: "GET",
      path: "/v1/memories",
      scope: "memories:read",
      query: ListMemoriesQuery,
      run: async ({ principal, query }) => {
        const page = await memories.list(principal.projectId, { limit: LIMITS.pageItemsDefault, ...query });
        return {
          status: 200,
          body: {
            data: page.items.map((item) => memoryView(item, progressOf)),
            has_more: page.cursor !== null,
            cursor: page.cursor,
          },
        };
      },
    }),

    operation({
      name: "getMemory",
      method: "GET",
      path: "/v1/memories/:id",
      scope: "memories:read",
      query: NoQuery,
      run: async ({ principal, params }) => {
        const id = memoryId(params.id);
        const found = await memories.get(principal.projectId, id);
        if (found === null) throw absent(id);
        return { status: 200, body: memoryView(found, progressOf) };
      },
    }),

    operation({
      name: "deleteMemory",
      method: "DELETE",
      path: "/v1/memories/:id",
      scope: "memories:write",
      query: NoQuery,
      run: async ({ principal, params }) => {
        const id = memoryId(params.id);
        if (!(await memories.remove(principal.projectId, id))) throw absent(id);
        return { status: 204, body: null };
      },
    }),

    operation({
      name: "searchMemories",
      method: "POST",
      path: "/v1/memories/search",
      scope: "memories:read",
      query: NoQuery,
      body: SearchMemories,
      run: async ({ principal, body, signal }) => {
        refuseUnavailable(body);
        const mode = body.mode ?? "balanced";
        const ranking = await search.search(
          principal.projectId,
          {
            query: body.query,
            mode,
            limit: body.limit ?? LIMITS.searchResultsDefault,
            scoreMin: body.min_score ?? 0,
            ...(body.userId && { userId: body.userId }),
          },
          signal,
        );
        return { status: 200, body: searchView(ranking, mode, body.explain === true) };
      },
    }),
  ];
}

function checkItem(item: unknown, index: number, nowMs: number): MemoryDraft | Fault {
  const at = `memories[${index}]`;
  try {
    return draftOf(check(CreateMemory, item, at), nowMs, at);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

// What is not there yet is refused, never ignored: a dropped filter would show what it should have hidden.
function refuseUnavailable(body: SearchMemories): void {
  if (body.query.trim() === "") {
    throw new Fault("invalid_request", "'query' is blank: say what to search for.", { param: "query" });
  }
  const { filters = null } = body;
  if (filters !== null && (typeof filters !== "object" || Array.isArray(filters) || Object.keys(filters).length > 0)) {
    throw new Fault("invalid_filter", "This version has no 'filters' yet; 'userId' is the only restriction.", {
      param: "filters",
    });
  }
  if (body.includeGraph) {
    throw new Fault("invalid_request", "This version has no knowledge graph yet; leave 'includeGraph' out.", {
      param: "includeGraph",
    });
  }
}

function memoryId(text: string | undefined): MemoryId {
  if (text === undefined || !isId("mem", text)) throw absent(text ?? "");
  return text as MemoryId;
}

function absent(id: string): Fault {
  const shown = id.length > 64 ? `${id.slice(0, 64)}…` : id;
  return new Fault("memory_not_found", `There is no memory '${shown}' in this project.`, { param: "id" });
}
