// Turns what the services return into the answers of the API. Each view returns the type of its schema (schema/), so
// that a view that drifts from the contract does not compile.

import type { Static, TSchema } from "@sinclair/typebox";
import type { CitedPassage, Answer as WholeAnswer } from "../answer/events.ts";
import type { Chat, Message } from "../domain/chat.ts";
import type { Deletion } from "../domain/deletion.ts";
import type { ApiKey } from "../domain/key.ts";
import type { Memory, Progress } from "../domain/memory.ts";
import {
  type ApiName,
  ATTRIBUTES,
  type AttributeName,
  type AttributesWith,
  EXTRACTED_FIELDS,
} from "../domain/memory-attributes.ts";
import type { Page } from "../domain/page.ts";
import { PLANS, type ProjectInForce, type Usage } from "../domain/project.ts";
import type { NamedTime, RankedPassage, Ranking } from "../domain/ranking.ts";

import type { User, UserEvent } from "../domain/user.ts";
import type { Delivery, Webhook } from "../domain/webhook.ts";
import { isoTime } from "../kit/clock.ts";
import type { ModelChange, ProjectModel } from "../ports/project-model-store.ts";
import type { MemoryGraph } from "../services/graph.ts";
import type { MemoryWithContent } from "../services/memories.ts";
import type { InstalledModel } from "../services/project-models.ts";
import type { ShownValue } from "./schema/attributes.ts";
import type * as chats from "./schema/chats.ts";
import type * as deletions from "./schema/deletions.ts";
import type * as memories from "./schema/memories.ts";
import type * as graph from "./schema/memory-graph.ts";
import type * as platform from "./schema/platform.ts";
import type * as users from "./schema/users.ts";
import type * as webhooks from "./schema/webhooks.ts";

/** The value that a schema describes, with all fields readonly. Maps such as `metadata` are already readonly. */
export type View<Schema extends TSchema> = Unchangeable<Static<Schema>>;
type Unchangeable<T> = T extends (infer Item)[]
  ? readonly Unchangeable<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [Name in keyof T]: Unchangeable<T[Name]> }
    : T;

/** One page of a list, in the form that all lists of the API have. */
export interface ListView<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** Converts one page of a list. */
export function listView<Item, Shown>(page: Page<Item>, view: (item: Item) => Shown): ListView<Shown> {
  return { data: page.items.map(view), has_more: page.cursor !== null, cursor: page.cursor };
}

/** A Memory. `progressOf` is called only while the memory is being processed. */
export function memoryView(
  { memory, content }: MemoryWithContent,
  progressOf: (memory: Memory) => Progress,
): View<typeof memories.Memory> {
  const attributes = Object.assign(memoryAttributes(memory), { content });
  if (memory.state.status !== "processing") return attributes;
  return Object.assign(attributes, { progress: progressView(progressOf(memory)) });
}

/** A Memory without its content, as webhooks receive it. */
export function memoryAttributes(memory: Memory): View<typeof memories.MemoryWithoutContent> {
  const { state } = memory;
  return {
    id: memory.id,
    status: state.status,
    ...(shownAttributes(ATTRIBUTES, memory) as ShownAttributes<AttributeName>),
    source: memory.source === null ? null : { ...memory.source },
    ...(state.status === "completed"
      ? {
          chunk_count: state.chunkCount,
          // A caller who has provided every extractable field has replaced everything that was extracted before.
          extraction: memory.given.length === EXTRACTED_FIELDS.length ? "caller" : state.extraction,
        }
      : {}),
    ...(state.status === "failed" ? { error: { ...state.error } } : {}),
  };
}

/** Attributes as the API shows them. */
type ShownAttributes<Names extends AttributeName> = {
  readonly [Name in Names as ApiName<Name>]: ShownValue<Name>;
};
type ResultAttribute = AttributesWith<{ readonly inResults: "always" | "since later" }>;
const RESULT_ATTRIBUTES = ATTRIBUTES.filter(({ inResults }) => inResults !== "never");

function shownAttributes(attributes: typeof ATTRIBUTES, memory: Memory): object {
  const shown: Record<string, unknown> = {};
  for (const { name, property, type } of attributes) {
    const value = memory[property] ?? (type === "object" ? {} : null);
    shown[name] = typeof value === "number" ? isoTime(value) : value;
  }
  return shown;
}

function progressView(progress: Progress): NonNullable<View<typeof memories.Memory>["progress"]> {
  const { stage, chunksDone, chunksTotal, pages, note } = progress;
  return {
    ...{ stage, chunks_done: chunksDone, chunks_total: chunksTotal },
    ...(pages === null ? {} : { pages_done: pages.done, pages_total: pages.total }),
    ...(note === null ? {} : { note }),
  };
}

/** SearchResults; `isExplained` adds the signals of each result and the stages of the search. */
export function searchView(ranking: Ranking, isExplained: boolean): View<typeof memories.SearchResults> {
  return {
    results: ranking.results.map((result) => ({
      ...resultView(result),
      ...(isExplained ? { explain: explainedResult(result) } : {}),
    })),
    total_results: ranking.results.length,
    ...(isExplained
      ? {
          explain: {
            mode: ranking.mode,
            stages: ranking.stages,
            admissible: ranking.admissible,
            asOf: isoTime(ranking.asOf),
            ...(ranking.time === null ? {} : { time: namedTimeView(ranking.time) }),
          },
        }
      : {}),
  };
}

function explainedResult({ signals, fusedRank, supersededBy }: RankedPassage) {
  return { signals, fused_rank: fusedRank, ...(supersededBy === null ? {} : { superseded_by: supersededBy }) };
}

function namedTimeView({ from, to, expression }: NamedTime) {
  return { from: isoTimeOrNull(from), to: isoTimeOrNull(to), expression };
}

/** A MemoryGraph. */
export function memoryGraphView({ memory, entities, facts, neighbours }: MemoryGraph): View<typeof graph.MemoryGraph> {
  return {
    memory_id: memory.id,
    status: memory.state.status,
    entities: entities.map(({ name, kind, mentions, memories, chunkIds }) => {
      return { name, kind, mentions, memories, chunk_ids: chunkIds };
    }),
    relations: facts.map(({ subject, predicate, object }) => ({ subject, predicate, object })),
    neighbours: neighbours.map((neighbour) => ({
      memory_id: neighbour.memory.id,
      title: neighbour.memory.title,
      score: neighbour.score,
      entities: neighbour.entities,
    })),
  };
}

/** A source of an answer: a SearchResult that says whether the answer cites it. */
export function sourceView({ passage, isCited }: CitedPassage): View<typeof memories.SearchResult> {
  return { ...resultView(passage), cited: isCited };
}

/** A QueryResult. */
export function queryView({ answer, sources, tokensUsed }: WholeAnswer): View<typeof memories.QueryResult> {
  return { answer, sources: sources.map(sourceView), usage: { tokens_used: tokensUsed } };
}

function resultView(result: RankedPassage): View<typeof memories.SearchResult> {
  const { memory, place } = result;
  const metadata: memories.ResultMetadata = {
    ...memory.metadata,
    _memory: shownAttributes(RESULT_ATTRIBUTES, memory) as ShownAttributes<ResultAttribute>,
    _chunk: {
      ordinal: place.ordinal,
      start: place.start,
      end: place.end,
      ...(place.headings.length === 0 ? {} : { headings: place.headings }),
      ...(place.page === undefined ? {} : { page: place.page }),
      ...(place.slide === undefined ? {} : { slide: place.slide }),
      ...(place.sheet === undefined ? {} : { sheet: place.sheet }),
      ...(place.turn === undefined ? {} : { speaker: place.turn.speaker, date: place.turn.date }),
    },
  };
  return {
    id: result.chunkId,
    content: result.text,
    score: result.score,
    memory_id: memory.id,
    metadata,
  };
}

/** A Job. */
export function deletionView(deletion: Deletion): View<typeof deletions.Job> {
  const { id, status, matched, deleted, error, createdAt, updatedAt } = deletion;
  return {
    ...{ id, status, matched, deleted, created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) },
    ...(error === null ? {} : { error: { code: "processing_error", message: error } }),
  };
}

/** A Chat. */
export function chatView(chat: Chat): View<typeof chats.Chat> {
  const { createdAt, ...shown } = chat;
  return { ...shown, created_at: isoTime(createdAt) };
}

/** A Message. */
export function messageView(message: Message): View<typeof chats.Message> {
  return {
    id: message.id,
    role: message.role,
    content: message.content,
    sources: message.sources.map(({ shown }) => shown as View<typeof memories.SearchResult>), // stored as `sourceView` made it
    created_at: isoTime(message.createdAt),
    ...(message.isInterrupted ? { interrupted: true } : {}),
  };
}

/** A User. */
export function userView(user: User): View<typeof users.User> {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    metadata: user.metadata ?? {},
    created_at: isoTime(user.createdAt),
  };
}

/** An Event. */
export function eventView(event: UserEvent): View<typeof users.Event> {
  return {
    id: event.id,
    userId: event.userId,
    type: event.type,
    data: event.data,
    created_at: isoTime(event.createdAt),
  };
}

/** A Key, without its secret. */
export function keyView(key: ApiKey): View<typeof platform.Key> {
  return {
    id: key.id,
    projectId: key.projectId,
    name: key.name,
    scopes: key.scopes,
    userId: key.userId,
    expires_at: isoTimeOrNull(key.expiresAt),
    last_used_at: isoTimeOrNull(key.lastUsedAt),
    created_at: isoTime(key.createdAt),
    redacted: key.redacted,
  };
}

/** A Project, without the language model's key. */
export function projectView({ id, name, plan, settings, createdAt }: ProjectInForce): View<typeof platform.Project> {
  const { api_key: _secret, is_address_trusted: _trust, ...llm } = settings.llm;
  return { id, name, plan, ...settings, llm, created_at: isoTime(createdAt) };
}

/** An Embedder: an installed embedding model. */
export function embedderView(model: Omit<InstalledModel, "tokensMax">): View<typeof platform.Embedder> {
  const { id, dimensions, languages, isDefault } = model;
  return { id, dimensions, languages, is_default: isDefault };
}

/** A ProjectEmbedder: which model a project uses, and the last change. */
export function projectEmbedderView(model: ProjectModel): View<typeof platform.ProjectEmbedder> {
  const { projectId, live, previous, change } = model;
  return { projectId, model: live, previous, change: change === null ? null : changeView(change) };
}

function changeView(change: ModelChange): NonNullable<View<typeof platform.ProjectEmbedder>["change"]> {
  const { model, state, error, chunksDone, chunksTotal, startedAt, endedAt } = change;
  return {
    ...{ model, state, error, chunks_done: chunksDone, chunks_total: chunksTotal },
    started_at: isoTime(startedAt),
    ended_at: endedAt === null ? null : isoTime(endedAt),
  };
}

/** A Usage: how much the project has used, and the quotas of its plan. */
export function usageView(usage: Usage): View<typeof platform.Usage> {
  const { queriesPerMonth, documents, storageBytes } = PLANS[usage.plan];
  return {
    plan: usage.plan,
    period: { start: isoTime(usage.period.start), end: isoTime(usage.period.end) },
    queries: quotaView(usage.queries, queriesPerMonth),
    documents: quotaView(usage.documents, documents),
    storage_bytes: quotaView(usage.storageBytes, storageBytes),
    tokens: usage.tokens,
  };
}

// `remaining` is never negative, although a project can have used more than its plan allows after a change to a smaller
// plan.
function quotaView(used: number, limit: number | null): View<typeof platform.Usage>["queries"] {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used) };
}

/** A Webhook, without its secret. */
export function webhookView(webhook: Webhook): View<typeof webhooks.Webhook> {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    description: webhook.description,
    enabled: webhook.isEnabled,
    created_at: isoTime(webhook.createdAt),
  };
}

/** A Delivery: one event sent to one webhook, with its attempts. */
export function deliveryView(delivery: Delivery): View<typeof webhooks.Delivery> {
  return {
    id: delivery.id,
    webhook_id: delivery.webhookId,
    event: delivery.event,
    status: delivery.status,
    attempts: delivery.attempts.map(({ at, statusCode, error, ms }) => ({
      at: isoTime(at),
      status_code: statusCode,
      error,
      ms,
    })),
    created_at: isoTime(delivery.createdAt),
    next_attempt_at: isoTimeOrNull(delivery.nextAttemptAt),
  };
}

function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
