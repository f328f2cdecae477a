// Base of the in-memory stores: the tables, and sessions. A session is one transaction or one read. It works on a fork
// of the tables, so that its changes can be dropped; table.ts explains forks.

import type { MessageRole, MessageSource } from "../../src/domain/chat.ts";
import type { Deletion } from "../../src/domain/deletion.ts";
import type {
  ChatId,
  DeletionId,
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
import type { DeletionWork } from "../../src/ports/deletion-store.ts";
import type { DocumentFacts } from "../../src/ports/document-reader.ts";
import type { IdempotencySlot } from "../../src/ports/idempotency-store.ts";
import type { LlmExtraction } from "../../src/ports/llm-extraction-store.ts";
import type { ProjectModel } from "../../src/ports/project-model-store.ts";
import { Table } from "./table.ts";

/** A project. The row of a removed project stays until the data of the project has been erased. */
export interface ProjectRow {
  readonly key: bigint;
  readonly project: Project;
  /** Secret that the ids of its chunks, and its cursors, are made with. */
  readonly secret: Uint8Array;
  readonly deletedAt: number | null;
  /**
   * Highest lease number among the jobs that were claimed from this project, or 0. The project with the lowest value is
   * served next.
   */
  readonly servedLease: number;
  /** Bytes that count towards the storage quota in addition to those of the project's memories. Only tests set this. */
  readonly occupiedBytes: number;
}

/**
 * An API key. `secrets` has the SHA-256 of each secret, and until when the secret is valid (null: no limit). A rotated
 * key can have several secrets, because an old secret can stay valid for a grace period.
 */
export interface KeyRow {
  readonly key: bigint;
  readonly apiKey: ApiKey;
  readonly isOperator: boolean;
  readonly secrets: readonly { readonly sha256: string; readonly validUntil: number | null }[];
}

/**
 * A user that some request named. `knownKey` is the position of the user in the list of users, higher for newer users.
 * It is null after `forget`, which takes the user out of the list.
 */
export interface UserRow {
  readonly key: UserKey;
  readonly projectId: ProjectId;
  readonly knownKey: bigint | null;
  readonly user: User;
}

/** An event in the log of a user. */
export interface EventRow {
  readonly key: bigint;
  readonly projectId: ProjectId;
  readonly event: UserEvent;
}

/** A memory. `content` is null once the memory is completed: its text is in the index then. */
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
  /** Stored name of the uploaded file until the text of the file has been read; otherwise null. */
  readonly file: string | null;
  readonly chunkCount: number;
  readonly extraction: Extraction | null;
  readonly error: { readonly code: FailureCode; readonly message: string } | null;
  readonly attempts: number;
  readonly lease: number | null;
  readonly claimableAt: number;
  readonly isReindexed: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
  readonly occurredAt: number | null;
  readonly agentId: string | null;
  readonly sessionId: string | null;
  readonly deletedAt: number | null;
  readonly isRetracted: boolean;
  readonly isPurgeAsked: boolean;
  /** Title and place marks that document reading found in the file, valid only for the content with this hash. */
  readonly facts: { readonly contentHash: string; readonly facts: DocumentFacts } | null;
  readonly llmExtraction: {
    readonly version: number;
    readonly contentHash: string;
    readonly extraction: LlmExtraction | null;
  } | null;
}

/** A chat of a project. Its messages are rows of their own. */
export interface ChatRow {
  readonly key: bigint;
  readonly id: ChatId;
  readonly projectId: ProjectId;
  readonly userKey: UserKey | null;
  readonly userId: string | null;
  readonly agentId: string | null;
  readonly sessionId: string | null;
  readonly title: string | null;
  readonly createdAt: number;
}

/**
 * A message of a chat. `sourceCount` is the number of sources that the answer was based on. `sources` lacks those whose
 * memories were removed before the message was appended, or erased since.
 */
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

/** A webhook, with the secret that signs its deliveries. */
export interface WebhookRow {
  readonly key: bigint;
  readonly projectId: ProjectId;
  readonly webhook: Webhook;
  readonly secret: string;
}

/**
 * A delivery of an event to a webhook. `attemptsCounted` is the number of attempts since the delivery was created, or
 * since a caller sent it again after it had ended.
 */
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

/**
 * The response to a request with an idempotency key, stored so that a repeated request gets it again. `subjects` are
 * the ids of what the response is about. `body` is null if data of one of them was erased since.
 */
export interface AnswerRow {
  readonly slot: IdempotencySlot;
  readonly fingerprint: Uint8Array;
  readonly status: number;
  readonly body: string | null;
  readonly subjects: readonly string[];
  readonly createdAt: number;
}

/** Usage of a project in one month: number of queries, and language model tokens of prompts and completions. */
export interface MonthRow {
  readonly projectId: ProjectId;
  readonly queries: number;
  readonly prompt: number;
  readonly completion: number;
}

/** A deletion, and what it still has to do. */
export interface DeletionRow extends Deletion, DeletionWork {
  readonly projectId: ProjectId;
}

/** Language model tokens that the ingestion of a project used on one day. */
export interface DayRow {
  readonly projectId: ProjectId;
  readonly tokens: number;
}

/**
 * Creates empty tables. `keyOf` makes the keys of `users`, `months` and `days` from the project and the user id, month
 * or day.
 */
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
    /** When claims of deliveries end, in Unix milliseconds. */
    claims: new Table<DeliveryId, { readonly until: number }>(),
    answers: new Table<string, AnswerRow>(),
    months: new Table<string, MonthRow>(),
    days: new Table<string, DayRow>(),
    models: new Table<ProjectId, ProjectModel>(),
    deletions: new Table<DeletionId, DeletionRow>(),
  };
}

/** All data of the stores. */
export type Tables = ReturnType<typeof emptyTables>;

function forked(tables: Tables): Tables {
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.fork()])) as unknown as Tables;
}

/** Key of a row in `users`, `months` or `days`. `rest` is the user id, the month or the day. */
export function keyOf(projectId: ProjectId, rest: string | number): string {
  return `${projectId} ${rest}`;
}

/** Makes a deep copy of a value through JSON, so that later changes of the original do not change what is stored. */
export function jsonCopy<T extends Json | readonly Json[] | object>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** What the stores need besides the tables: clock, callbacks, and state that is outside of transactions. */
export interface Surroundings {
  readonly clock: Clock;
  readonly newWebhookSecret: (random: (count: number) => Uint8Array) => string;
  /** Makes the `data` of a memory's events. Without this function, no events are recorded. */
  readonly describe?: (memory: Memory) => JsonObject;
  /** Called after each commit that added deliveries of memory events. */
  readonly onDeliveries?: () => void;
  /**
   * Time of the last use of each key, in Unix milliseconds, since the last `flush`, which moves the times to the rows.
   * It is not part of any transaction.
   */
  readonly lastUses: Map<KeyId, number>;
  /** Makes random bytes for ids and secrets. Default: `crypto`. */
  readonly random?: (count: number) => Uint8Array;
}

/** A store whose methods answer at once; `asynchronous` (stores.ts) makes it one of the port. */
export type Synchronous<Store> = {
  readonly [Name in keyof Store]: Store[Name] extends (...parameters: infer Parameters) => Promise<infer Result>
    ? (...parameters: Parameters) => Result
    : Store[Name];
};

/** The tables that one transaction or one read works on, and the effects to run after the commit. */
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

  /**
   * Whether a call wrote something. Do not use it after `attempt`, which forks the tables again and so loses the
   * information.
   */
  get isChanged(): boolean {
    return Object.values(this.tables).some((table) => table.isChanged);
  }

  /**
   * Runs one call of a store. If the call throws, only its own changes and effects are undone; the session can be used
   * further.
   */
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

  /** Reserves `count` numbers of a sequence, which begins at 1, and returns the first of them. */
  next(sequence: string, count = 1n): bigint {
    const next = this.tables.counters.get(sequence)?.next ?? 1n;
    this.tables.counters.set(sequence, { next: next + count });
    return next;
  }

  random(count: number): Uint8Array {
    return this.surroundings.random?.(count) ?? crypto.getRandomValues(new Uint8Array(count));
  }

  newId(prefix: IdPrefix): string {
    return `${prefix}_${timeOrderedId(this.now, this.random(10))}`;
  }
}
