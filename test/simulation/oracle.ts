// The model that a simulated server is compared with: a plain list of memories with all their states, in the order of
// the commits. What requests change is applied at the moment of their commit. Statuses are copied from the rows,
// because the worker decides about them; the simulation checks what they promise.

import type { MemoryId, ProjectId } from "../../src/domain/ids.ts";
import type { MemoryStatus } from "../../src/domain/memory.ts";
import { PLANS, type Plan } from "../../src/domain/project.ts";
import type { StoredMemory } from "./disk.ts";

/** What requests determine of a memory. */
export interface Given {
  readonly content: string;
  /** Whether the content came as a file, so that it cannot be read before it is completed. */
  readonly isFile: boolean;
  readonly userId: string | null;
  readonly externalId: string | null;
  readonly tag: string | null;
  readonly expiresAt: number | null;
}

/** A state of a memory. It lasts until the next state begins. */
export interface State extends Given {
  /** Moment at which it began. */
  readonly from: number;
  readonly isDeleted: boolean;
  readonly status: MemoryStatus;
}

/** A memory with its states, oldest first. */
export interface KnownMemory {
  readonly id: MemoryId;
  readonly projectId: ProjectId;
  readonly states: State[];
  /** Requests in progress that may change the memory. */
  requests: number;
  /** Moment at which the last of them ended. */
  requestEnded: number;
}

/** A range of moments, both ends included, with the times of the simulated clock. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The model. */
export class Oracle {
  readonly memories = new Map<MemoryId, KnownMemory>();
  /** Even; grows with each commit and each end of a request. States begin at the odd moments between. */
  moment = 0;

  constructor(private readonly plans: ReadonlyMap<ProjectId, Plan>) {}

  get(id: MemoryId): KnownMemory | null {
    return this.memories.get(id) ?? null;
  }

  /** Adds a memory, or changes its state. */
  set(id: MemoryId, projectId: ProjectId, change: Partial<State>): void {
    const memory = this.memories.get(id) ?? { id, projectId, states: [], requests: 0, requestEnded: this.moment };
    this.memories.set(id, memory);
    const from = this.moment + 1;
    const state = { ...newest(memory), ...change, from };
    if (memory.states.at(-1)?.from === from) memory.states.pop();
    memory.states.push(state);
  }

  /** The memories of a project that are live at a time, oldest first. */
  live(projectId: ProjectId, nowMs: number): readonly KnownMemory[] {
    return [...this.memories.values()].filter(
      (memory) => memory.projectId === projectId && isLive(newest(memory), nowMs),
    );
  }

  /** The live memory with this pair of external id and user. */
  holder(projectId: ProjectId, userId: string | null, externalId: string | null, nowMs: number): KnownMemory | null {
    if (externalId === null) return null;
    const isHolder = (state: State) => state.externalId === externalId && state.userId === userId;
    return this.live(projectId, nowMs).find((memory) => isHolder(newest(memory))) ?? null;
  }

  /** Whether the plan of a project has room for another memory. */
  hasRoom(projectId: ProjectId, nowMs: number): boolean {
    const max = PLANS[this.plans.get(projectId) ?? "enterprise"].documents;
    return max === null || this.live(projectId, nowMs).length < max;
  }

  /** Marks memories whose attributes a request may change, until the returned function is called. */
  begin(memories: readonly KnownMemory[]): () => void {
    for (const memory of memories) memory.requests += 1;
    return () => {
      this.moment += 2;
      for (const memory of memories) {
        memory.requests -= 1;
        memory.requestEnded = this.moment;
      }
    };
  }

  /** Ends all requests, because their process ended. */
  forgetRequests(): void {
    this.moment += 2;
    for (const memory of this.memories.values()) {
      if (memory.requests > 0) memory.requestEnded = this.moment;
      memory.requests = 0;
    }
  }

  /**
   * Ends a commit: takes the statuses from the rows, and compares the rest.
   * @returns a sentence for each difference
   */
  compare(rows: readonly StoredMemory[], nowMs: number): readonly string[] {
    const problems: string[] = [];
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const row of rows) if (!this.memories.has(row.id)) problems.push(`${row.id} has a row, but nobody stored it`);
    for (const memory of this.memories.values()) {
      const row = byId.get(memory.id);
      const state = newest(memory);
      if (state.isDeleted) {
        if (row !== undefined && row.deletedAt === null) problems.push(`${memory.id} was deleted and is back`);
        continue;
      }
      const isExpired = !isLive(state, nowMs);
      if (row === undefined || row.deletedAt !== null) {
        if (!isExpired) problems.push(`${memory.id} was acknowledged and is lost`);
        continue;
      }
      if (row.userId !== state.userId) problems.push(`${memory.id} belongs to ${row.userId}, not to ${state.userId}`);
      if (row.expiresAt !== state.expiresAt) problems.push(`${memory.id} has another expiry than it was given`);
      if (row.externalId !== state.externalId) problems.push(`${memory.id} has another external id`);
      if (state.tag !== null && row.tags[0] !== state.tag) problems.push(`${memory.id} has another tag`);
      if (row.content !== null && row.file === null && row.content !== state.content) {
        problems.push(`${memory.id} has another content in its row`);
      }
      if (row.status !== state.status) this.set(memory.id, memory.projectId, { status: row.status });
    }
    this.moment += 2;
    return problems;
  }
}

const EMPTY: State = {
  content: "",
  isFile: false,
  userId: null,
  externalId: null,
  tag: null,
  expiresAt: null,
  from: 0,
  isDeleted: false,
  status: "processing",
};

/** The newest state. */
export function newest({ states }: KnownMemory): State {
  return states.at(-1) ?? EMPTY;
}

/** Whether reads at this time may show a memory in this state. */
export function isLive({ isDeleted, expiresAt }: State, nowMs: number): boolean {
  return !isDeleted && (expiresAt === null || expiresAt > nowMs);
}

/** The states that a memory had within a span. */
export function statesWithin({ states }: KnownMemory, { from, to }: Span): readonly State[] {
  return states.filter((state, at) => state.from <= to && (states[at + 1]?.from ?? Number.POSITIVE_INFINITY) > from);
}

/** The state that a memory had during a whole span, if no request changed it meanwhile; otherwise null. */
export function stateThroughout(memory: KnownMemory, span: Span): State | null {
  const [only, ...others] = statesWithin(memory, span);
  if (only === undefined || others.length > 0 || only.from > span.from) return null;
  if (memory.requests > 0 || memory.requestEnded > span.from) return null;
  // the last instant decides about expiry, the first about the rest
  return only.expiresAt !== null && only.expiresAt > span.fromMs && only.expiresAt <= span.toMs ? null : only;
}
