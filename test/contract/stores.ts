// Helpers of the contracts of all store ports. They open empty stores, read events of memories as webhooks receive
// them, and catch errors of calls. Each implementation has a function of type OpenStores that opens it.

import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import type { MemoryKey, ProjectId, UserKey } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS, type Plan } from "../../src/domain/project.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../../src/domain/webhook.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { Stores, Transactions } from "../../src/ports/transactions.ts";

/** Options for opening stores. */
export interface StoreSurroundings {
  readonly clock: Clock;
  /** Makes the `data` of a memory's events. */
  readonly describe: (memory: Memory) => JsonObject;
  /** Called after each commit that added deliveries of memory events. */
  readonly onDeliveries?: () => void;
  readonly onEffectFailure?: (error: unknown) => void;
}

/** Kinds of rows that tests count to see whether they were erased. No port has a method for that. */
export type Stored = "messages" | "sources" | "answers" | "subjects";

/** Empty stores with their transactions. */
export interface TransactionalStores extends Stores {
  readonly transactions: Transactions;
  close(): Eventually<void>;
}

/** Empty stores, with methods for tests that no port has. */
export interface OpenedStores extends TransactionalStores {
  /** Adds bytes to those that count towards the storage quota of a project, without storing anything. */
  occupy(projectId: ProjectId, bytes: number): Eventually<void>;
  /** Number of rows of this kind in all projects. */
  stored(what: Stored): Eventually<number>;
}

/** Opens empty stores. */
export type OpenStores = (surroundings: StoreSurroundings) => Eventually<OpenedStores>;

/** Opens empty stores. Their events contain the whole memory, as `EventReader` expects. */
export function openEmpty(open: OpenStores, clock: Clock): Eventually<OpenedStores> {
  return open({ clock, describe: describeWhole });
}

/** The page of `MemoryStore.visible` that has all memories of a test. */
export const ALL_VISIBLE = { afterKey: null, limit: 100_000 } as const;

/** Adds a project to the stores. */
export async function addProject({ accounts }: Stores, plan: Plan = "enterprise"): Promise<ProjectId> {
  return (await accounts.createProject({ name: "some project", plan, settings: DEFAULT_SETTINGS })).id;
}

/** Adds two projects to the stores. */
export async function addTwoProjects(stores: Stores): Promise<readonly [ProjectId, ProjectId]> {
  return [await addProject(stores), await addProject(stores)];
}

/** An event of a memory, as a webhook receives it. */
export interface MemoryEvent {
  readonly projectId: ProjectId;
  readonly event: WebhookEvent;
  readonly memory: Memory;
}

/** Reads the events of memories through one webhook per project. */
export class EventReader {
  readonly #stores: TransactionalStores;

  private constructor(stores: TransactionalStores) {
    this.#stores = stores;
  }

  /** Subscribes to all events of these projects. */
  static async subscribe(stores: TransactionalStores, projects: readonly ProjectId[]): Promise<EventReader> {
    const events = WEBHOOK_EVENTS.filter((event) => event !== "webhook.test");
    for (const projectId of projects) {
      await stores.webhooks.create(projectId, { url: urlOf(projectId), events, description: null, isEnabled: true });
    }
    return new EventReader(stores);
  }

  /** The events since the last call. Those of one project are in the order in which they were recorded. */
  read(): Promise<readonly MemoryEvent[]> {
    return this.#stores.transactions.run(async ({ webhooks }) => {
      const events: MemoryEvent[] = [];
      for (;;) {
        const due = await webhooks.due(100, new Set());
        if (due.length === 0) return events;
        for (const { id, url, body } of due) {
          const { type, data } = JSON.parse(body) as { readonly type: WebhookEvent; readonly data: JsonObject };
          events.push({ projectId: url.slice(urlOf("").length) as ProjectId, event: type, memory: memoryOf(data) });
          const attempt = { at: 0, statusCode: 200, error: null, ms: 1 };
          await webhooks.record(id, { attempt, next: "delivered", disables: false });
        }
      }
    });
  }
}

function urlOf(projectId: ProjectId | ""): string {
  return `https://hooks.example.com/${projectId}`;
}

function describeWhole(memory: Memory): JsonObject {
  return {
    ...memory,
    key: `${memory.key}`,
    userKey: memory.userKey === null ? null : `${memory.userKey}`,
  } as JsonObject;
}

function memoryOf(described: JsonObject): Memory {
  const { key, userKey, ...rest } = described;
  return {
    ...(rest as unknown as Omit<Memory, "key" | "userKey">),
    key: BigInt(`${key}`) as MemoryKey,
    userKey: userKey === null ? null : (BigInt(`${userKey}`) as UserKey),
  };
}

/** Like `map`, but asynchronous. Each call of `work` begins after the previous one has ended. */
export async function inTurn<Item, Result>(
  items: Iterable<Item>,
  work: (item: Item, index: number) => Eventually<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item, results.length));
  return results;
}

/** Calls `work` `count` times, one call after the other. */
export function times<Result>(count: number, work: (index: number) => Eventually<Result>): Promise<Result[]> {
  return inTurn(Array(count).keys(), work);
}

/** The Fault that a call throws or rejects with. */
export async function faultOf(call: () => unknown): Promise<Fault> {
  const error = await errorOf(call);
  if (error instanceof Fault) return error;
  throw error;
}

/** The code of the Fault that a call throws or rejects with. */
export async function codeOf(call: () => unknown): Promise<FaultCode> {
  return (await faultOf(call)).code;
}

/** The message of the error that a call throws or rejects with. */
export async function messageOf(call: () => unknown): Promise<string> {
  const error = await errorOf(call);
  return error instanceof Error ? error.message : `${error}`;
}

/** The error that a call throws or rejects with. */
export async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error("the call was not refused");
}
