// How things look in answers: what the services give to the interface's fields.

import type { CitedPassage, Answer as WholeAnswer } from "../answer/events.ts";
import type { Chat, Message } from "../domain/chat.ts";
import { chunkIdOf } from "../domain/ids.ts";
import type { ApiKey } from "../domain/key.ts";
import { EXTRACTED_FIELDS, type JsonObject, type Memory, type Progress } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import { PLANS, type Project, type Usage } from "../domain/project.ts";
import type { RankedPassage, Ranking } from "../domain/ranking.ts";
import type { User, UserEvent } from "../domain/user.ts";
import type { Delivery, Webhook } from "../domain/webhook.ts";
import { isoTime } from "../kit/clock.ts";
import type { MemoryGraph } from "../services/graph.ts";
import type { MemoryWithContent } from "../services/memories.ts";

/** A list of the interface. */
export function listView<Item>(page: Page<Item>, view: (item: Item) => object): object {
  return { data: page.items.map(view), has_more: page.cursor !== null, cursor: page.cursor };
}

/** A Memory of the interface. `progress` is asked for only while it is in work. */
export function memoryView({ memory, content }: MemoryWithContent, progressOf: (memory: Memory) => Progress): object {
  const isInWork = memory.state.status === "processing";
  return Object.assign(
    memoryAttributes(memory),
    { content },
    isInWork && { progress: progressView(progressOf(memory)) },
  );
}

/** A Memory of the interface without its content, as webhooks are told of it. */
export function memoryAttributes(memory: Memory): JsonObject {
  const { state } = memory;
  return {
    id: memory.id,
    status: state.status,
    title: memory.title,
    type: memory.type,
    tags: memory.tags,
    metadata: memory.metadata ?? {},
    userId: memory.userId,
    language: memory.language,
    externalId: memory.externalId,
    created_at: isoTime(memory.createdAt),
    updated_at: isoTime(memory.updatedAt),
    expires_at: isoTimeOrNull(memory.expiresAt),
    source: memory.source === null ? null : { ...memory.source },
    ...(state.status === "completed"
      ? {
          chunk_count: state.chunkCount,
          // who gives what was extracted before is the only source from then on
          extraction: memory.given.length === EXTRACTED_FIELDS.length ? "caller" : state.extraction,
        }
      : {}),
    ...(state.status === "failed" ? { error: { ...state.error } } : {}),
  };
}

function progressView(progress: Progress): object {
  const { stage, chunksDone, chunksTotal, pages, note } = progress;
  return {
    ...{ stage, chunks_done: chunksDone, chunks_total: chunksTotal },
    ...(pages === null ? {} : { pages_done: pages.done, pages_total: pages.total }),
    ...(note === null ? {} : { note }),
  };
}

/** SearchResults of the interface; `explain` adds the plan's record. */
export function searchView(ranking: Ranking, mode: string, isExplained: boolean): object {
  return {
    results: ranking.results.map((result) => ({
      ...resultView(result),
      ...(isExplained ? { explain: { signals: result.signals, fused_rank: result.fusedRank } } : {}),
    })),
    total_results: ranking.results.length,
    ...(isExplained ? { explain: { mode, stages: ranking.stages, admissible: ranking.admissible } } : {}),
  };
}

/** A MemoryGraph of the interface. */
export function memoryGraphView({ memory, names, relations, neighbours }: MemoryGraph): object {
  return {
    memory_id: memory.id,
    status: memory.state.status,
    entities: names.map(({ name, kind, mentions, memories, chunkKeys }) => {
      return { name, kind, mentions, memories, chunk_ids: chunkKeys.map(chunkIdOf) };
    }),
    relations: relations.map(({ subject, predicate, object }) => ({ subject, predicate, object })),
    neighbours: neighbours.map((neighbour) => ({
      memory_id: neighbour.memory.id,
      title: neighbour.memory.title,
      score: neighbour.score,
      entities: neighbour.names,
    })),
  };
}

/** A source of an answer: a SearchResult that says whether it is cited. */
export function sourceView({ passage, isCited }: CitedPassage): JsonObject {
  return { ...resultView(passage), cited: isCited };
}

/** A QueryResult of the interface. */
export function queryView({ answer, sources, tokensUsed }: WholeAnswer): object {
  return { answer, sources: sources.map(sourceView), usage: { tokens_used: tokensUsed } };
}

function resultView(result: RankedPassage): JsonObject {
  const { memory, place } = result;
  const metadata: JsonObject = {
    ...memory.metadata,
    _memory: {
      title: memory.title,
      type: memory.type,
      tags: memory.tags,
      userId: memory.userId,
      language: memory.language,
      created_at: isoTime(memory.createdAt),
    },
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
    id: chunkIdOf(result.chunkKey),
    content: result.text,
    score: result.score,
    memory_id: memory.id,
    metadata,
  };
}

/** A Chat of the interface. */
export function chatView(chat: Chat): object {
  return { id: chat.id, userId: chat.userId, title: chat.title, created_at: isoTime(chat.createdAt) };
}

/** A Message of the interface. */
export function messageView(message: Message): object {
  return {
    id: message.id,
    role: message.role,
    content: message.content,
    sources: message.sources.map((source) => source.shown),
    created_at: isoTime(message.createdAt),
    ...(message.isInterrupted ? { interrupted: true } : {}),
  };
}

/** A User of the interface. */
export function userView(user: User): object {
  return {
    id: user.id,
    name: user.name,
    email: user.email,
    metadata: user.metadata ?? {},
    created_at: isoTime(user.createdAt),
  };
}

/** An Event of the interface. */
export function eventView(event: UserEvent): object {
  return {
    id: event.id,
    userId: event.userId,
    type: event.type,
    data: event.data,
    created_at: isoTime(event.createdAt),
  };
}

/** A key without its secret. */
export function keyView(key: ApiKey): object {
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

/** A project without the language model's key. */
export function projectView({ id, name, plan, settings, createdAt }: Project): object {
  const { api_key: _secret, is_address_trusted: _trust, ...llm } = settings.llm;
  return { id, name, plan, ...settings, llm, created_at: isoTime(createdAt) };
}

/** What is used of a plan, beside what it allows. */
export function usageView(usage: Usage): object {
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

// A plan that was changed for a smaller one may leave more used than allowed.
function quotaView(used: number, limit: number | null): object {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used) };
}

/** A webhook without its secret. */
export function webhookView(webhook: Webhook): object {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    description: webhook.description,
    enabled: webhook.isEnabled,
    created_at: isoTime(webhook.createdAt),
  };
}

/** An event on its way to a webhook. */
export function deliveryView(delivery: Delivery): object {
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
