// The operations on /v1/memories that store, read, change and delete.

import { Fault, invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryChange, MemoryDraft, Progress } from "../domain/memory.ts";
import type { Principal } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { shortened } from "../kit/shortened.ts";
import type { Accepted } from "../ports/memory-store.ts";
import type { HistoryService } from "../services/history.ts";
import type { Incoming, Intake } from "../services/intake.ts";
import { isToProcess, type MemoryService } from "../services/memories.ts";
import type { MemoryCounts } from "../services/memory-counts.ts";
import type { RelationService } from "../services/relations.ts";
import { check } from "./check.ts";
import { changeOf, checkTime, draftOf, knownAtOf } from "./drafts.ts";
import { errorView } from "./errors.ts";
import { memoryPathId } from "./ids.ts";
import { MemoryJsonCache } from "./memory-json.ts";
import { type Answer, changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";
import { filterOfText } from "./search.ts";
import { listView, memoryView } from "./views.ts";

/** What the operations on memories need. */
export interface MemoryDependencies {
  readonly memories: MemoryService;
  readonly relations: RelationService;
  readonly history: HistoryService;
  readonly counts: MemoryCounts;
  readonly intake: Intake;
  readonly progressOf: (memory: Memory) => Progress;
  readonly clock: Clock;
}

/** The operations on /v1/memories, except search, query, graph and upload. */
export function memoryOperations(uses: MemoryDependencies): readonly Operation[] {
  const { memories, relations, history, counts, intake, progressOf, clock } = uses;
  const json = new MemoryJsonCache(progressOf);
  const view = (memory: Memory, content: schema.CreateMemory["content"]) => ({
    ...memoryView({ memory, content: "" }, progressOf),
    content,
  });

  return [
    changing({
      name: "createMemory",
      group: "Memories",
      summary: "Store a text. An existing `externalId` updates its memory: 202 if the text has changed, otherwise 200.",
      method: "POST",
      path: "/v1/memories",
      scope: "memories:write",
      query: NoQuery,
      body: schema.CreateMemory,
      carriesContent: "of one memory",
      answers: { 200: schema.Memory, 202: schema.Memory },
      faults: ["too_many_tags", "metadata_too_large", "document_quota_exceeded", "storage_quota_exceeded"],
      isIdempotent: true,
      prepare: ({ body }) => intake.text<MemoryDraft>(draftOf(body, clock.now())),
      change: async (tx, { principal }, { kept }) => only(await memories.create(tx, principal, [kept])),
      answer: (accepted, { body: { content } }) => {
        const shown = view(accepted.memory, content);
        return { status: statusOf(accepted), body: shown, remembered: { ...shown, content: null } };
      },
      // The text is not stored twice: a repeated request contains it.
      replay: ({ status, body }, { body: asked }) => ({
        status,
        body: { ...(body as object), content: (asked as schema.CreateMemory).content },
      }),
    }),

    changing({
      name: "batchCreate",
      group: "Memories",
      summary: `Store up to ${LIMITS.memoriesPerBatch} texts. Each is accepted or refused on its own.`,
      method: "POST",
      path: "/v1/memories/batch",
      scope: "memories:write",
      query: NoQuery,
      body: schema.BatchCreate,
      carriesContent: "of a list",
      answers: { 202: schema.BatchResult },
      faults: ["batch_too_large", "document_quota_exceeded", "storage_quota_exceeded"],
      isIdempotent: true,
      prepare: ({ body }) => {
        if (body.memories.length > LIMITS.memoriesPerBatch) {
          throw new Fault(
            "batch_too_large",
            `A batch may have at most ${LIMITS.memoriesPerBatch} memories, found ${body.memories.length}. Nothing was stored.`,
            { param: "memories" },
          );
        }
        const items = body.memories.map((item, index) => checkItem(item, index, clock.now()));
        return intake.texts<MemoryDraft>(items);
      },
      change: async (tx, { principal }, { kept }) => {
        const outcomes = await memories.create(tx, principal, kept, (index) => `memories[${index}].userId`);
        const faults = outcomes.filter((outcome) => outcome instanceof Fault);
        if (faults.length === outcomes.length) throw noneAccepted(faults);
        return outcomes;
      },
      answer: (outcomes, { body }) => {
        const remembered = {
          data: outcomes.map((outcome, index) =>
            outcome instanceof Fault
              ? { index, error: errorView(outcome) }
              : { index, outcome: outcome.outcome, memory: view(outcome.memory, "") },
          ),
          accepted: outcomes.filter((outcome) => !(outcome instanceof Fault)).length,
          failed: outcomes.filter((outcome) => outcome instanceof Fault).length,
        };
        return { status: 202, body: withContents(remembered, body), remembered };
      },
      replay: ({ status, body }, { body: asked }) => ({ status, body: withContents(body, asked) }),
    }),

    reading({
      name: "listMemories",
      group: "Memories",
      summary: "List memories, newest first or oldest first.",
      method: "GET",
      path: "/v1/memories",
      scope: "memories:read",
      query: schema.ListMemories,
      answers: { 200: schema.MemoryList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query: { knownAt: then, ...query } }) => {
        const listing = { limit: LIMITS.pageItemsDefault, ...query };
        const page =
          then === undefined
            ? await memories.list(principal, listing)
            : await history.list(principal, { ...listing, knownAt: checkTime(then, "knownAt") });
        return { status: 200, body: listView(page, (item) => memoryView(item, progressOf)) };
      },
    }),

    reading({
      name: "countMemories",
      group: "Memories",
      summary: "Count memories: those that listMemories would list on all its pages, limited by `filters`.",
      method: "GET",
      path: "/v1/memories/count",
      scope: "memories:read",
      query: schema.CountMemories,
      answers: { 200: schema.MemoryCount },
      faults: ["invalid_filter"],
      read: async ({ principal, query: { filters, knownAt, ...query }, signal }) => {
        const conditions = { ...query, ...knownAtOf({ knownAt }), filter: filterOfText(filters) };
        return { status: 200, body: { count: await counts.count(principal, conditions, signal) } };
      },
    }),

    reading({
      name: "getMemory",
      group: "Memories",
      summary: "Read one memory.",
      method: "GET",
      path: "/v1/memories/:id",
      scope: "memories:read",
      query: schema.GetMemory,
      answers: { 200: schema.Memory },
      faults: ["memory_not_found"],
      read: async ({ principal, params, query: { knownAt } }) => {
        const id = memoryPathId(params.id);
        if (knownAt !== undefined) {
          const then = await history.get(principal, id, checkTime(knownAt, "knownAt"));
          if (then === null) throw absent(id);
          return { status: 200, body: json.of(then, then.relations) };
        }
        const found = await memories.get(principal, id);
        if (found === null) throw absent(id);
        return { status: 200, body: json.of(found, await relations.of(principal, found.memory)) };
      },
    }),

    changing({
      name: "updateMemory",
      group: "Memories",
      summary:
        "Change a memory. Absent fields stay unchanged, null clears a field. 202 if it is processed again: after new content, or another day (`occurred_at`) of a conversation; otherwise 200.",
      method: "PUT",
      path: "/v1/memories/:id",
      scope: "memories:write",
      query: NoQuery,
      body: schema.UpdateMemory,
      carriesContent: "of one memory",
      answers: { 200: schema.Memory, 202: schema.Memory },
      faults: [
        "memory_not_found",
        "external_id_conflict",
        "too_many_tags",
        "metadata_too_large",
        "storage_quota_exceeded",
      ],
      prepare: async ({ params, body }) => {
        const id = memoryPathId(params.id);
        return { id, ...(await intake.text<MemoryChange>(changeOf(body, clock.now()))) };
      },
      change: async (tx, { principal }, { id, kept: change }) => {
        const changed = await memories.change(tx, principal, id, change);
        if (changed === null) throw absent(id);
        return changed;
      },
      answer: ({ isProcessedAgain }) => ({ status: isProcessedAgain ? 202 : 200, body: null }),
      finish: async ({ status }, { memory }, { principal, body }) => {
        const content = body.content ?? (await memories.withContents(principal.projectId, [memory]))[0]?.content ?? "";
        return { status, body: view(memory, content) };
      },
    }),

    changing({
      name: "retryMemory",
      group: "Memories",
      summary: "Process a failed memory again.",
      method: "POST",
      path: "/v1/memories/:id/retry",
      scope: "memories:write",
      query: NoQuery,
      answers: { 202: schema.Memory },
      faults: ["memory_not_found", "invalid_state"],
      isIdempotent: true,
      prepare: async ({ principal, params }) => {
        const id = memoryPathId(params.id);
        return { id, content: (await memories.get(principal, id))?.content ?? "" };
      },
      change: async (tx, { principal }, { id, content }) => {
        const memory = await memories.retry(tx, principal, id);
        if (memory === null) throw absent(id);
        return view(memory, content);
      },
      answer: (shown) => ({ status: 202, body: shown, remembered: { ...shown, content: "" } }),
      replay: ({ status, body }, { principal, params }) =>
        withStoredContent(memories, principal, params.id, status, body),
    }),

    changing({
      name: "retryMemories",
      group: "Memories",
      summary: `Process failed memories again, at most ${LIMITS.retriedMemories} per request, those first that were stored first.`,
      method: "POST",
      path: "/v1/memories/retry",
      scope: "memories:write",
      query: NoQuery,
      body: schema.RetryMemories,
      isBodyOptional: true,
      answers: { 202: schema.RetriedMemories },
      isIdempotent: true,
      change: (tx, { principal, body }) => memories.retryFailed(tx, principal, body.userId ?? undefined),
      answer: (retried) => ({ status: 202, body: { retried } }),
    }),

    changing({
      name: "deleteMemory",
      group: "Memories",
      summary:
        "Delete a memory. It disappears from all answers at once, and is purged after the project's retention period.",
      method: "DELETE",
      path: "/v1/memories/:id",
      scope: "memories:write",
      query: schema.DeleteMemory,
      answers: { 204: null },
      faults: ["memory_not_found"],
      prepare: ({ params }) => memoryPathId(params.id),
      change: async (tx, { principal, query }, id) => {
        const removed = await memories.remove(tx, principal, id, { purges: query.purge ?? false });
        if (removed === null) throw absent(id);
        return removed;
      },
      answer: () => NO_CONTENT,
      finish: async (answer, { keys }, { principal, query }) => {
        if (query.purge === true) await memories.purgeNow(principal.projectId, keys);
        return answer;
      },
    }),
  ];
}

/** The outcome of the only draft of a request. @throws Fault with which the draft was refused */
export function only(outcomes: readonly (Accepted | Fault)[]): Accepted {
  const [outcome] = outcomes;
  invariant(outcome, "one draft has one outcome");
  if (outcome instanceof Fault) throw outcome;
  return outcome;
}

/** HTTP status of an accepted draft: 200 if the content stays as it is and is already processed, otherwise 202. */
export function statusOf({ outcome, memory }: Accepted): 200 | 202 {
  return !isToProcess(outcome) && memory.state.status === "completed" ? 200 : 202;
}

function checkItem(item: unknown, index: number, nowMs: number): Incoming<MemoryDraft> | Fault {
  const at = `memories[${index}]`;
  try {
    return draftOf(check(schema.CreateMemory, item, at), nowMs, at);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

// The error of a batch without any accepted item: the code of the quota if quotas were the only problem.
function noneAccepted(faults: readonly Fault[]): Fault {
  const quota = faults[0]?.code;
  const isQuota = quota === "document_quota_exceeded" || quota === "storage_quota_exceeded";
  const areQuotas = faults.every(({ code }) => code === "document_quota_exceeded" || code === "storage_quota_exceeded");
  return new Fault(
    isQuota && areQuotas ? quota : "invalid_request",
    areQuotas
      ? "None of the batch's memories fits into the project's plan; 'items' says why for each."
      : "None of the batch's memories could be accepted; 'items' says why for each.",
    { items: faults.map((error, index) => ({ index, error })) },
  );
}

/** Adds the current text to the memory of a stored answer, because stored answers contain no texts. */
export async function withStoredContent(
  memories: MemoryService,
  principal: Principal,
  id: string | undefined,
  status: number,
  body: unknown,
): Promise<Answer> {
  const found = await memories.get(principal, memoryPathId(id));
  return { status, body: { ...(body as object), content: found?.content ?? "" } };
}

// Adds the texts of the request to the answer of a batch, which is stored without them.
function withContents(remembered: unknown, asked: unknown): unknown {
  const { data, ...rest } = remembered as {
    readonly data: readonly { readonly index: number; readonly memory?: object }[];
  };
  const { memories } = asked as { readonly memories: readonly { readonly content?: string }[] };
  return {
    data: data.map((item) =>
      item.memory === undefined
        ? item
        : { ...item, memory: { ...item.memory, content: memories[item.index]?.content ?? "" } },
    ),
    ...rest,
  };
}

/** The error for a memory that does not exist or is not visible to the key. */
export function absent(id: string): Fault {
  return new Fault("memory_not_found", `There is no memory '${shortened(id)}' in this project.`, { param: "id" });
}
