// Tables of the in-memory stores, and sessions: one transaction or one read on a fork of the tables.

import type { MessageRole, MessageSource } from "../../src/domain/chat.ts";
import type {
  ChatId,
  DeliveryId,
  KeyId,
  MemoryKey,
  MessageId,
  ProjectId,
  UserKey,
  WebhookId,
} from "../../src/domain/ids.ts";
import { type IdPrefix, timeOrderedId } from "../../src/domain/ids.ts";
import type { ApiKey } from "../../src/domain/key.ts";
import type {
  ExtractedField,
  Extraction,
  FailureCode,
  Json,
  JsonObject,
  Memory,
  MemorySource,
  MemoryStatus,
} from "../../src/domain/memory.ts";
import type { Project } from "../../src/domain/project.ts";
import type { User, UserEvent } from "../../src/domain/user.ts";
import type { DeliveryAttempt, DeliveryStatus, Webhook, WebhookEvent } from "../../src/domain/webhook.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { DocumentFacts } from "../../src/ports/document-reader.ts";
import type { IdempotencySlot } from "../../src/ports/idempotency-store.ts";
import type { LlmExtraction } from "../../src/ports/llm-extraction-store.ts";
import { Table } from "./table.ts";

/** A project; a removed one keeps its row until it is erased. */
export interface ProjectRow {
  readonly key: bigint;
  readonly project: Project;
  readonly deletedAt: number | null;
  /** The newest lease of its jobs: the project with the smallest is served next. */
  readonly servedLease: number;
  /** Further bytes that count as stored, beside those of its memories. */
  readonly occupiedBytes: number;
}

/** A key. `secrets` has one entry per SHA-256: a rotated key has several secrets for a while. */
export interface KeyRow {
  readonly key: bigint;
  readonly apiKey: ApiKey;
  readonly isOperator: boolean;
  readonly secrets: readonly { readonly sha256: string; readonly validUntil: number | null }[];
}

/** A user that is or was known. `knownKey` is its place in the list of users; null while it is not known. */
export interface UserRow {
  readonly key: UserKey;
  readonly projectId: ProjectId;
  readonly knownKey: bigint | null;
  readonly user: User;
}

/** An event of a user. */
export interface EventRow {
  readonly key: bigint;
  readonly projectId: ProjectId;
  readonly event: UserEvent;
}

/** A memory, with its content while it waits to be processed. */
export interface MemoryRow {
  readonly key: MemoryKey;
  readonly id: Memory["id"];
  readonly projectId: ProjectId;
  readonly userKey: UserKey | null;
  readonly userId: string | null;
  readonly externalId: string | null;
  readonly version: number;
  readonly status: MemoryStatus;
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: readonly string[] | null;
  readonly language: string | null;
  readonly metadata: JsonObject | null;
  readonly given: readonly ExtractedField[];
  readonly content: string | null;
  readonly contentBytes: number;
  readonly contentHash: string;
  readonly source: MemorySource | null;
  /** Name of the uploaded file whose text has not been read yet. */
  readonly file: string | null;
  readonly chunkCount: number;
  readonly extraction: Extraction | null;
  readonly error: { readonly code: FailureCode; readonly message: string } | null;
  readonly attempts: number;
  readonly lease: number | null;
  readonly claimableAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
  readonly deletedAt: number | null;
  readonly isRetracted: boolean;
  readonly isPurgeAsked: boolean;
  /** Title and page marks of the file, for the content with this hash. */
  readonly facts: { readonly contentHash: string; readonly facts: DocumentFacts } | null;
  readonly llmExtraction: {
    readonly version: number;
    readonly contentHash: string;
    readonly extraction: LlmExtraction | null;
  } | null;
}

/** A chat. */
export interface ChatRow {
  readonly key: bigint;
  readonly id: ChatId;
  readonly projectId: ProjectId;
  readonly userKey: UserKey | null;
  readonly userId: string | null;
  readonly title: string | null;
  readonly createdAt: number;
}

/** A message. `sourceCount` is the number of sources that it had when it was appended. */
export interface MessageRow {
  readonly key: bigint;
  readonly id: MessageId;
  readonly chatId: ChatId;
  readonly role: MessageRole;
  readonly content: string;
  readonly isInterrupted: boolean;
  readonly sources: readonly MessageSource[];
  readonly sourceCount: number;
  readonly createdAt: number;
}

/** A webhook. */
export interface WebhookRow {
  readonly key: bigint;
  readonly projectId: ProjectId;
  readonly webhook: Webhook;
  readonly secret: string;
}

/** A delivery. `attemptsCounted` starts again at 0 when a delivery that had ended is sent again. */
export interface DeliveryRow {
  readonly key: bigint;
  readonly id: DeliveryId;
  readonly webhookId: WebhookId;
  readonly event: WebhookEvent;
  readonly body: string;
  readonly status: DeliveryStatus;
  readonly isRetried: boolean;
  readonly attemptsCounted: number;
  readonly attempts: readonly DeliveryAttempt[];
  readonly nextAttemptAt: number | null;
  readonly createdAt: number;
}

/** A remembered answer. Its body is null if a subject of the answer was erased. */
export interface AnswerRow {
  readonly slot: IdempotencySlot;
  readonly fingerprint: Uint8Array;
  readonly status: number;
  readonly body: string | null;
  readonly subjects: readonly string[];
  readonly createdAt: number;
}

/** What a project used within one month. */
export interface MonthRow {
  readonly projectId: ProjectId;
  readonly queries: number;
  readonly prompt: number;
  readonly completion: number;
}

/** Tokens that ingestion took within one day. */
export interface DayRow {
  readonly projectId: ProjectId;
  readonly tokens: number;
}

/** Empty tables. The keys of users, months and days begin with their project; see `keyOf`. */
export function emptyTables() {
  return {
    counters: new Table<string, { readonly next: bigint }>(),
    projects: new Table<ProjectId, ProjectRow>(),
    keys: new Table<KeyId, KeyRow>(),
    users: new Table<string, UserRow>(),
    events: new Table<bigint, EventRow>(),
    memories: new Table<MemoryKey, MemoryRow>(),
    chats: new Table<ChatId, ChatRow>(),
    messages: new Table<MessageId, MessageRow>(),
    webhooks: new Table<WebhookId, WebhookRow>(),
    deliveries: new Table<DeliveryId, DeliveryRow>(),
    answers: new Table<string, AnswerRow>(),
    months: new Table<string, MonthRow>(),
    days: new Table<string, DayRow>(),
  };
}

/** All that the stores hold. */
export type Tables = ReturnType<typeof emptyTables>;

function forked(tables: Tables): Tables {
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.fork()])) as unknown as Tables;
}

/** Key of a row that belongs to a project. */
export function keyOf(projectId: ProjectId, rest: string | number): string {
  return `${projectId} ${rest}`;
}

/** A copy of a value by way of JSON. Later changes of the original do not affect it. */
export function jsonCopy<T extends Json | readonly Json[] | object>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** What the stores need beside the tables. */
export interface Surroundings {
  readonly clock: Clock;
  readonly newWebhookSecret: (random: (count: number) => Uint8Array) => string;
  /** The `data` of a memory's events. Absent: no events are recorded. */
  readonly describe?: (memory: Memory) => JsonObject;
  /** Called after the commit of new deliveries. */
  readonly onDeliveries?: () => void;
  /** When keys were last used; `flush` moves it to the rows. Not part of any transaction. */
  readonly lastUses: Map<KeyId, number>;
}

/** Tables that one transaction or one read works on, and the effects that follow the commit. */
export class Session {
  tables: Tables;
  effects: (() => Eventually<void>)[] = [];

  constructor(
    committed: Tables,
    readonly surroundings: Surroundings,
  ) {
    this.tables = forked(committed);
  }

  get now(): number {
    return this.surroundings.clock.now();
  }

  /** Whether a call wrote something. Not valid after `attempt`. */
  get isChanged(): boolean {
    return Object.values(this.tables).some((table) => table.isChanged);
  }

  /** Runs one call. If it throws, its changes and effects are undone, and the session continues as before. */
  attempt<T>(call: () => T): T {
    const [tables, effects] = [this.tables, [...this.effects]];
    this.tables = forked(tables);
    try {
      return call();
    } catch (error) {
      this.tables = tables;
      this.effects = effects;
      throw error;
    }
  }

  /** The next number of a sequence, from 1. */
  next(sequence: string, count = 1n): bigint {
    const next = this.tables.counters.get(sequence)?.next ?? 1n;
    this.tables.counters.set(sequence, { next: next + count });
    return next;
  }

  random(count: number): Uint8Array {
    return crypto.getRandomValues(new Uint8Array(count));
  }

  newId(prefix: IdPrefix): string {
    return `${prefix}_${timeOrderedId(this.now, this.random(10))}`;
  }
}
