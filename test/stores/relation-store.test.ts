// What RelationStore (`src/ports/relation-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS, type Superseding } from "../../src/domain/project.ts";
import { FOUND_RELATIONS_MAX, type FoundRelation, RELATION_TYPES, REVERSED } from "../../src/domain/relation.ts";
import type { RelationJob } from "../../src/ports/relation-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { EXTRACTED, memoryActions } from "../contract/memory-actions.ts";
import { addTwoProjects, EventReader, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const LEASE_MS = 30_000;
const EVIDENCE = { own: { start: 0, end: 9, text: "It is now" }, other: { start: 2, end: 8, text: "It was" } };

onEachDatabase("RelationStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let project: ProjectId;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    [project] = await addTwoProjects(stores);
  });
  afterEach(() => stores.close());

  const { accept, claim, reread } = memoryActions(() => ({ stores, project }));

  /** Stores a memory and completes it. Each is a millisecond newer than the one before. */
  const stored = async (draft: Partial<MemoryDraft> = {}, chunkCount = 1): Promise<Memory> => {
    clock.advance(1);
    const { memory } = await accept(draft);
    return completing(memory, chunkCount);
  };
  const completing = async (memory: Memory, chunkCount = 1): Promise<Memory> => {
    const job = (await claim()).find((each) => each.memory.key === memory.key);
    if (job === undefined) throw new Error("the job was not claimed");
    await stores.jobs.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount }]);
    return reread(memory);
  };
  const claimed = async (memory: Memory): Promise<RelationJob> => {
    const jobs = await stores.relations.claim({ limit: 100, leaseMs: LEASE_MS, skipsBacklog: false });
    for (const job of jobs) if (job.memory.key !== memory.key) await stores.relations.retryLater(job, 0);
    const own = jobs.find((job) => job.memory.key === memory.key);
    if (own === undefined) throw new Error("no job of the memory");
    return own;
  };
  const relation = (newer: Memory, older: Memory, more: Partial<FoundRelation> = {}): FoundRelation => ({
    ...{ kind: "supersedes", key: newer.key, otherKey: older.key, by: "rule", confidence: 0.97, evidence: EVIDENCE },
    ...{ versions: { own: newer.version, other: older.version }, ownPassage: 0, otherPassage: 0 },
    ...more,
  });
  const finds = async (newer: Memory, older: Memory, more: Partial<FoundRelation> = {}) =>
    stores.relations.finish([{ job: await claimed(newer), found: [relation(newer, older, more)] }]);
  const seen = async (memory: Memory) => (await reread(memory)).supersededBy;
  const typesOf = async (memory: Memory) => (await stores.relations.of(project, memory.key)).map(({ type }) => type);
  const setSuperseding = async (superseding: Superseding) =>
    await stores.accounts.changeProject(project, { settings: { ...DEFAULT_SETTINGS, superseding } });

  describe("relations that were found", () => {
    test("are shown from both sides, newest first, and mark the older memory", async () => {
      const [older, newer] = [await stored(), await stored()];
      await finds(newer, older);
      clock.advance(1);
      const third = await stored();
      await finds(third, newer, { kind: "refines" });
      expect(await stores.relations.of(project, newer.key)).toEqual([
        {
          ...{ type: "refined_by", memoryId: third.id, state: "active", by: "rule", confidence: 0.97 },
          ...{ evidence: { own: EVIDENCE.other, other: EVIDENCE.own }, createdAt: clock.now() },
        },
        {
          ...{ type: "supersedes", memoryId: older.id, state: "active", by: "rule", confidence: 0.97 },
          ...{ evidence: EVIDENCE, createdAt: clock.now() - 2 },
        },
      ]);
      expect([await seen(older), await seen(newer), await seen(third)]).toEqual([newer.id, null, null]);
    });

    test("form chains: each memory names the end of its chain, and the one before it when the end is deleted", async () => {
      const [first, second, third] = [await stored(), await stored(), await stored()];
      await finds(second, first);
      await finds(third, second);
      expect([await seen(first), await seen(second)]).toEqual([third.id, third.id]);
      await stores.memories.remove(project, third.id);
      expect([await seen(first), await seen(second)]).toEqual([second.id, null]);
      expect(await typesOf(second)).toEqual(["supersedes"]);
    });

    test("concern one passage of a memory with several", async () => {
      const [talk, newer] = [await stored({}, 5), await stored()];
      await finds(newer, talk, { otherPassage: 3 });
      expect(await seen(talk)).toBeNull();
      expect((await reread(talk)).supersededPassages).toEqual({ "3": newer.id });
      await stores.memories.remove(project, newer.id);
      expect((await reread(talk)).supersededPassages).toBeNull();
    });

    test("are removed when a memory is deleted, expires, or gets a new content, time, user or agent", async () => {
      const changes: readonly ((memory: Memory) => unknown)[] = [
        ({ id }) => stores.memories.remove(project, id),
        ({ key }) => stores.memories.removeMany(project, [key]),
        ({ id }) => stores.memories.change(project, id, { content: "another text" }),
        ({ id }) => stores.memories.change(project, id, { occurredAt: 7 }),
        ({ id }) => stores.memories.change(project, id, { userId: "eve" }),
        ({ id }) => stores.memories.change(project, id, { agentId: "smith" }),
      ];
      for (const change of changes) {
        for (const changesNewer of [true, false]) {
          const [older, newer] = [await stored(), await stored()];
          await finds(newer, older);
          await change(changesNewer ? newer : older);
          expect(await stores.relations.of(project, older.key)).toEqual([]);
          expect(await stores.relations.of(project, newer.key)).toEqual([]);
          if (changesNewer) expect(await seen(older)).toBeNull();
        }
      }
      const older = await stored();
      const newer = await stored({ expiresAt: clock.now() + 10 });
      await finds(newer, older);
      expect(await seen(older)).toBe(newer.id);
      clock.advance(20);
      expect(await stores.relations.of(project, older.key)).toEqual([]);
      await stores.retirement.retired(10);
      expect(await seen(older)).toBeNull();
    });

    test("are at most 20 per memory", async () => {
      const older = await Promise.all(Array.from({ length: FOUND_RELATIONS_MAX + 1 }, () => accept()));
      const memories: Memory[] = [];
      for (const { memory } of older) memories.push(await reread(memory));
      const jobs = await claim();
      for (const job of jobs)
        await stores.jobs.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 }]);
      const newer = await stored();
      const found = memories.map((memory) => relation(newer, memory));
      await stores.relations.finish([{ job: await claimed(newer), found }]);
      expect(await stores.relations.of(project, newer.key)).toHaveLength(FOUND_RELATIONS_MAX);
    });

    test("have no effect as suggestions, nor while the project's setting is off", async () => {
      const [older, newer, third] = [await stored(), await stored(), await stored()];
      await setSuperseding("suggest");
      await finds(newer, older);
      expect(await stores.relations.of(project, older.key)).toMatchObject([{ state: "suggested" }]);
      expect(await seen(older)).toBeNull();
      await setSuperseding("on");
      await finds(third, older);
      expect(await seen(older)).toBe(third.id);
      await setSuperseding("off");
      expect(await seen(older)).toBeNull();
      expect(await typesOf(older)).toHaveLength(2);
      await stores.relations.set(project, newer.key, older.key, "supersedes");
      expect(await seen(older)).toBe(newer.id);
      await setSuperseding("on");
      expect(await seen(older)).toBe(third.id);
    });

    test("count up to a time, if it is asked for", async () => {
      const [older, newer, third] = [await stored(), await stored(), await stored()];
      await finds(newer, older);
      await finds(third, newer);
      const at = async (asOf: number) =>
        (await stores.relations.supersededAt(project, [older.key], { asOf })).get(older.key)?.supersededBy;
      expect([await at(third.createdAt), await at(newer.createdAt), await at(newer.createdAt - 1)]).toEqual([
        third.id,
        newer.id,
        null,
      ]);
    });
  });

  describe("what a person says", () => {
    test("replaces what stood between the two, in any direction, and is not found again", async () => {
      const [older, newer] = [await stored(), await stored()];
      await finds(newer, older);
      for (const type of [...RELATION_TYPES, ...RELATION_TYPES.toReversed()]) {
        expect(await stores.relations.set(project, older.key, newer.key, type)).toBe(true);
        expect(await typesOf(older)).toEqual([type]);
        expect(await typesOf(newer)).toEqual([REVERSED[type]]);
        expect(await seen(newer)).toBe(type === "supersedes" ? older.id : null);
        expect(await seen(older)).toBe(type === "superseded_by" ? newer.id : null);
      }
      expect(await stores.relations.of(project, older.key)).toMatchObject([
        { by: "person", state: "active", confidence: null, evidence: null },
      ]);
      expect(await stores.relations.set(project, older.key, newer.key, "none")).toBe(true);
      expect(await typesOf(older)).toEqual([]);
      expect(await stores.relations.forget(project, newer.key, older.key)).toBe(true);
      expect(await stores.relations.forget(project, newer.key, older.key)).toBe(false);
      await stores.relations.set(project, newer.key, older.key, "none");
      await finds(newer, older);
      expect(await typesOf(older)).toEqual([]);
      await stores.relations.forget(project, newer.key, older.key);
      await finds(newer, older);
      expect(await typesOf(older)).toEqual(["superseded_by"]);
    });

    test("concerns all passages, and stays with a new content", async () => {
      const [talk, newer] = [await stored({}, 3), await stored()];
      await stores.relations.set(project, newer.key, talk.key, "supersedes");
      expect((await reread(talk)).supersededPassages).toEqual({ all: newer.id });
      await stores.memories.change(project, talk.id, { content: "another text" });
      const short = await completing(talk);
      expect(short).toMatchObject({ supersededBy: newer.id, supersededPassages: null });
    });

    test("closes no circle of any length", async () => {
      const [first, second, third] = [await stored(), await stored(), await stored()];
      const set = (own: Memory, other: Memory) => stores.relations.set(project, own.key, other.key, "supersedes");
      expect([await set(second, first), await set(third, second)]).toEqual([true, true]);
      await expect(
        stores.transactions.run(async (tx) => {
          if (!(await tx.relations.set(project, first.key, third.key, "supersedes"))) throw new Error("a circle");
        }),
      ).rejects.toThrow("a circle");
      expect(await typesOf(third)).toEqual(["supersedes"]);
    });
  });

  describe("jobs", () => {
    const claim = (skipsBacklog = false) => stores.relations.claim({ limit: 100, leaseMs: LEASE_MS, skipsBacklog });

    test("exist for completed memories, are claimed once, and again when the lease has run out", async () => {
      await accept();
      const memory = await stored();
      expect(await stores.relations.waiting()).toBe(1);
      const [job] = await claim();
      expect(job).toMatchObject({ projectId: project, memory: { id: memory.id }, superseding: "on", isBacklog: false });
      expect(await claim()).toEqual([]);
      clock.advance(LEASE_MS);
      const [again] = await claim();
      if (job === undefined || again === undefined) throw new Error("no job was claimed");
      await stores.relations.finish([{ job, found: [] }]);
      expect(await stores.relations.waiting()).toBe(1);
      await stores.relations.finish([{ job: again, found: [] }]);
      expect(await stores.relations.waiting()).toBe(0);
    });

    test("can be claimed at once after a restart of their node", async () => {
      await stored();
      expect(await claim()).toHaveLength(1);
      await stores.relations.voidLeases();
      expect(await claim()).toHaveLength(1);
    });

    test("store nothing about memories that have changed since, or belong to others", async () => {
      const [older, newer, others] = [await stored(), await stored(), await stored({ userId: "eve" })];
      const before = await claimed(newer);
      await stores.memories.change(project, older.id, { content: "another text" });
      await stores.relations.finish([{ job: before, found: [relation(newer, older), relation(newer, others)] }]);
      expect(await typesOf(newer)).toEqual([]);
    });

    test("come after those of new memories if they are indexed again, and tell nobody", async () => {
      const events = await EventReader.subscribe(stores, [project]);
      const [older, newer] = [await stored(), await stored()];
      await stores.relations.finish((await claim()).map((job) => ({ job, found: [] })));
      await stores.jobs.reopen([newer.key]);
      const again = await completing(newer);
      const third = await stored();
      expect((await claim(true)).map(({ memory }) => memory.id)).toEqual([third.id]);
      const [backlog] = await claim();
      if (backlog === undefined) throw new Error("no job of the backlog");
      expect(backlog).toMatchObject({ memory: { id: newer.id }, isBacklog: true });
      await events.read();
      await stores.relations.finish([{ job: backlog, found: [relation(again, older)] }]);
      expect(await seen(older)).toBe(newer.id);
      expect(await events.read()).toEqual([]);
    });

    test("tell webhooks each time a memory becomes superseded", async () => {
      const events = await EventReader.subscribe(stores, [project]);
      const [older, newer] = [await stored(), await stored()];
      await events.read();
      await finds(newer, older);
      expect(await events.read()).toMatchObject([
        { event: "memory.superseded", memory: { id: older.id, supersededBy: newer.id } },
      ]);
      const third = await stored();
      await events.read();
      await finds(third, newer);
      expect((await events.read()).map(({ memory }) => memory.id)).toEqual([newer.id]);
    });
  });
});
