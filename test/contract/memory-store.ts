// What every MemoryStore owes (src/ports/memory-store.ts), as tests: each implementation passes them with its own `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Extracted, Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Job, MemoryListing, MemoryStore } from "../../src/ports/memory-store.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryOracle, type OracleMemory } from "./memory-oracle.ts";

/** An empty store with two projects. */
export interface OpenedMemoryStore {
  readonly store: MemoryStore;
  readonly projects: readonly [ProjectId, ProjectId];
  close(): void;
}

const EXTRACTED: Extracted = { title: "Extracted", type: "note", tags: ["found"], language: "en" };
const MINUTE_MS = 60_000;

/** Runs the contract against the stores that `open` makes. */
export function memoryStoreContract(name: string, open: (clock: Clock) => OpenedMemoryStore): void {
  describe(`${name} as MemoryStore`, () => {
    let clock: ManualClock;
    let opened: OpenedMemoryStore;
    let store: MemoryStore;
    let project: ProjectId;
    let other: ProjectId;

    beforeEach(() => {
      clock = new ManualClock();
      opened = open(clock);
      store = opened.store;
      [project, other] = opened.projects;
    });
    afterEach(() => opened.close());

    const accept = (draft: Partial<MemoryDraft> = {}, into = project) => {
      const [accepted] = store.accept(into, [{ content: "some text", ...draft }]);
      if (accepted === undefined) throw new Error("nothing was accepted");
      return accepted;
    };
    const claim = (jobs = 100) => store.claim({ jobs, contentBytes: 1e9, leaseMs: MINUTE_MS });
    const claimOne = (): Job => {
      const [job] = claim(1);
      if (job === undefined) throw new Error("no job was claimed");
      return job;
    };
    const complete = (job: Job) => store.complete([{ job, extracted: EXTRACTED, chunkCount: 3 }]);
    const completed = (draft: Partial<MemoryDraft> = {}): Memory => {
      const { memory } = accept(draft);
      const job = claim().find((candidate) => candidate.memory.key === memory.key);
      if (job === undefined) throw new Error("the new memory's job was not claimed");
      complete(job);
      return reread(memory);
    };
    const reread = (memory: Memory, from = project): Memory => {
      const found = store.get(from, memory.id);
      if (found === null) throw new Error(`${memory.id} is not there`);
      return found;
    };
    const keysOf = (listing: Partial<MemoryListing> = {}, of = project) =>
      store.list(of, { limit: 100, ...listing }).items.map((memory) => memory.key);

    describe("accept", () => {
      test("stores what was given, and says which attributes the caller gave", () => {
        const draft = {
          content: "grüße 😀",
          title: "T",
          type: "note",
          tags: ["a", "b"],
          metadata: { nested: { list: [1, null, "x"] } },
          userId: "u",
          language: "de",
          externalId: "e",
          expiresAt: clock.now() + 5,
        };
        const { memory, outcome } = accept(draft);
        expect(outcome).toBe("created");
        expect(memory).toEqual({
          key: memory.key,
          id: memory.id,
          version: 1,
          state: { status: "processing", attempts: 0 },
          title: "T",
          type: "note",
          tags: ["a", "b"],
          language: "de",
          metadata: { nested: { list: [1, null, "x"] } },
          userId: "u",
          userKey: store.userKey(project, "u"),
          externalId: "e",
          createdAt: clock.now(),
          updatedAt: clock.now(),
          expiresAt: clock.now() + 5,
          contentBytes: 12,
          given: ["title", "type", "tags", "language"],
        });
        expect(reread(memory)).toEqual(memory);
        expect(store.waitingContents([memory.key]).get(memory.key)).toBe("grüße 😀");
      });

      test("leaves null what was not given", () => {
        const { memory } = accept();
        const { title, type, tags, language, metadata, userId, userKey, externalId, expiresAt, given } = memory;
        expect([title, type, tags, language, metadata, userId, userKey, externalId, expiresAt]).toEqual(
          Array(9).fill(null),
        );
        expect(given).toEqual([]);
      });

      test("answers in the drafts' order, with ids and rising keys of their own", () => {
        const drafts = Array.from({ length: 20 }, (_, index) => ({ content: `text ${index}`, title: `${index}` }));
        const memories = store.accept(project, drafts).map(({ memory }) => memory);
        expect(memories.map(({ title }) => title)).toEqual(drafts.map(({ title }) => title));
        expect(new Set(memories.map(({ id }) => id)).size).toBe(20);
        expect(memories.every(({ key }, index) => index === 0 || key > (memories[index - 1]?.key ?? key))).toBe(true);
        expect(memories.every(({ id }) => /^mem_[0-9a-z]{26}$/.test(id))).toBe(true);
      });

      test("stores all drafts or none", () => {
        const broken: MemoryDraft = {
          get content(): string {
            throw new Error("this draft cannot be read");
          },
        };
        expect(() => store.accept(project, [{ content: "first", userId: "u" }, broken])).toThrow("cannot be read");
        expect(keysOf()).toEqual([]);
        expect(store.userKey(project, "u")).toBeNull();
        expect(store.nextJobInMs()).toBeNull();
      });

      test("refuses a project that does not exist", () => {
        expect(() => store.accept("prj_nowhere" as ProjectId, [{ content: "x" }])).toThrow("prj_nowhere");
      });

      test("makes a user known by naming it, with the same key ever after, in its project only", () => {
        expect(store.userKey(project, "u")).toBeNull();
        const first = accept({ userId: "u" }).memory.userKey;
        expect(first).not.toBeNull();
        expect(accept({ userId: "u" }).memory.userKey).toBe(first);
        expect(store.userKey(project, "u")).toBe(first);
        expect(store.userKey(other, "u")).toBeNull();
        expect(accept({ userId: "u" }, other).memory.userKey).not.toBe(first);
      });
    });

    describe("accept with a known externalId", () => {
      test("with the same content changes only what is given", () => {
        const before = completed({ externalId: "e", title: "old", metadata: { a: 1 }, expiresAt: clock.now() + 9e9 });
        clock.advance(1_000);
        const { memory, outcome } = accept({ externalId: "e", title: "new", tags: [] });
        expect(outcome).toBe("updated");
        expect(memory).toEqual({
          ...before,
          title: "new",
          tags: [],
          updatedAt: clock.now(),
          given: ["title", "tags"],
        });
        expect(store.nextJobInMs()).toBeNull();
        expect(keysOf()).toEqual([before.key]);
      });

      test("with other content is worked on again: given attributes stay, extracted ones are cleared", () => {
        const before = completed({ externalId: "e", title: "given", metadata: { a: 1 } });
        expect(before.type).toBe("note");
        clock.advance(1_000);
        const { memory, outcome } = accept({ externalId: "e", content: "other text", language: "fr" });
        expect(outcome).toBe("rewritten");
        expect(memory).toEqual({
          ...before,
          version: 2,
          state: { status: "processing", attempts: 0 },
          type: null,
          tags: null,
          language: "fr",
          updatedAt: clock.now(),
          contentBytes: 10,
          given: ["title", "language"],
        });
        expect(claimOne().content).toBe("other text");
      });

      test("with the same content while in work leaves the job to its holder, who respects what was given since", () => {
        accept({ externalId: "e" });
        const job = claimOne();
        expect(accept({ externalId: "e", title: "given meanwhile" }).outcome).toBe("updated");
        expect(complete(job)).toHaveLength(1);
        expect(reread(job.memory)).toMatchObject({ title: "given meanwhile", type: "note", version: 1 });
      });

      test("with other content while in work makes the job void", () => {
        accept({ externalId: "e" });
        const job = claimOne();
        expect(accept({ externalId: "e", content: "newer" }).outcome).toBe("rewritten");
        expect(store.renew([job], MINUTE_MS)).toEqual([]);
        store.retryLater(job, 9e9);
        expect(store.fail(job, "processing_error", "x")).toBe(false);
        expect(complete(job)).toEqual([]);
        expect(claimOne()).toMatchObject({ content: "newer", attempt: 1, memory: { version: 2 } });
      });

      test("tries a failed memory again, with the same content too", () => {
        accept({ externalId: "e" });
        store.fail(claimOne(), "processing_error", "no luck");
        const { memory, outcome } = accept({ externalId: "e" });
        expect(outcome).toBe("rewritten");
        expect(memory.state).toEqual({ status: "processing", attempts: 0 });
        expect(claimOne()).toMatchObject({ content: "some text", attempt: 1 });
      });

      test("can update a draft that came earlier in the same batch", () => {
        const results = store.accept(project, [
          { content: "a", externalId: "e", title: "first" },
          { content: "a", externalId: "e", type: "second" },
          { content: "b", externalId: "e" },
        ]);
        expect(results.map(({ outcome }) => outcome)).toEqual(["created", "updated", "rewritten"]);
        expect(new Set(results.map(({ memory }) => memory.key)).size).toBe(1);
        expect(claim().map(({ content, memory }) => [content, memory.title, memory.type])).toEqual([
          ["b", "first", "second"],
        ]);
      });

      test("tells users, no user and projects apart", () => {
        const keys = [
          accept({ externalId: "e" }),
          accept({ externalId: "e", userId: "u" }),
          accept({ externalId: "e", userId: "v" }),
          accept({ externalId: "e" }, other),
        ].map(({ memory, outcome }) => {
          expect(outcome).toBe("created");
          return memory.key;
        });
        expect(new Set(keys).size).toBe(4);
        expect(accept({ externalId: "e", userId: "u" }).memory.key).toBe(keys[1] as MemoryKey);
      });

      test("begins anew after the memory was deleted or expired", () => {
        const deleted = accept({ externalId: "e" }).memory;
        store.remove(project, deleted.id);
        const expiring = accept({ externalId: "e", expiresAt: clock.now() + 10 });
        expect(expiring.outcome).toBe("created");
        clock.advance(10);
        const anew = accept({ externalId: "e" });
        expect(anew.outcome).toBe("created");
        expect(keysOf()).toEqual([anew.memory.key]);
        expect(store.retired(10).map(({ memoryKey }) => memoryKey)).toEqual([deleted.key, expiring.memory.key]);
      });
    });

    describe("reads", () => {
      test("do not cross projects", () => {
        const { memory } = accept({ userId: "u" });
        expect(store.get(other, memory.id)).toBeNull();
        expect(store.getMany(other, [memory.key]).size).toBe(0);
        expect(keysOf({}, other)).toEqual([]);
        expect(keysOf({ userId: "u" }, other)).toEqual([]);
        expect(store.visible(other)).toEqual([]);
        expect(store.remove(other, memory.id)).toBeNull();
      });

      test("of unknown projects, ids and keys find nothing", () => {
        const nowhere = "prj_nowhere" as ProjectId;
        expect(store.get(nowhere, "mem_x" as MemoryId)).toBeNull();
        expect(store.get(project, "mem_x" as MemoryId)).toBeNull();
        expect(store.list(nowhere, { limit: 5 })).toEqual({ items: [], cursor: null });
        expect(store.getMany(project, [77n as MemoryKey]).size).toBe(0);
        expect(store.getMany(project, []).size).toBe(0);
        expect(store.userKey(nowhere, "u")).toBeNull();
      });

      test("take many thousand keys at once", () => {
        const { memory } = accept();
        const keys = Array.from({ length: 50_000 }, (_, index) => (memory.key + BigInt(index)) as MemoryKey);
        expect([...store.getMany(project, keys).keys()]).toEqual([memory.key]);
        expect([...store.waitingContents(keys).keys()]).toEqual([memory.key]);
      });

      test("are without a memory from the millisecond on in which it expires", () => {
        const memory = completed({ externalId: "e", expiresAt: clock.now() + 100 });
        clock.advance(99);
        expect(reread(memory)).toEqual(memory);
        expect(store.visible(project)).toHaveLength(1);
        clock.advance(1);
        expect(store.get(project, memory.id)).toBeNull();
        expect(store.getMany(project, [memory.key]).size).toBe(0);
        expect(keysOf()).toEqual([]);
        expect(store.visible(project)).toEqual([]);
        expect(store.counts()).toEqual({ processing: 0, completed: 0, failed: 0 });
        expect(store.remove(project, memory.id)).toBeNull();
      });
    });

    describe("list", () => {
      test("is newest first and filters by status, type and user, alone and together", () => {
        const a = completed({ type: "x", userId: "u" });
        const b = accept({ type: "x" }).memory;
        const c = accept({ type: "y", userId: "u" }).memory;
        expect(keysOf()).toEqual([c.key, b.key, a.key]);
        expect(keysOf({ type: "x" })).toEqual([b.key, a.key]);
        expect(keysOf({ userId: "u" })).toEqual([c.key, a.key]);
        expect(keysOf({ status: "completed" })).toEqual([a.key]);
        expect(keysOf({ status: "processing", type: "y", userId: "u" })).toEqual([c.key]);
        expect(keysOf({ status: "failed" })).toEqual([]);
        expect(keysOf({ userId: "nobody" })).toEqual([]);
      });

      test("gives a cursor exactly when more follows", () => {
        for (let index = 0; index < 4; index++) accept();
        const first = store.list(project, { limit: 2 });
        expect(first.cursor).not.toBeNull();
        const second = store.list(project, { limit: 2, cursor: first.cursor ?? "" });
        expect(second.items).toHaveLength(2);
        expect(second.cursor).toBeNull();
      });

      test("ends a page before its contents exceed the bytes asked for, but shows one memory at least", () => {
        for (const content of ["aaaa", "bb", "cccccccc"]) accept({ content });
        const sizes = (cursor?: string) => {
          const page = store.list(project, { limit: 3, contentBytesMax: 6, ...(cursor !== undefined && { cursor }) });
          return { bytes: page.items.map((memory) => memory.contentBytes), cursor: page.cursor };
        };
        const first = sizes();
        expect(first.bytes).toEqual([8]);
        expect(sizes(first.cursor ?? "")).toEqual({ bytes: [2, 4], cursor: null });
      });

      test("shows each memory once while others come and go between pages, whatever the pages' sizes", () => {
        const memories = Array.from({ length: 10 }, () => accept().memory);
        const first = store.list(project, { limit: 3 });
        for (const shown of first.items) store.remove(project, shown.id);
        accept();
        const unseen = memories[5];
        if (unseen !== undefined) store.remove(project, unseen.id);
        const rest = store.list(project, { limit: 50, cursor: first.cursor ?? "" });
        const seen = [...first.items, ...rest.items].map(({ key }) => key);
        expect(seen).toEqual(
          memories
            .map(({ key }) => key)
            .reverse()
            .filter((key) => key !== unseen?.key),
        );
      });

      test("refuses a cursor of another project, filter or making", () => {
        for (let index = 0; index < 3; index++) accept({ type: "x" });
        const cursor = store.list(project, { limit: 1 }).cursor ?? "";
        const attempts: [ProjectId, MemoryListing][] = [
          [other, { limit: 1, cursor }],
          [project, { limit: 1, cursor, type: "x" }],
          [project, { limit: 1, cursor, status: "processing" }],
          [project, { limit: 1, cursor, userId: "u" }],
          [project, { limit: 1, cursor: `${cursor}A` }],
          [project, { limit: 1, cursor: "" }],
        ];
        for (const [of, listing] of attempts) {
          expect(() => store.list(of, listing)).toThrow(Fault);
        }
      });
    });

    describe("remove", () => {
      test("takes a memory out of every read at once, and gives it back one last time", () => {
        const memory = completed({ userId: "u" });
        expect(store.remove(project, memory.id)).toEqual(memory);
        expect(store.remove(project, memory.id)).toBeNull();
        expect(store.get(project, memory.id)).toBeNull();
        expect(store.getMany(project, [memory.key]).size).toBe(0);
        expect(keysOf()).toEqual([]);
        expect(store.visible(project)).toEqual([]);
        expect(store.counts().completed).toBe(0);
      });

      test("makes the job void", () => {
        const { memory } = accept();
        const job = claimOne();
        store.remove(project, memory.id);
        expect(store.renew([job], MINUTE_MS)).toEqual([]);
        expect(complete(job)).toEqual([]);
        expect(store.fail(job, "processing_error", "x")).toBe(false);
        clock.advance(2 * MINUTE_MS);
        expect(claim()).toEqual([]);
        expect(store.nextJobInMs()).toBeNull();
        expect(store.waitingContents([memory.key]).size).toBe(0);
      });
    });

    describe("claim", () => {
      test("hands out the oldest first, each once, with content and a token of its own", () => {
        const memories = ["a", "b", "c"].map((content) => {
          clock.advance(1);
          return accept({ content }).memory;
        });
        const jobs = [...claim(2), ...claim(2)];
        expect(jobs.map((job) => job.memory.key)).toEqual(memories.map(({ key }) => key));
        expect(jobs.map(({ content }) => content)).toEqual(["a", "b", "c"]);
        expect(jobs.map(({ projectId, attempt }) => [projectId, attempt])).toEqual(Array(3).fill([project, 1]));
        expect(new Set(jobs.map(({ lease }) => lease)).size).toBe(3);
        expect(claim()).toEqual([]);
      });

      test("takes turns between projects, in one call and over many", () => {
        for (let index = 0; index < 10; index++) accept({ content: `backlog ${index}` });
        clock.advance(1);
        const late = [accept({}, other), accept({}, other), accept({}, other)].map(({ memory }) => memory.key);
        const together = claim(4);
        expect(together.filter(({ projectId }) => projectId === other)).toHaveLength(2);
        const singly = [claimOne(), claimOne()];
        expect(singly.map(({ projectId }) => projectId).sort()).toEqual([project, other].sort());
        const given = [...together, ...singly].filter(({ projectId }) => projectId === other);
        expect(given.map(({ memory }) => memory.key)).toEqual(late);
      });

      test("stays within the bytes asked for, but hands out one job at least", () => {
        for (const content of ["aaaa", "bbbb", "cc", "d"]) accept({ content });
        const take = (contentBytes: number) => store.claim({ jobs: 9, contentBytes, leaseMs: MINUTE_MS });
        expect(take(8).map(({ content }) => content)).toEqual(["aaaa", "bbbb"]);
        expect(take(1).map(({ content }) => content)).toEqual(["cc"]);
      });

      test("hands a job out again when its lease ended, and refuses the former holder", () => {
        const { memory } = accept();
        const former = claimOne();
        clock.advance(MINUTE_MS - 1);
        expect(claim()).toEqual([]);
        clock.advance(1);
        const later = claimOne();
        expect(later).toMatchObject({ attempt: 2, memory: { key: memory.key } });
        expect(later.lease).toBeGreaterThan(former.lease);
        expect(store.renew([former], MINUTE_MS)).toEqual([]);
        store.retryLater(former, 0);
        expect(store.fail(former, "processing_error", "x")).toBe(false);
        expect(complete(former)).toEqual([]);
        expect(claim()).toEqual([]);
        expect(complete(later)).toHaveLength(1);
      });

      test("passes over memories that expired", () => {
        accept({ expiresAt: clock.now() + 1 });
        clock.advance(1);
        expect(store.nextJobInMs()).toBeNull();
        expect(claim()).toEqual([]);
      });
    });

    describe("jobs", () => {
      test("are kept from others as long as they are renewed", () => {
        accept();
        const job = claimOne();
        for (let turn = 0; turn < 3; turn++) {
          clock.advance(MINUTE_MS - 1);
          expect(store.renew([job], MINUTE_MS)).toEqual([job]);
          expect(claim()).toEqual([]);
        }
      });

      test("are free again once all leases are void, but for those that wait for their next try", () => {
        accept();
        accept();
        const [held, putOff] = claim();
        if (held === undefined || putOff === undefined) throw new Error("two jobs were to be claimed");
        store.retryLater(putOff, MINUTE_MS);
        store.voidLeases();
        expect(claim().map((job) => job.memory.key)).toEqual([held.memory.key]);
        expect(complete(held)).toEqual([]);
      });

      test("can be finished after the lease's end while nobody else took them", () => {
        accept();
        const job = claimOne();
        clock.advance(2 * MINUTE_MS);
        expect(complete(job)).toHaveLength(1);
      });

      test("put off come back after the delay, and their holder is out", () => {
        accept();
        const job = claimOne();
        store.retryLater(job, 5_000);
        expect(complete(job)).toEqual([]);
        expect(store.nextJobInMs()).toBe(5_000);
        clock.advance(4_999);
        expect(claim()).toEqual([]);
        expect(store.nextJobInMs()).toBe(1);
        clock.advance(1);
        expect(store.nextJobInMs()).toBe(0);
        expect(claimOne()).toMatchObject({ attempt: 2, content: "some text" });
      });

      test("put off through nobody's fault keep their attempts", () => {
        accept();
        for (let round = 0; round < 3; round++) {
          const job = claimOne();
          expect(job.attempt).toBe(1);
          store.retryLater(job, 0, false);
        }
        store.retryLater(claimOne(), 0);
        expect(claimOne().attempt).toBe(2);
      });

      test("that fail keep their content and say why", () => {
        const { memory } = accept();
        clock.advance(7);
        expect(store.fail(claimOne(), "unreadable_document", "no text in it")).toBe(true);
        expect(reread(memory)).toMatchObject({
          state: { status: "failed", error: { code: "unreadable_document", message: "no text in it" } },
          updatedAt: clock.now(),
        });
        expect(store.waitingContents([memory.key]).size).toBe(1);
        expect(store.nextJobInMs()).toBeNull();
        expect(keysOf({ status: "failed" })).toEqual([memory.key]);
      });

      test("that complete become visible and hand their content over", () => {
        const expiresAt = clock.now() + 9e6;
        const { memory } = accept({ userId: "u", expiresAt, tags: ["given"] });
        const visible = complete(claimOne());
        expect(visible).toEqual([{ memoryKey: memory.key, userKey: store.userKey(project, "u"), expiresAt }]);
        expect(store.visible(project)).toEqual(visible);
        expect(reread(memory)).toMatchObject({
          state: { status: "completed", chunkCount: 3 },
          title: "Extracted",
          type: "note",
          tags: ["given"],
          language: "en",
        });
        expect(store.waitingContents([memory.key]).size).toBe(0);
      });

      test("of one round complete each for itself", () => {
        const [kept, gone] = [accept().memory, accept().memory];
        const jobs = claim();
        store.remove(project, gone.id);
        const visible = store.complete(jobs.map((job) => ({ job, extracted: EXTRACTED, chunkCount: 1 })));
        expect(visible.map(({ memoryKey }) => memoryKey)).toEqual([kept.key]);
        expect(store.complete(jobs.map((job) => ({ job, extracted: EXTRACTED, chunkCount: 1 })))).toEqual([]);
      });

      test("are there again for completed memories that are reopened, without content", () => {
        const memory = completed({ title: "given" });
        const failed = accept({ content: "fails" }).memory;
        store.fail(claimOne(), "processing_error", "x");
        store.reopen([memory.key, failed.key, 4_711n as MemoryKey]);
        expect(store.visible(project)).toEqual([]);
        const jobs = claim();
        expect(jobs).toMatchObject([{ content: null, attempt: 1, memory: { key: memory.key } }]);
        for (const job of jobs) complete(job);
        expect(reread(memory)).toMatchObject({ title: "given", state: { status: "completed" } });
      });
    });

    describe("retirement", () => {
      test("goes from deleted through retracted to erased, after the retention", () => {
        const removed = completed();
        const kept = completed();
        store.remove(project, removed.id);
        const deletedAt = clock.now();
        expect(store.retired(10)).toEqual([{ projectId: project, memoryKey: removed.key }]);
        expect(store.purgeable(deletedAt + 1, 10)).toEqual([]);
        store.markRetracted([removed.key, kept.key]);
        expect(store.retired(10)).toEqual([]);
        expect(store.purgeable(deletedAt, 10)).toEqual([]);
        expect(store.purgeable(deletedAt + 1, 10)).toEqual([removed.key]);
        store.erase([removed.key, kept.key]);
        expect(store.purgeable(deletedAt + 1, 10)).toEqual([]);
        expect(reread(kept)).toEqual(kept);
        expect(accept().memory.key).toBeGreaterThan(kept.key);
      });

      test("counts an expired memory as deleted when it expired", () => {
        const memory = completed({ expiresAt: clock.now() + 100 });
        clock.advance(100);
        const expiredAt = clock.now();
        clock.advance(10_000);
        expect(store.retired(10)).toEqual([{ projectId: project, memoryKey: memory.key }]);
        store.markRetracted([memory.key]);
        expect(store.purgeable(expiredAt, 10)).toEqual([]);
        expect(store.purgeable(expiredAt + 1, 10)).toEqual([memory.key]);
      });

      test("keeps to its limits and reaches all in the end", () => {
        for (let index = 0; index < 5; index++) store.remove(project, accept().memory.id);
        for (let index = 0; index < 5; index++) accept({ expiresAt: clock.now() + 1 });
        clock.advance(1);
        const seen: MemoryKey[] = [];
        for (let round = 0; round < 6; round++) {
          const keys = store.retired(2).map(({ memoryKey }) => memoryKey);
          expect(keys.length).toBeLessThanOrEqual(2);
          store.markRetracted(keys);
          seen.push(...keys);
        }
        expect(new Set(seen).size).toBe(10);
        expect(store.purgeable(clock.now() + 1, 3)).toHaveLength(3);
      });

      test("never gives a key out again", () => {
        const { memory } = accept();
        store.remove(project, memory.id);
        store.markRetracted([memory.key]);
        store.erase([memory.key]);
        expect(accept().memory.key).toBeGreaterThan(memory.key);
      });
    });

    test("reserveChunkKeys hands out runs that never overlap, from above 0", () => {
      const first = store.reserveChunkKeys(5);
      expect(first).toBeGreaterThan(0n);
      expect(store.reserveChunkKeys(0)).toBe(first + 5n);
      expect(store.reserveChunkKeys(1)).toBe(first + 5n);
      expect(store.reserveChunkKeys(1)).toBe(first + 6n);
      expect(() => store.reserveChunkKeys(-1)).toThrow("bug in Mneme");
    });

    test("counts adds up the memories of all projects by status", () => {
      completed();
      accept();
      accept({}, other);
      expect(store.counts()).toEqual({ processing: 2, completed: 1, failed: 0 });
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
    const steps = Number(process.env.MNEME_TEST_STEPS ?? 400);
    test(`answers as the oracle does over ${steps} random steps (seed ${seed})`, () => {
      new RandomWalk(opened, clock, seeded(seed)).run(steps);
    });
  });
}

/** Random operations on a store and the oracle at once, compared at every step. */
class RandomWalk {
  readonly #oracle = new MemoryOracle();
  #jobs: { readonly job: Job; readonly memory: OracleMemory }[] = [];

  constructor(
    private readonly opened: OpenedMemoryStore,
    private readonly clock: ManualClock,
    private readonly random: () => number,
  ) {}

  run(steps: number): void {
    const operations: readonly (() => void)[] = [
      () => this.#accept(),
      () => this.#accept(),
      () => this.#claim(),
      () => this.#finish(),
      () => this.#finish(),
      () => this.#remove(),
      () => this.clock.advance(this.#integer(2_000)),
      () => this.#retire(),
      () => this.#reopen(),
    ];
    for (let step = 0; step < steps; step++) {
      operations[this.#integer(operations.length)]?.();
      this.#compare();
    }
  }

  get #store(): MemoryStore {
    return this.opened.store;
  }

  #integer(below: number): number {
    return Math.floor(this.random() * below);
  }

  #maybe<T extends object>(value: T): T | Record<string, never> {
    return this.random() < 0.4 ? value : {};
  }

  #accept(): void {
    const project = this.#integer(2) as 0 | 1;
    const now = this.clock.now();
    const drafts: MemoryDraft[] = Array.from({ length: 1 + this.#integer(3) }, () => ({
      content: "text".repeat(1 + this.#integer(3)),
      ...this.#maybe({ externalId: `e${this.#integer(4)}` }),
      ...this.#maybe({ userId: `u${this.#integer(2)}` }),
      ...this.#maybe({ title: `t${this.#integer(9)}` }),
      ...this.#maybe({ type: `k${this.#integer(2)}` }),
      ...this.#maybe({ tags: [`g${this.#integer(9)}`] }),
      ...(this.random() < 0.2 && { expiresAt: now + 1 + this.#integer(5_000) }),
    }));
    const accepted = this.#store.accept(this.opened.projects[project], drafts);
    for (const [index, draft] of drafts.entries()) {
      const { memory, outcome } = accepted[index] ?? { memory: undefined, outcome: undefined };
      if (memory === undefined) throw new Error(`draft ${index} got no answer`);
      const expected = this.#oracle.accept(project, draft, now, { key: memory.key, id: memory.id });
      expect({ key: memory.key, outcome }).toEqual({ key: expected.memory.key, outcome: expected.outcome });
    }
  }

  #claim(): void {
    const [jobs, contentBytes, leaseMs] = [1 + this.#integer(4), 1 + this.#integer(30), 1 + this.#integer(3_000)];
    const claimed = this.#store.claim({ jobs, contentBytes, leaseMs });
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

  // Any job ever claimed, so that most attempts come from a holder who is out.
  #finish(): void {
    const now = this.clock.now();
    const chosen = this.#jobs[this.#jobs.length - 1 - this.#integer(Math.min(6, this.#jobs.length))];
    if (chosen === undefined) return;
    const { job, memory } = chosen;
    const isHeld = this.#oracle.isHeld(memory, job.lease, job.memory.version, now);
    switch (this.#integer(4)) {
      case 0:
        expect(this.#store.fail(job, "processing_error", "x")).toBe(isHeld);
        if (isHeld) Object.assign(memory, { status: "failed", lease: null });
        break;
      case 1:
        this.#store.retryLater(job, 500);
        if (isHeld) Object.assign(memory, { claimableAt: now + 500, lease: null });
        break;
      case 2:
        expect(this.#store.renew([job], 700)).toHaveLength(isHeld ? 1 : 0);
        if (isHeld) memory.claimableAt = now + 700;
        break;
      default:
        expect(this.#store.complete([{ job, extracted: EXTRACTED, chunkCount: 1 }])).toHaveLength(isHeld ? 1 : 0);
        if (isHeld) this.#oracle.complete(memory, EXTRACTED);
    }
  }

  #remove(): void {
    const memory = this.#oracle.memories[this.#integer(this.#oracle.memories.length)];
    if (memory === undefined || this.random() < 0.5) return;
    const isLive = this.#oracle.isLive(memory, this.clock.now());
    expect(this.#store.remove(this.opened.projects[memory.project as 0 | 1], memory.id) !== null).toBe(isLive);
    if (isLive) memory.deletedAt = this.clock.now();
  }

  #retire(): void {
    const expected = this.#oracle.retired(this.clock.now());
    const retired = this.#store.retired(10_000);
    expect(retired.map(({ memoryKey }) => memoryKey).sort()).toEqual(expected.map(({ key }) => key).sort());
    const gone = expected.filter(() => this.random() < 0.5);
    this.#store.markRetracted(gone.map(({ key }) => key));
    for (const memory of gone) memory.isRetracted = true;
    const before = this.clock.now() - this.#integer(2_000);
    const purgeable = this.#oracle.memories.filter(
      (memory) => memory.isRetracted && memory.deletedAt !== null && memory.deletedAt < before,
    );
    expect([...this.#store.purgeable(before, 10_000)].sort()).toEqual(purgeable.map(({ key }) => key).sort());
    this.#store.erase(purgeable.map(({ key }) => key));
    this.#oracle.memories = this.#oracle.memories.filter((memory) => !purgeable.includes(memory));
  }

  #reopen(): void {
    const memory = this.#oracle.memories[this.#integer(this.#oracle.memories.length)];
    if (memory === undefined) return;
    this.#store.reopen([memory.key]);
    if (memory.status !== "completed" || !this.#oracle.isLive(memory, this.clock.now())) return;
    const version = memory.version + 1;
    Object.assign(memory, { version, status: "processing", attempts: 0, claimableAt: this.clock.now() });
  }

  #compare(): void {
    const now = this.clock.now();
    for (const project of [0, 1] as const) {
      const expected = this.#oracle.live(project, now);
      expect<object[]>(this.#listAll(this.opened.projects[project]).map(comparable)).toEqual(
        expected.map((memory) => ({
          key: memory.key,
          version: memory.version,
          status: memory.status,
          ...memory.attributes,
          userId: memory.userId,
          externalId: memory.externalId,
          expiresAt: memory.expiresAt,
          given: [...memory.given].sort(),
        })),
      );
      expect(
        this.#store
          .visible(this.opened.projects[project])
          .map(({ memoryKey }) => memoryKey)
          .sort(),
      ).toEqual(
        expected
          .filter(({ status }) => status === "completed")
          .map(({ key }) => key)
          .sort(),
      );
    }
    const live = [...this.#oracle.live(0, now), ...this.#oracle.live(1, now)];
    const count = (status: string) => live.filter((memory) => memory.status === status).length;
    expect(this.#store.counts()).toEqual({
      processing: count("processing"),
      completed: count("completed"),
      failed: count("failed"),
    });
    expect(this.#store.nextJobInMs()).toBe(this.#oracle.nextJobInMs(now));
  }

  #listAll(project: ProjectId): Memory[] {
    const items: Memory[] = [];
    let cursor: string | null = null;
    do {
      const page = this.#store.list(project, { limit: 1 + this.#integer(20), ...(cursor !== null && { cursor }) });
      items.push(...page.items);
      cursor = page.cursor;
    } while (cursor !== null);
    return items;
  }
}

function comparable(memory: Memory) {
  const { key, version, state, title, type, tags, language, userId, externalId, expiresAt, given } = memory;
  const status = state.status;
  return { key, version, status, title, type, tags, language, userId, externalId, expiresAt, given: [...given].sort() };
}
