// Performs random operations on a MemoryStore and on the oracle, and compares both after every step. This part of the
// contract finds cases that nobody thought of; memory-store.ts tests the requirements one by one.

import { expect } from "bun:test";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Extracted, Memory, MemoryChange, MemoryDraft } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS, PLANS } from "../../src/domain/project.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { Accepted } from "../../src/ports/memory-store.ts";
import type { ManualClock } from "./manual-clock.ts";
import { MemoryOracle, type OracleFilter, type OracleMemory, type OracleOutcome } from "./memory-oracle.ts";
import { ALL_VISIBLE, type EventReader, type OpenedStores } from "./stores.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const EXTRACTED: Extracted = { title: "Extracted", type: "note", tags: ["found"], language: "en" };
/** Retention of the two projects, in days. */
const RETENTION_DAYS = [30, 0] as const;
/** Bytes of storage that the second project has left in its plan, `free`. */
const BYTES_LEFT = 60;

/** Random operations on a store with two projects: one without quotas, one with little space left. */
export class RandomWalk {
  readonly #oracle: MemoryOracle;
  #jobs: { readonly job: Job; readonly memory: OracleMemory }[] = [];

  private constructor(
    private readonly stores: OpenedStores,
    private readonly projects: readonly [ProjectId, ProjectId],
    private readonly events: EventReader,
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {
    const { documents, storageBytes } = PLANS.free;
    this.#oracle = new MemoryOracle([
      { documents: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY, bytesOccupied: 0 },
      { documents, bytes: storageBytes, bytesOccupied: storageBytes - BYTES_LEFT },
    ]);
  }

  /** Sets the plans and retentions of two empty projects. */
  static async begin(
    stores: OpenedStores,
    projects: readonly [ProjectId, ProjectId],
    events: EventReader,
    clock: ManualClock,
    random: () => number,
  ): Promise<RandomWalk> {
    const [first, second] = projects;
    const settingsOf = (project: 0 | 1) => ({ ...DEFAULT_SETTINGS, retention_days: RETENTION_DAYS[project] });
    await stores.accounts.changeProject(first, { settings: settingsOf(0) });
    await stores.accounts.changeProject(second, { plan: "free", settings: settingsOf(1) });
    await stores.occupy(second, PLANS.free.storageBytes - BYTES_LEFT);
    return new RandomWalk(stores, projects, events, clock, random);
  }

  /** Performs `steps` random operations. Throws after the first one that store and oracle answer differently. */
  async run(steps: number): Promise<void> {
    const operations: readonly (() => unknown)[] = [
      () => this.#accept(),
      () => this.#accept(),
      () => this.#change(),
      () => this.#change(),
      () => this.#retry(),
      () => this.#claim(),
      () => this.#finish(),
      () => this.#finish(),
      () => this.#remove(),
      () => this.#removeAllOf(),
      () => this.clock.advance(this.#integer(2_000)),
      () => this.clock.advance(this.random() < 0.1 ? 20 * DAY_MS : 1),
      () => this.#retire(),
      () => this.#reopen(),
    ];
    for (let step = 0; step < steps; step++) {
      await operations[this.#integer(operations.length)]?.();
      await this.#compare();
    }
  }

  #integer(below: number): number {
    return Math.floor(this.random() * below);
  }

  #maybe<T extends object>(value: T): T | Record<string, never> {
    return this.random() < 0.4 ? value : {};
  }

  #anyMemory(): OracleMemory | undefined {
    return this.#oracle.memories[this.#integer(this.#oracle.memories.length)];
  }

  #projectOf(memory: OracleMemory): ProjectId {
    return this.projects[memory.project as 0 | 1];
  }

  async #accept(): Promise<void> {
    const project = this.#integer(2) as 0 | 1;
    const now = this.clock.now();
    const drafts: MemoryDraft[] = Array.from({ length: 1 + this.#integer(3) }, () => ({
      content: "text".repeat(1 + this.#integer(3)),
      ...this.#maybe({ externalId: `e${this.#integer(4)}` }),
      ...this.#maybe({ userId: `u${this.#integer(2)}` }),
      ...this.#maybe({ title: `Ärger ${this.#integer(9)}` }),
      ...this.#maybe({ type: `k${this.#integer(2)}` }),
      ...this.#maybe({ tags: [`g${this.#integer(3)}`, `g${this.#integer(3)}`] }),
      ...(this.random() < 0.2 && { expiresAt: now + 1 + this.#integer(5_000) }),
      ...this.#maybe(asGiven(this.#integer(9))),
      ...this.#maybe({ agentId: `a${this.#integer(2)}` }),
      ...this.#maybe({ sessionId: `s${this.#integer(2)}` }),
    }));
    const accepted = await this.stores.memories.accept(this.projects[project], drafts);
    expect(accepted).toHaveLength(drafts.length);
    for (const [index, draft] of drafts.entries()) {
      const result = accepted[index];
      const created = result instanceof Fault || result === undefined ? null : result.memory;
      expect(shown(result)).toEqual(shown(this.#oracle.accept(project, draft, now, created)));
    }
  }

  async #change(): Promise<void> {
    const memory = this.#anyMemory();
    if (memory === undefined) return;
    const now = this.clock.now();
    const orNull = <T>(value: T): T | null => (this.random() < 0.3 ? null : value);
    const change: MemoryChange = {
      ...this.#maybe({ content: "text".repeat(1 + this.#integer(5)) }),
      ...this.#maybe({ externalId: orNull(`e${this.#integer(4)}`) }),
      ...this.#maybe({ userId: orNull(`u${this.#integer(2)}`) }),
      ...this.#maybe({ title: orNull(`Übel ${this.#integer(9)}`) }),
      ...this.#maybe({ type: orNull(`k${this.#integer(2)}`) }),
      ...this.#maybe({ tags: orNull([`g${this.#integer(3)}`]) }),
      ...(this.random() < 0.2 && { expiresAt: orNull(now + 1 + this.#integer(5_000)) }),
      ...this.#maybe(asGiven(orNull(this.#integer(9)))),
      ...this.#maybe({ agentId: orNull(`a${this.#integer(2)}`) }),
      ...this.#maybe({ sessionId: orNull(`s${this.#integer(2)}`) }),
    };
    const expected = this.#oracle.change(memory, change, now);
    expect(
      shown(await attempt(async () => await this.stores.memories.change(this.#projectOf(memory), memory.id, change))),
    ).toEqual(shown(expected));
  }

  async #retry(): Promise<void> {
    const memory = this.#anyMemory();
    if (memory === undefined) return;
    const isLive = this.#oracle.isLive(memory, this.clock.now());
    const refusal = this.#oracle.retry(memory, this.clock.now());
    const retried = await attempt(async () => await this.stores.memories.retry(this.#projectOf(memory), memory.id));
    if (refusal !== null) expect(retried).toMatchObject({ code: refusal });
    else if (isLive) expect(retried).toMatchObject({ key: memory.key, version: memory.version });
    else expect(retried).toBeNull();
  }

  async #claim(): Promise<void> {
    const [jobs, contentBytes, leaseMs] = [1 + this.#integer(4), 1 + this.#integer(30), 1 + this.#integer(3_000)];
    const claimed = await this.stores.jobs.claim({ jobs, contentBytes, leaseMs });
    const expected = this.#oracle.claim(jobs, contentBytes, leaseMs, this.clock.now());
    expect(claimed.map((job) => [job.memory.key, job.attempt, job.content])).toEqual(
      expected.map((memory) => [memory.key, memory.attempts, memory.isContentWaiting ? memory.content : null]),
    );
    for (const [index, memory] of expected.entries()) {
      const job = claimed[index];
      if (job === undefined) continue;
      memory.lease = job.lease;
      this.#jobs.push({ job, memory });
    }
  }

  // Tries to finish one of the six jobs that were claimed last, so that many attempts come from a worker that has lost
  // its job.
  async #finish(): Promise<void> {
    const now = this.clock.now();
    const chosen = this.#jobs[this.#jobs.length - 1 - this.#integer(Math.min(6, this.#jobs.length))];
    if (chosen === undefined) return;
    const { job, memory } = chosen;
    const isHeld = this.#oracle.isHeld(memory, job.lease, job.memory.version, now);
    switch (this.#integer(4)) {
      case 0:
        expect(await this.stores.jobs.fail(job, "processing_error", "x")).toBe(isHeld);
        if (isHeld) this.#oracle.fail(memory);
        break;
      case 1:
        await this.stores.jobs.retryLater(job, 500);
        if (isHeld) Object.assign(memory, { claimableAt: now + 500, lease: null });
        break;
      case 2:
        expect(await this.stores.jobs.renew([job], 700)).toHaveLength(isHeld ? 1 : 0);
        if (isHeld) memory.claimableAt = now + 700;
        break;
      default:
        expect(
          await this.stores.jobs.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 }]),
        ).toHaveLength(isHeld ? 1 : 0);
        if (isHeld) this.#oracle.complete(memory, EXTRACTED);
    }
  }

  async #remove(): Promise<void> {
    const memory = this.#anyMemory();
    if (memory === undefined || this.random() < 0.5) return;
    const purges = this.random() < 0.3;
    const isLive = this.#oracle.isLive(memory, this.clock.now());
    expect((await this.stores.memories.remove(this.#projectOf(memory), memory.id, { purges })) !== null).toBe(isLive);
    if (isLive) this.#oracle.remove(memory, this.clock.now(), purges);
  }

  async #removeAllOf(): Promise<void> {
    if (this.random() < 0.7) return;
    const [project, userId] = [this.#integer(2) as 0 | 1, `u${this.#integer(3)}`];
    const expected = this.#oracle.removeAllOf(project, userId, this.clock.now());
    expect(await this.stores.memories.removeAllOf(this.projects[project], userId)).toEqual(
      expected.map(({ key }) => key),
    );
  }

  async #retire(): Promise<void> {
    const now = this.clock.now();
    const expected = this.#oracle.retired(now);
    const retired = await this.stores.retirement.retired(10_000);
    expect(retired.map(({ memoryKey }) => memoryKey).sort()).toEqual(expected.map(({ key }) => key).sort());
    const gone = expected.filter(() => this.random() < 0.5);
    await this.stores.retirement.markRetracted(gone.map(({ key }) => key));
    for (const memory of gone) memory.isRetracted = true;
    const purgeable = this.#oracle.memories.filter(
      ({ isRetracted, isPurgeAsked, deletedAt, project }) =>
        isRetracted &&
        deletedAt !== null &&
        (isPurgeAsked || deletedAt < now - (RETENTION_DAYS[project] ?? 0) * DAY_MS),
    );
    expect([...(await this.stores.retirement.purgeable(10_000))].sort()).toEqual(
      purgeable.map(({ key }) => key).sort(),
    );
    await this.#compareEvents(); // erasing leaves only their ids
    await this.stores.retirement.erase(purgeable.map(({ key }) => key));
    this.#oracle.memories = this.#oracle.memories.filter((memory) => !purgeable.includes(memory));
  }

  async #reopen(): Promise<void> {
    const memory = this.#anyMemory();
    if (memory === undefined) return;
    await this.stores.jobs.reopen([memory.key]);
    if (memory.status !== "completed" || !this.#oracle.isLive(memory, this.clock.now())) return;
    const version = memory.version + 1;
    Object.assign(memory, { version, status: "processing", attempts: 0, claimableAt: this.clock.now() });
  }

  async #compare(): Promise<void> {
    const now = this.clock.now();
    for (const project of [0, 1] as const) await this.#compareProject(project, now);
    const live = [...this.#oracle.live(0, now), ...this.#oracle.live(1, now)];
    const count = (status: string) => live.filter((memory) => memory.status === status).length;
    expect(await this.stores.memories.counts()).toEqual({
      processing: count("processing"),
      completed: count("completed"),
      failed: count("failed"),
    });
    expect(await this.stores.jobs.nextJobInMs()).toBe(this.#oracle.nextJobInMs(now));
    await this.#compareEvents();
  }

  async #compareEvents(): Promise<void> {
    // sorted, because a store may record several expiries at once, in any order
    const reported = (await this.events.read()).map(({ event, memory }) => `${event} ${memory.key}`);
    expect(reported.sort()).toEqual(this.#oracle.events.map(({ event, key }) => `${event} ${key}`).sort());
    this.#oracle.events = [];
  }

  async #compareProject(project: 0 | 1, now: number): Promise<void> {
    const id = this.projects[project];
    const expected = this.#oracle.live(project, now);
    expect<object[]>((await this.#listAll(id, {})).map(comparable)).toEqual(
      expected.map((memory) => ({
        key: memory.key,
        version: memory.version,
        status: memory.status,
        ...memory.attributes,
        userId: memory.userId,
        externalId: memory.externalId,
        expiresAt: memory.expiresAt,
        occurredAt: memory.occurredAt,
        occurredAtGiven: memory.occurredAtGiven,
        agentId: memory.agentId,
        sessionId: memory.sessionId,
        given: [...memory.given].sort(),
      })),
    );
    const filter: OracleFilter = {
      ...this.#maybe({ status: (["processing", "completed", "failed"] as const)[this.#integer(3)] ?? "failed" }),
      ...this.#maybe({ type: `k${this.#integer(2)}` }),
      ...this.#maybe({ userId: `u${this.#integer(2)}` }),
      ...this.#maybe({ agentId: `a${this.#integer(2)}` }),
      ...this.#maybe({ sessionId: `s${this.#integer(2)}` }),
      ...this.#maybe({ tag: ["g0", "g1", "found"][this.#integer(3)] ?? "" }),
      ...this.#maybe({ q: ["ÄRGER", "übel", "r 1", "XTR"][this.#integer(4)] ?? "" }),
    };
    expect((await this.#listAll(id, filter)).map(({ key }) => key)).toEqual(
      this.#oracle.live(project, now, filter).map(({ key }) => key),
    );
    const completed = expected.filter(({ status }) => status === "completed").toReversed();
    expect((await this.stores.memories.visible(id, ALL_VISIBLE)).map(({ memoryKey }) => memoryKey).sort()).toEqual(
      completed.map(({ key }) => key).sort(),
    );
    const from = completed[this.#integer(completed.length + 1)]?.key ?? null;
    expect(
      (await this.stores.memories.visible(id, { afterKey: from, limit: 5 })).map(({ memoryKey }) => memoryKey),
    ).toEqual(
      completed
        .filter(({ key }) => from === null || key > from)
        .slice(0, 5)
        .map(({ key }) => key),
    );
  }

  async #listAll(project: ProjectId, filter: OracleFilter): Promise<Memory[]> {
    const items: Memory[] = [];
    let cursor: string | null = null;
    do {
      const limit = 1 + this.#integer(20);
      const page = await this.stores.memories.list(project, { ...filter, limit, ...(cursor !== null && { cursor }) });
      items.push(...page.items);
      cursor = page.cursor;
    } while (cursor !== null);
    return items;
  }
}

async function attempt<T>(call: () => Eventually<T>): Promise<T | Fault> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function shown(result: Accepted | OracleOutcome | Fault | FaultCode | null | undefined): object | string | null {
  if (result === null || result === undefined) return null;
  if (typeof result === "string") return result;
  if (result instanceof Fault) return result.code;
  return { key: result.memory.key, outcome: result.outcome };
}

// A time comes with the text that a caller gave for it.
function asGiven<Time extends number | null>(occurredAt: Time) {
  const occurredAtGiven = occurredAt === null ? null : `given ${occurredAt}`;
  return { occurredAt, occurredAtGiven: occurredAtGiven as Time extends number ? string : null };
}

function comparable(memory: Memory) {
  const { key, version, state, title, type, tags, language, userId, externalId, expiresAt, occurredAt, given } = memory;
  const { occurredAtGiven, agentId, sessionId } = memory;
  const { status } = state;
  return {
    ...{ key, version, status, title, type, tags, language, userId, externalId, expiresAt, occurredAt },
    ...{ occurredAtGiven, agentId, sessionId },
    given: [...given].sort(),
  };
}
