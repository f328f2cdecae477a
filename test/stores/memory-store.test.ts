// What MemoryStore (`src/ports/memory-store.ts`) promises, on each database.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { Fault } from "../../src/domain/fault.ts";
import { filteredAttributesJson } from "../../src/domain/filter.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Memory, MemoryChange, MemoryDraft, ReceivedFile } from "../../src/domain/memory.ts";
import { PLANS, type Plan } from "../../src/domain/project.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import type { Accepted, MemoryListing, MemoryStore } from "../../src/ports/memory-store.ts";
import type { RetirementStore } from "../../src/ports/retirement-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { EXTRACTED, LEASE_MS, memoryActions, uploadDraft } from "../contract/memory-actions.ts";
import { RandomWalk } from "../contract/memory-walk.ts";
import {
  ALL_VISIBLE,
  addTwoProjects,
  codeOf,
  EventReader,
  faultOf,
  inTurn,
  messageOf,
  type OpenedStores,
  openEmpty,
  times,
} from "../contract/stores.ts";
import { seeded } from "../support/seeded.ts";
import { onEachDatabase } from "./databases.ts";

onEachDatabase("MemoryStore", (open) => {
  let clock: ManualClock;
  let stores: OpenedStores;
  let store: MemoryStore;
  let jobStore: JobStore;
  let retirement: RetirementStore;
  let project: ProjectId;
  let other: ProjectId;
  let events: EventReader;

  beforeEach(async () => {
    clock = new ManualClock();
    stores = await openEmpty(open, clock);
    ({ memories: store, jobs: jobStore, retirement } = stores);
    [project, other] = await addTwoProjects(stores);
    events = await EventReader.subscribe(stores, [project, other]);
  });
  afterEach(() => stores.close());

  const { accept, acceptAll, claim, claimOne, complete, completed, failed, keysOf, reread } = memoryActions(() => ({
    stores,
    project,
  }));
  const codes = (results: readonly (Accepted | Fault)[]) =>
    results.map((result) => (result instanceof Fault ? result.code : result.outcome));
  const newEvents = async () => (await events.read()).map(({ event, memory }) => [event, memory.key]);
  const setPlan = async (projectId: ProjectId, plan: Plan) => await stores.accounts.changeProject(projectId, { plan });

  describe("accept", () => {
    test("stores the given values, and which attributes the caller gave", async () => {
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
        occurredAt: -62_135_596_800_000,
        occurredAtGiven: "0001-01-01",
        agentId: "ägent",
        sessionId: "s 1",
      };
      const { memory, outcome } = await accept(draft);
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
        userKey: await store.userKey(project, "u"),
        externalId: "e",
        createdAt: clock.now(),
        updatedAt: clock.now(),
        expiresAt: clock.now() + 5,
        occurredAt: -62_135_596_800_000,
        occurredAtGiven: "0001-01-01",
        agentId: "ägent",
        sessionId: "s 1",
        contentBytes: 12,
        ...{ source: null, originalFile: null },
        given: ["title", "type", "tags", "language"],
        supersededBy: null,
        supersededPassages: null,
      });
      expect(await reread(memory)).toEqual(memory);
      expect((await store.waitingContents([memory.key])).get(memory.key)).toBe("grüße 😀");
    });

    test("stores null for values that were not given", async () => {
      const { memory } = await accept();
      const { title, type, tags, language, metadata, userId, userKey, externalId, given } = memory;
      const { expiresAt, occurredAt, agentId, sessionId } = memory;
      const attributes = [title, type, tags, language, metadata, userId, userKey, externalId];
      expect([...attributes, expiresAt, occurredAt, agentId, sessionId]).toEqual(Array(12).fill(null));
      expect(given).toEqual([]);
    });

    test("returns results in the order of the drafts, with unique ids and ascending keys", async () => {
      const drafts = Array.from({ length: 20 }, (_, index) => ({ content: `text ${index}`, title: `${index}` }));
      const memories = (await acceptAll(drafts)).map(({ memory }) => memory);
      expect(memories.map(({ title }) => title)).toEqual(drafts.map(({ title }) => title));
      expect(new Set(memories.map(({ id }) => id)).size).toBe(20);
      expect(memories.every(({ key }, index) => index === 0 || key > (memories[index - 1]?.key ?? key))).toBe(true);
      expect(memories.every(({ id }) => /^mem_[0-9a-z]{26}$/.test(id))).toBe(true);
    });

    test("stores all drafts or none", async () => {
      const broken: MemoryDraft = {
        get content(): string {
          throw new Error("this draft cannot be read");
        },
      };
      expect(
        await messageOf(async () => await store.accept(project, [{ content: "first", userId: "u" }, broken])),
      ).toContain("cannot be read");
      expect(await keysOf()).toEqual([]);
      expect(await store.userKey(project, "u")).toBeNull();
      expect(await jobStore.nextJobInMs()).toBeNull();
    });

    test("refuses a project that does not exist", async () => {
      expect(await messageOf(async () => await store.accept("prj_nowhere" as ProjectId, [{ content: "x" }]))).toContain(
        "prj_nowhere",
      );
    });

    test("makes the user of a draft known, always with the same key, in its project only", async () => {
      expect(await store.userKey(project, "u")).toBeNull();
      const first = (await accept({ userId: "u" })).memory.userKey;
      expect(first).not.toBeNull();
      expect((await accept({ userId: "u" })).memory.userKey).toBe(first);
      expect(await store.userKey(project, "u")).toBe(first);
      expect(await store.userKey(other, "u")).toBeNull();
      expect((await accept({ userId: "u" }, other)).memory.userKey).not.toBe(first);
    });
  });

  describe("accept with a known externalId", () => {
    test("with the same content changes only what is given", async () => {
      const before = await completed({
        externalId: "e",
        title: "old",
        metadata: { a: 1 },
        expiresAt: clock.now() + 9e9,
        occurredAt: 1_000,
      });
      clock.advance(1_000);
      const { memory, outcome } = await accept({ externalId: "e", title: "new", tags: [] });
      expect(outcome).toBe("updated");
      expect(memory).toEqual({
        ...before,
        title: "new",
        tags: [],
        updatedAt: clock.now(),
        given: ["title", "tags"],
      });
      expect(await jobStore.nextJobInMs()).toBeNull();
      expect(await keysOf()).toEqual([before.key]);
    });

    test("and nothing new leaves the memory as it is: its time, its events, and the order of its metadata", async () => {
      const draft: MemoryDraft = {
        ...{ content: "some text", externalId: "e", title: "T", type: "note", tags: ["a", "b"], language: "en" },
        ...{ metadata: { a: 1, b: { c: [1, "2"], d: null } }, userId: "u", agentId: "g", sessionId: "s" },
        ...{ expiresAt: clock.now() + 9e9, occurredAt: 1_000 },
      };
      const before = await completed(draft);
      await newEvents();
      clock.advance(1_000);
      const turned = { ...draft, metadata: { b: { d: null, c: [1, "2"] }, a: 1 } };
      const part = { content: "some text", externalId: "e", userId: "u" };
      for (const same of [draft, turned, part]) {
        expect(await accept(same)).toEqual({ memory: before, outcome: "unchanged", releasedFile: null });
      }
      const { content: _, ...attributes } = draft;
      expect(await store.change(project, before.id, attributes)).toEqual({
        memory: before,
        outcome: "unchanged",
        releasedFile: null,
      });
      expect(await reread(before)).toEqual(before);
      expect(await newEvents()).toEqual([]);
      const changes: Partial<MemoryDraft>[] = [
        ...[{ title: "U" }, { type: "email" }, { tags: ["b", "a"] }, { language: "fr" }, { agentId: "h" }],
        ...[{ metadata: { a: 1 } }, { sessionId: "t" }, { expiresAt: clock.now() + 9e8 }, { occurredAt: 1_001 }],
      ];
      for (const changed of changes) {
        clock.advance(1);
        const { outcome, memory } = await accept({ ...part, ...changed });
        expect([outcome, memory.updatedAt]).toEqual(["updated", clock.now()]);
      }
      expect(await newEvents()).toHaveLength(changes.length);
    });

    test("and an attribute that was only extracted so far counts it as given from then on", async () => {
      const before = await completed({ externalId: "e" });
      expect(await accept({ externalId: "e", title: before.title ?? "" })).toMatchObject({
        outcome: "updated",
        memory: { title: before.title, given: ["title"] },
      });
    });

    test("makes a user known again, even if nothing else is new", async () => {
      await completed({ externalId: "e", userId: "u" });
      await stores.users.forget(project, "u");
      expect((await accept({ externalId: "e", userId: "u" })).outcome).toBe("unchanged");
      expect(await stores.users.get(project, "u")).not.toBeNull();
    });

    test("with other content is processed again: given attributes stay, extracted ones are cleared", async () => {
      const before = await completed({ externalId: "e", title: "given", metadata: { a: 1 } });
      expect(before.type).toBe("note");
      clock.advance(1_000);
      const { memory, outcome } = await accept({ externalId: "e", content: "other text", language: "fr" });
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
      expect((await claimOne()).content).toBe("other text");
    });

    test("with the same content keeps a running job, which does not overwrite attributes given since", async () => {
      await accept({ externalId: "e" });
      const job = await claimOne();
      expect((await accept({ externalId: "e", title: "given meanwhile" })).outcome).toBe("updated");
      expect(await complete(job)).toHaveLength(1);
      expect(await reread(job.memory)).toMatchObject({ title: "given meanwhile", type: "note", version: 1 });
    });

    test("with other content makes a running job invalid", async () => {
      await accept({ externalId: "e" });
      const job = await claimOne();
      expect((await accept({ externalId: "e", content: "newer" })).outcome).toBe("rewritten");
      expect(await jobStore.renew([job], LEASE_MS)).toEqual([]);
      await jobStore.retryLater(job, 9e9);
      expect(await jobStore.fail(job, "processing_error", "x")).toBe(false);
      expect(await complete(job)).toEqual([]);
      expect(await claimOne()).toMatchObject({ content: "newer", attempt: 1, memory: { version: 2 } });
    });

    test("processes a failed memory again, even with the same content", async () => {
      await accept({ externalId: "e" });
      await jobStore.fail(await claimOne(), "processing_error", "no luck");
      const { memory, outcome } = await accept({ externalId: "e" });
      expect(outcome).toBe("rewritten");
      expect(memory.state).toEqual({ status: "processing", attempts: 0 });
      expect(await claimOne()).toMatchObject({ content: "some text", attempt: 1 });
    });

    test("can update a draft that came earlier in the same batch", async () => {
      const results = await acceptAll([
        { content: "a", externalId: "e", title: "first" },
        { content: "a", externalId: "e", type: "second" },
        { content: "b", externalId: "e" },
      ]);
      expect(results.map(({ outcome }) => outcome)).toEqual(["created", "updated", "rewritten"]);
      expect(new Set(results.map(({ memory }) => memory.key)).size).toBe(1);
      expect((await claim()).map(({ content, memory }) => [content, memory.title, memory.type])).toEqual([
        ["b", "first", "second"],
      ]);
    });

    test("of one batch create and update memories in their order, short and long, with their tags and users", async () => {
      await accept({ content: "old", externalId: "known", userId: "u" });
      const long = `${"long ".repeat(20_000)}end`;
      const drafts: MemoryDraft[] = [
        { content: "one", userId: "u", tags: ["a", "b"], title: 'T "1", {}' },
        { content: "two", externalId: "known", userId: "u" },
        { content: long, externalId: "known" },
        { content: "back\\slash NULL", externalId: "new", userId: "v", tags: ["b", "a,b"] },
        { content: "new", externalId: "new", userId: "v", tags: ["c"] },
        { content: "last", expiresAt: clock.now() + 1_000 },
      ];
      const results = await acceptAll(drafts);
      const outcomes = ["created", "rewritten", "created", "created", "rewritten", "created"] as const;
      expect(results.map(({ outcome }) => outcome)).toEqual([...outcomes]);
      expect(results.map(({ memory }) => memory.userId)).toEqual(["u", "u", null, "v", "v", null]);
      expect(results.map(({ memory }) => memory.tags)).toEqual([["a", "b"], null, null, ["b", "a,b"], ["c"], null]);
      const contents = await store.waitingContents(results.map(({ memory }) => memory.key));
      expect(results.map(({ memory }) => contents.get(memory.key))).toEqual(["one", "two", long, "new", "new", "last"]);
      const withTag = async (tag: string) => (await store.list(project, { limit: 9, tag })).items.map(({ key }) => key);
      expect(await withTag("b")).toEqual([results[0]?.memory.key as MemoryKey]);
      expect(await withTag("c")).toEqual([results[4]?.memory.key as MemoryKey]);
    });

    test("distinguishes users, no user and projects", async () => {
      const accepted = [
        await accept({ externalId: "e" }),
        await accept({ externalId: "e", userId: "u" }),
        await accept({ externalId: "e", userId: "v" }),
        await accept({ externalId: "e" }, other),
      ];
      const keys = accepted.map(({ memory, outcome }) => {
        expect(outcome).toBe("created");
        return memory.key;
      });
      expect(new Set(keys).size).toBe(4);
      expect((await accept({ externalId: "e", userId: "u" })).memory.key).toBe(keys[1] as MemoryKey);
    });

    test("creates a new memory after the old one was deleted or has expired", async () => {
      const deleted = (await accept({ externalId: "e" })).memory;
      await store.remove(project, deleted.id);
      const expiring = await accept({ externalId: "e", expiresAt: clock.now() + 10 });
      expect(expiring.outcome).toBe("created");
      clock.advance(10);
      const created = await accept({ externalId: "e" });
      expect(created.outcome).toBe("created");
      expect(await keysOf()).toEqual([created.memory.key]);
      expect((await retirement.retired(10)).map(({ memoryKey }) => memoryKey)).toEqual([
        deleted.key,
        expiring.memory.key,
      ]);
    });
  });

  describe("reads", () => {
    test("never return data of another project", async () => {
      const { memory } = await accept({ userId: "u" });
      expect(await store.get(other, memory.id)).toBeNull();
      expect((await store.getMany(other, [memory.key])).size).toBe(0);
      expect(await keysOf({}, other)).toEqual([]);
      expect(await keysOf({ userId: "u" }, other)).toEqual([]);
      expect(await store.visible(other, ALL_VISIBLE)).toEqual([]);
      expect(await store.remove(other, memory.id)).toBeNull();
    });

    test("of unknown projects, ids and keys find nothing", async () => {
      const nowhere = "prj_nowhere" as ProjectId;
      expect(await store.get(nowhere, "mem_x" as MemoryId)).toBeNull();
      expect(await store.get(project, "mem_x" as MemoryId)).toBeNull();
      expect(await store.list(nowhere, { limit: 5 })).toEqual({ items: [], cursor: null });
      expect((await store.getMany(project, [77n as MemoryKey])).size).toBe(0);
      expect((await store.getMany(project, [])).size).toBe(0);
      expect(await store.userKey(nowhere, "u")).toBeNull();
    });

    test("by key show each change at once, however often the memory was read before", async () => {
      const [kept, changed, removed] = [await completed(), await completed(), await completed({ userId: "u" })];
      const keys = [kept.key, changed.key, removed.key];
      const readAll = async () => {
        const found = await store.getMany(project, keys);
        return keys.flatMap((key) => found.get(key) ?? []);
      };
      expect(await readAll()).toEqual([kept, changed, removed]);
      expect(await readAll()).toEqual([kept, changed, removed]);
      await store.change(project, changed.id, { title: "another title" });
      expect((await readAll()).map(({ title }) => title)).toEqual([kept.title, "another title", removed.title]);
      await store.remove(project, removed.id);
      expect((await readAll()).map(({ id }) => id)).toEqual([kept.id, changed.id]);
      expect([...(await store.getMany(other, keys)).keys()]).toEqual([]);
      expect((await readAll()).map(({ id }) => id)).toEqual([kept.id, changed.id]);
    });

    test("accept many thousand keys at once", async () => {
      const { memory } = await accept();
      const keys = Array.from({ length: 50_000 }, (_, index) => (memory.key + BigInt(index)) as MemoryKey);
      expect([...(await store.getMany(project, keys)).keys()]).toEqual([memory.key]);
      expect([...(await store.waitingContents(keys)).keys()]).toEqual([memory.key]);
    });

    test("omit a memory from the millisecond of its expiry", async () => {
      const memory = await completed({ externalId: "e", expiresAt: clock.now() + 100 });
      clock.advance(99);
      expect(await reread(memory)).toEqual(memory);
      expect(await store.visible(project, ALL_VISIBLE)).toHaveLength(1);
      clock.advance(1);
      expect(await store.get(project, memory.id)).toBeNull();
      expect((await store.getMany(project, [memory.key])).size).toBe(0);
      expect(await keysOf()).toEqual([]);
      expect(await store.visible(project, ALL_VISIBLE)).toEqual([]);
      expect(await store.counts()).toEqual({ processing: 0, completed: 0, failed: 0 });
      expect(await store.remove(project, memory.id)).toBeNull();
    });
  });

  describe("list", () => {
    test("is newest first and filters by status, type and user, alone and together", async () => {
      const a = await completed({ type: "x", userId: "u" });
      const b = (await accept({ type: "x" })).memory;
      const c = (await accept({ type: "y", userId: "u" })).memory;
      expect(await keysOf()).toEqual([c.key, b.key, a.key]);
      expect(await keysOf({ type: "x" })).toEqual([b.key, a.key]);
      expect(await keysOf({ userId: "u" })).toEqual([c.key, a.key]);
      expect(await keysOf({ status: "completed" })).toEqual([a.key]);
      expect(await keysOf({ status: "processing", type: "y", userId: "u" })).toEqual([c.key]);
      expect(await keysOf({ status: "failed" })).toEqual([]);
      expect(await keysOf({ userId: "nobody" })).toEqual([]);
    });

    test("filters by agent and session, alone and together with each other condition", async () => {
      const a = await completed({ agentId: "a", sessionId: "s", userId: "u", tags: ["t"] });
      const b = (await accept({ agentId: "a", sessionId: "S", type: "x" })).memory;
      const c = (await accept({ agentId: "A", sessionId: "s", userId: "u" })).memory;
      const d = (await accept({ userId: "u", type: "x", title: "a s" })).memory;
      await accept({ agentId: "a", sessionId: "s" }, other);
      expect(await keysOf({ agentId: "a" })).toEqual([b.key, a.key]);
      expect(await keysOf({ sessionId: "s" })).toEqual([c.key, a.key]);
      expect(await keysOf({ agentId: "a", sessionId: "s" })).toEqual([a.key]);
      expect(await keysOf({ agentId: "a", userId: "u" })).toEqual([a.key]);
      expect(await keysOf({ sessionId: "s", userId: "u", status: "processing" })).toEqual([c.key]);
      expect(await keysOf({ agentId: "a", type: "x" })).toEqual([b.key]);
      expect(await keysOf({ agentId: "a", tag: "t" })).toEqual([a.key]);
      expect(await keysOf({ sessionId: "S", tag: "t" })).toEqual([]);
      expect(await keysOf({ agentId: "nobody" })).toEqual([]);
      expect(await keysOf({ agentId: "a", q: "a s" })).toEqual([]);
      await store.change(project, d.id, { agentId: "a", sessionId: "s" });
      await store.change(project, a.id, { sessionId: null });
      expect(await keysOf({ agentId: "a" })).toEqual([d.key, b.key, a.key]);
      expect(await keysOf({ sessionId: "s" })).toEqual([d.key, c.key]);
      expect(await keysOf({ agentId: "a", q: "a s" })).toEqual([d.key]);
      await store.remove(project, d.id);
      expect(await keysOf({ agentId: "a", sessionId: "s" })).toEqual([]);
    });

    test("filters by the exact tag and by a part of the title in any case", async () => {
      const a = (await accept({ tags: ["x", "Größe"], title: "Über STRASSEN" })).memory;
      const b = (await accept({ tags: ["x"], title: "ｆｕｌｌ width ΟΔΟΣ", userId: "u" })).memory;
      const c = (await accept({ tags: ["X"], title: "100% _done_" })).memory;
      await accept({ tags: ["x"] }, other);
      expect(await keysOf({ tag: "x" })).toEqual([b.key, a.key]);
      expect(await keysOf({ tag: "Größe" })).toEqual([a.key]);
      expect(await keysOf({ tag: "größe" })).toEqual([]);
      expect(await keysOf({ q: "über straß" })).toEqual([]);
      expect(await keysOf({ q: "ÜBER strass" })).toEqual([a.key]);
      expect(await keysOf({ q: "FULL W" })).toEqual([b.key]);
      expect(await keysOf({ q: "οδος" })).toEqual([b.key]);
      expect(await keysOf({ q: "% _D" })).toEqual([c.key]);
      expect(await keysOf({ q: "%" })).toEqual([c.key]);
      expect(await keysOf({ tag: "x", q: "width", userId: "u", status: "processing" })).toEqual([b.key]);
      expect(await keysOf({ tag: "x", q: "100" })).toEqual([]);
    });

    test("follows changes of titles and tags by extraction, callers and deletion", async () => {
      const memory = await completed({ externalId: "e" });
      expect(await keysOf({ q: "EXTRACT", tag: "found" })).toEqual([memory.key]);
      await store.change(project, memory.id, { title: "Renamed", tags: ["a", "b"] });
      expect(await keysOf({ q: "extract" })).toEqual([]);
      expect(await keysOf({ tag: "found" })).toEqual([]);
      expect(await keysOf({ q: "renamed", tag: "b" })).toEqual([memory.key]);
      await accept({ externalId: "e", tags: ["b", "b", "c"] });
      expect(await keysOf({ tag: "a" })).toEqual([]);
      expect(await keysOf({ tag: "b" })).toEqual([memory.key]);
      await store.change(project, memory.id, { title: null, tags: null });
      expect([await keysOf({ q: "e" }), await keysOf({ tag: "b" })]).toEqual([[], []]);
      await store.change(project, memory.id, { content: "afresh" });
      await complete(await claimOne());
      expect(await keysOf({ q: "extracted", tag: "found" })).toEqual([memory.key]);
      await store.remove(project, memory.id);
      expect(await keysOf({ tag: "found" })).toEqual([]);
    });

    test("pages through a tag and a part of the title without gaps or repetitions", async () => {
      const accepted = await times(
        12,
        async (at) =>
          await accept({ title: at % 3 === 0 ? "other" : `match ${at}`, tags: at % 2 === 0 ? ["t"] : ["u"] }),
      );
      const memories = accepted.map(({ memory }) => memory.key);
      const wanted = memories.filter((_, at) => at % 3 !== 0 && at % 2 === 0).reverse();
      const seen: MemoryKey[] = [];
      let cursor: string | null = null;
      do {
        const page = await store.list(project, {
          limit: 1,
          tag: "t",
          q: "Match",
          ...(cursor !== null && { cursor }),
        });
        seen.push(...page.items.map(({ key }) => key));
        cursor = page.cursor;
      } while (cursor !== null);
      expect(seen).toEqual(wanted);
    });

    test("returns a cursor exactly if more follows", async () => {
      for (let index = 0; index < 4; index++) await accept();
      const first = await store.list(project, { limit: 2 });
      expect(first.cursor).not.toBeNull();
      const second = await store.list(project, { limit: 2, cursor: first.cursor ?? "" });
      expect(second.items).toHaveLength(2);
      expect(second.cursor).toBeNull();
    });

    test("ends a page before its contents exceed contentBytesMax, but has at least one memory", async () => {
      for (const content of ["aaaa", "bb", "cccccccc"]) await accept({ content });
      const sizes = async (cursor?: string) => {
        const page = await store.list(project, {
          limit: 3,
          contentBytesMax: 6,
          ...(cursor !== undefined && { cursor }),
        });
        return { bytes: page.items.map((memory) => memory.contentBytes), cursor: page.cursor };
      };
      const first = await sizes();
      expect(first.bytes).toEqual([8]);
      expect(await sizes(first.cursor ?? "")).toEqual({ bytes: [2, 4], cursor: null });
    });

    test("has each memory once while others are added and removed between pages of any size", async () => {
      const memories = await times(10, async () => (await accept()).memory);
      const first = await store.list(project, { limit: 3 });
      for (const shown of first.items) await store.remove(project, shown.id);
      await accept();
      const unseen = memories[5];
      if (unseen !== undefined) await store.remove(project, unseen.id);
      const rest = await store.list(project, { limit: 50, cursor: first.cursor ?? "" });
      const seen = [...first.items, ...rest.items].map(({ key }) => key);
      expect(seen).toEqual(
        memories
          .map(({ key }) => key)
          .reverse()
          .filter((key) => key !== unseen?.key),
      );
    });

    test("refuses a cursor of another project or filter, and a damaged one", async () => {
      for (let index = 0; index < 3; index++) await accept({ type: "x" });
      const cursor = (await store.list(project, { limit: 1 })).cursor ?? "";
      const attempts: [ProjectId, MemoryListing][] = [
        [other, { limit: 1, cursor }],
        [project, { limit: 1, cursor, type: "x" }],
        [project, { limit: 1, cursor, status: "processing" }],
        [project, { limit: 1, cursor, userId: "u" }],
        [project, { limit: 1, cursor, agentId: "u" }],
        [project, { limit: 1, cursor, sessionId: "u" }],
        [project, { limit: 1, cursor, tag: "x" }],
        [project, { limit: 1, cursor, q: "x" }],
        [project, { limit: 1, cursor: `${cursor}A` }],
        [project, { limit: 1, cursor: "" }],
      ];
      for (const [of, listing] of attempts) {
        expect(await codeOf(async () => await store.list(of, listing))).toBe("invalid_cursor");
      }
    });
  });

  describe("visible", () => {
    test("returns the completed, live memories in the order of their keys", async () => {
      const keys = await times(5, async (at) => (await completed(at % 2 === 0 ? { userId: "u" } : {})).key);
      await accept();
      await failed();
      await completed({ expiresAt: clock.now() + 1 });
      await store.remove(project, (await completed()).id);
      clock.advance(1);
      for (const limit of [1, 2, 5, 6]) {
        const seen: MemoryKey[] = [];
        for (;;) {
          const page = await store.visible(project, { afterKey: seen.at(-1) ?? null, limit });
          seen.push(...page.map(({ memoryKey }) => memoryKey));
          if (page.length < limit) break;
        }
        expect(seen).toEqual(keys);
      }
      expect((await store.visible(project, ALL_VISIBLE)).map(({ memoryKey }) => memoryKey)).toEqual(keys);
      expect(await store.visible(other, { afterKey: null, limit: 5 })).toEqual([]);
    });

    test("returns the attributes for filters, with metadata of any depth and any text", async () => {
      const deep = JSON.parse(`${'{"a":['.repeat(1_200)}-0${"]}".repeat(1_200)}`);
      const odd = 'a "b" \\ \b\f\n\r\t \u0001 \u001f \u007f \u2028 é 😀 \'';
      const given = { title: odd, type: odd, tags: [odd, ""], language: "de", externalId: odd, userId: odd };
      const memories = [
        await completed({
          ...given,
          metadata: { [odd]: [1e21, 1.5, null, true, { x: "\ud800 \ud83d\ude00" }], deep },
        }),
        await completed({
          metadata: parseJson('{"__proto__": {"": [9007199254740993, -123456789012345678901234567890]}}') as JsonObject,
        }),
        await completed(),
      ];
      expect((await store.visible(project, ALL_VISIBLE)).map(({ attributes }) => attributes)).toEqual(
        await inTurn(memories, async (memory) => filteredAttributesJson(await reread(memory))),
      );
    });
  });

  describe("remove", () => {
    test("removes a memory from every read at once, and returns it", async () => {
      const memory = await completed({ userId: "u" });
      expect(await store.remove(project, memory.id)).toEqual({ memory, keys: [memory.key] });
      expect(await store.remove(project, memory.id)).toBeNull();
      expect(await store.get(project, memory.id)).toBeNull();
      expect((await store.getMany(project, [memory.key])).size).toBe(0);
      expect(await keysOf()).toEqual([]);
      expect(await store.visible(project, ALL_VISIBLE)).toEqual([]);
      expect((await store.counts()).completed).toBe(0);
    });

    test("makes the job invalid", async () => {
      const { memory } = await accept();
      const job = await claimOne();
      await store.remove(project, memory.id);
      expect(await jobStore.renew([job], LEASE_MS)).toEqual([]);
      expect(await complete(job)).toEqual([]);
      expect(await jobStore.fail(job, "processing_error", "x")).toBe(false);
      clock.advance(2 * LEASE_MS);
      expect(await claim()).toEqual([]);
      expect(await jobStore.nextJobInMs()).toBeNull();
      expect((await store.waitingContents([memory.key])).size).toBe(0);
    });
  });

  describe("change", () => {
    const change = async (memory: Memory, changes: MemoryChange, of = project): Promise<Accepted> => {
      const changed = await store.change(of, memory.id, changes);
      if (changed === null) throw new Error(`${memory.id} is not there`);
      return changed;
    };

    test("of attributes replaces the given ones and keeps the rest, including the status", async () => {
      const before = await completed({ title: "old", metadata: { a: 1 }, userId: "u" });
      clock.advance(1_000);
      const { memory, outcome } = await change(before, {
        title: "new",
        metadata: { b: [2] },
        expiresAt: clock.now() + 5,
        occurredAt: 7,
        agentId: "a",
        sessionId: "s",
      });
      expect(outcome).toBe("updated");
      expect(memory).toEqual({
        ...before,
        title: "new",
        metadata: { b: [2] },
        expiresAt: clock.now() + 5,
        occurredAt: 7,
        agentId: "a",
        sessionId: "s",
        updatedAt: clock.now(),
      });
      expect(await reread(before)).toEqual(memory);
      expect(await jobStore.nextJobInMs()).toBeNull();
    });

    test("to null clears the attribute, which then counts as not given", async () => {
      const before = await completed({
        title: "T",
        tags: ["a"],
        metadata: { a: 1 },
        externalId: "e",
        userId: "u",
        expiresAt: clock.now() + 9e6,
        occurredAt: clock.now() + 9e6,
        agentId: "a",
        sessionId: "s",
      });
      const cleared = {
        ...{ title: null, tags: null, metadata: null, externalId: null, userId: null },
        ...{ expiresAt: null, occurredAt: null, agentId: null, sessionId: null },
      };
      const { memory } = await change(before, cleared);
      expect(memory).toEqual({ ...before, ...cleared, userKey: null, given: [] });
      await change(memory, { content: "afresh" });
      await complete(await claimOne());
      expect(await reread(memory)).toMatchObject({ title: "Extracted", tags: ["found"] });
    });

    test("of the content processes it again: given attributes stay, extracted ones are cleared", async () => {
      const before = await completed({ title: "given", externalId: "e", occurredAt: 3 });
      clock.advance(1_000);
      const { memory, outcome } = await change(before, { content: "other text", language: "fr" });
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
      expect(await claimOne()).toMatchObject({ content: "other text", attempt: 1 });
    });

    test("to the same content changes nothing, unless the memory had failed", async () => {
      const done = await completed();
      clock.advance(1_000);
      expect(await change(done, { content: "some text" })).toMatchObject({ outcome: "unchanged", memory: done });
      expect(await reread(done)).toEqual(done);
      const waiting = (await accept()).memory;
      expect((await change(waiting, { content: "some text" })).outcome).toBe("unchanged");
      await complete(await claimOne());
      const broken = await failed();
      expect(await change(broken, { title: "still failed" })).toMatchObject({
        outcome: "updated",
        memory: { state: { status: "failed" } },
      });
      expect(await change(broken, { content: "some text" })).toMatchObject({
        outcome: "rewritten",
        memory: { version: 2, title: "still failed", state: { status: "processing", attempts: 0 } },
      });
      expect(await claimOne()).toMatchObject({ content: "some text", attempt: 1 });
    });

    test("during a job is kept when the job completes, or makes the job invalid if the content is new", async () => {
      const { memory } = await accept();
      const job = await claimOne();
      await change(memory, { type: "given meanwhile" });
      expect(await complete(job)).toHaveLength(1);
      expect(await reread(memory)).toMatchObject({ type: "given meanwhile", title: "Extracted" });
      const second = (await accept()).memory;
      const late = await claimOne();
      await change(second, { content: "newer" });
      expect(await complete(late)).toEqual([]);
      expect((await claimOne()).content).toBe("newer");
    });

    test("of the owner makes the new owner known and moves the memory", async () => {
      const memory = await completed({ userId: "u", occurredAt: -5 });
      const moved = (await change(memory, { userId: "v" })).memory;
      expect(moved).toMatchObject({ userId: "v", userKey: await store.userKey(project, "v") });
      expect(await keysOf({ userId: "u" })).toEqual([]);
      expect(await keysOf({ userId: "v" })).toEqual([memory.key]);
      const attributes = filteredAttributesJson(moved);
      expect(await store.visible(project, ALL_VISIBLE)).toEqual([
        { memoryKey: memory.key, userKey: moved.userKey, expiresAt: null, attributes },
      ]);
    });

    test("to the externalId and user of another memory is refused, and changes nothing", async () => {
      await accept({ externalId: "e", userId: "u" });
      await accept({ externalId: "f" });
      const memory = await completed({ externalId: "e" });
      const taken: MemoryChange[] = [
        { userId: "u", title: "x" },
        { externalId: "f", title: "x" },
        { externalId: "e", userId: "u", content: "x" },
      ];
      for (const changes of taken) {
        const refusal = await faultOf(async () => await store.change(project, memory.id, changes));
        expect([refusal.code, refusal.param]).toEqual(["external_id_conflict", "externalId"]);
        expect(await reread(memory)).toEqual(memory);
      }
      expect((await change(memory, { externalId: "e", userId: null })).outcome).toBe("unchanged");
      expect((await change(memory, { externalId: "f", userId: "u" })).outcome).toBe("updated");
      expect((await change(memory, { externalId: "e", userId: "new" })).outcome).toBe("updated");
    });

    test("to the externalId and user of a memory that was deleted or has expired is allowed", async () => {
      await store.remove(project, (await accept({ externalId: "deleted" })).memory.id);
      const expiring = (await accept({ externalId: "expired", expiresAt: clock.now() + 1 })).memory;
      clock.advance(1);
      const memory = await completed();
      expect((await change(memory, { externalId: "deleted" })).memory.externalId).toBe("deleted");
      expect((await change(memory, { externalId: "expired" })).memory.externalId).toBe("expired");
      expect((await retirement.retired(10)).map(({ memoryKey }) => memoryKey)).toContain(expiring.key);
    });

    test("of an unknown, deleted or expired memory, or of another project's, changes nothing", async () => {
      const memory = await completed();
      expect(await store.change(other, memory.id, { title: "x" })).toBeNull();
      expect(await store.change(project, "mem_x" as MemoryId, { title: "x" })).toBeNull();
      const gone = await completed();
      await store.remove(project, gone.id);
      expect(await store.change(project, gone.id, { userId: "nobody" })).toBeNull();
      const expired = await completed({ expiresAt: clock.now() + 1 });
      clock.advance(1);
      expect(await store.change(project, expired.id, { expiresAt: null })).toBeNull();
      expect(await store.userKey(project, "nobody")).toBeNull();
      expect(await reread(memory)).toEqual(memory);
    });
  });

  test("countFrom counts in parts what the list lists, and expired or deleted ones not", async () => {
    const tags = ["x"];
    const drafts = await times(7, (n) => ({ content: `text ${n}`, tags, ...(n % 2 === 1 && { userId: "ada" }) }));
    const made = await acceptAll(drafts);
    await acceptAll([{ content: "expires", expiresAt: clock.now() + 10 }]);
    await accept({}, other);
    await store.remove(project, made[0]?.memory.id ?? ("" as MemoryId));
    clock.advance(10);
    const parts = async (limit: number, conditions = {}) => {
      const counts: number[] = [];
      let before: MemoryKey | null = null;
      do {
        const part = await store.countFrom(project, conditions, { before, limit });
        counts.push(part.memories);
        before = part.last;
      } while (before !== null);
      return counts;
    };
    expect(await parts(4)).toEqual([4, 2]);
    expect(await parts(6)).toEqual([6, 0]);
    expect(await parts(2, { userId: "ada", tag: "x" })).toEqual([2, 1]);
    expect(await parts(100, { status: "failed" })).toEqual([0]);
    expect(await keysOf({ order: "oldest" })).toEqual((await keysOf()).reverse());
  });

  test("retryFailed puts back the oldest failed ones, as many as asked for, of a user or of all", async () => {
    const made = await inTurn(["ada", null, "ada", null], (userId) => failed(userId === null ? {} : { userId }));
    const done = await completed();
    const statuses = () => inTurn(made, async (memory) => (await reread(memory)).state.status);
    expect(await store.retryFailed(other, { limit: 9 })).toBe(0);
    expect(await store.retryFailed(project, { userId: "nobody", limit: 9 })).toBe(0);
    expect(await store.retryFailed(project, { limit: 1 })).toBe(1);
    expect(await statuses()).toEqual(["processing", "failed", "failed", "failed"]);
    expect(await store.retryFailed(project, { userId: "ada", limit: 9 })).toBe(1);
    expect(await store.retryFailed(project, { limit: 9 })).toBe(2);
    expect(await store.retryFailed(project, { limit: 9 })).toBe(0);
    expect(await statuses()).toEqual(await times(4, () => "processing"));
    expect((await claim()).map(({ memory }) => memory.key)).toEqual(made.map(({ key }) => key));
    expect((await reread(done)).state.status).toBe("completed");
  });

  describe("retry", () => {
    test("puts a failed memory back to processing with its content and attributes", async () => {
      const memory = await failed({ title: "T", userId: "u" });
      clock.advance(5);
      const retried = await store.retry(project, memory.id);
      expect(retried).toEqual({
        ...memory,
        version: 2,
        state: { status: "processing", attempts: 0 },
        updatedAt: clock.now(),
      });
      expect(await claimOne()).toMatchObject({ content: "some text", attempt: 1, memory: { key: memory.key } });
    });

    test("refuses any other status, and returns null for an unknown or deleted memory", async () => {
      const { memory } = await accept();
      expect(await codeOf(async () => await store.retry(project, memory.id))).toBe("invalid_state");
      await complete(await claimOne());
      expect(await codeOf(async () => await store.retry(project, memory.id))).toBe("invalid_state");
      const broken = await failed();
      expect(await store.retry(other, broken.id)).toBeNull();
      await store.remove(project, broken.id);
      expect(await store.retry(project, broken.id)).toBeNull();
      expect(await jobStore.nextJobInMs()).toBeNull();
    });
  });

  describe("quotas", () => {
    const { documents, storageBytes } = PLANS.free;
    beforeEach(async () => await setPlan(project, "free"));

    test("admit exactly as many memories as the plan allows; each further draft is refused alone and stores nothing", async () => {
      const drafts = Array.from({ length: documents + 2 }, (_, at) => ({ content: "x", userId: `u${at}` }));
      const results = await store.accept(project, drafts);
      expect(codes(results)).toEqual([
        ...Array(documents).fill("created"),
        "document_quota_exceeded",
        "document_quota_exceeded",
      ]);
      expect(await keysOf()).toHaveLength(documents);
      expect(await store.userKey(project, `u${documents - 1}`)).not.toBeNull();
      expect(await store.userKey(project, `u${documents}`)).toBeNull();
      expect((await accept({}, other)).outcome).toBe("created");
    });

    test("explain a refusal with usage, limit and remedy", async () => {
      await stores.occupy(project, storageBytes);
      const [bytes] = await store.accept(project, [{ content: "ab" }]);
      expect((bytes as Fault).message).toBe(
        'The plan "free" holds 52,428,800 bytes of content; 52,428,800 are stored, and this would add 2: ' +
          "delete memories or choose another plan.",
      );
      await stores.occupy(project, -storageBytes);
      for (let index = 0; index < documents; index++) await accept();
      const [count] = await store.accept(project, [{ content: "ab" }]);
      expect((count as Fault).message).toBe(
        'The plan "free" holds 10 memories, and 10 are stored: delete memories or choose another plan.',
      );
    });

    test("admit content up to the last byte", async () => {
      await stores.occupy(project, storageBytes - 5);
      const results = await store.accept(project, [
        { content: "abc" },
        { content: "grü" },
        { content: "de" },
        { content: "f" },
      ]);
      expect(codes(results)).toEqual(["created", "storage_quota_exceeded", "created", "storage_quota_exceeded"]);
    });

    test("count only the growth of a changed content, and never refuse a change that does not grow", async () => {
      const memory = await completed({ content: "four", externalId: "e" });
      await stores.occupy(project, storageBytes - 6);
      expect(codes(await store.accept(project, [{ content: "sevenn!", externalId: "e", title: "x" }]))).toEqual([
        "storage_quota_exceeded",
      ]);
      expect(
        await codeOf(async () => await store.change(project, memory.id, { content: "sevenn!", userId: "u" })),
      ).toBe("storage_quota_exceeded");
      expect(await reread(memory)).toEqual(memory);
      expect(await store.userKey(project, "u")).toBeNull();
      expect((await accept({ content: "sixsix", externalId: "e" })).outcome).toBe("rewritten");
      await stores.occupy(project, 1_000);
      expect((await accept({ content: "sixsix", externalId: "e", title: "y" })).outcome).toBe("updated");
      expect((await accept({ content: "five!", externalId: "e" })).outcome).toBe("rewritten");
      expect((await store.change(project, memory.id, { content: "five?" }))?.outcome).toBe("rewritten");
    });

    test("have space again at once after a deletion, and after an expiry when the space is needed", async () => {
      const [first] = await times(documents, async () => (await accept({ expiresAt: clock.now() + 100 })).memory);
      if (first === undefined) throw new Error("nothing was accepted");
      expect(codes(await store.accept(project, [{ content: "x" }]))).toEqual(["document_quota_exceeded"]);
      await store.remove(project, first.id);
      expect(codes(await store.accept(project, [{ content: "x" }, { content: "y" }]))).toEqual([
        "created",
        "document_quota_exceeded",
      ]);
      clock.advance(100);
      expect(codes(await store.accept(project, Array(documents).fill({ content: "x" })))).toEqual([
        ...Array(documents - 1).fill("created"),
        "document_quota_exceeded",
      ]);
    });

    test("are unlimited in the plan enterprise", async () => {
      await setPlan(project, "enterprise");
      await stores.occupy(project, 1e15);
      expect(codes(await store.accept(project, Array(600).fill({ content: "x" })))).toEqual(Array(600).fill("created"));
    });
  });

  describe("removeMany", () => {
    test("removes live memories of the project, records an event for each, and returns their keys", async () => {
      const memories = [await completed(), (await accept()).memory, await failed()];
      const kept = (await accept()).memory;
      const gone = (await accept()).memory;
      const expired = (await accept({ expiresAt: clock.now() + 1 })).memory;
      const foreign = (await accept({}, other)).memory;
      await store.remove(project, gone.id);
      clock.advance(1);
      await newEvents();
      const keys = memories.map(({ key }) => key);
      const asked = [...keys, gone.key, expired.key, foreign.key, 4_711n as MemoryKey];
      expect([...(await store.removeMany(project, asked))].sort()).toEqual([...keys].sort());
      expect([await keysOf(), await keysOf({}, other)]).toEqual([[kept.key], [foreign.key]]);
      expect((await newEvents()).sort()).toEqual(keys.map((key) => ["memory.deleted", key] as const).sort() as never);
      expect(await store.removeMany(project, asked)).toEqual([]);
      expect(await store.removeMany(project, [])).toEqual([]);
    });
  });

  describe("removeAllOf", () => {
    test("removes all memories of a user, and no other", async () => {
      const owned = [
        await completed({ userId: "u" }),
        (await accept({ userId: "u" })).memory,
        await failed({ userId: "u" }),
      ];
      const kept = [
        (await accept()).memory,
        (await accept({ userId: "v" })).memory,
        (await accept({ userId: "u" }, other)).memory,
      ];
      await store.remove(project, (await accept({ userId: "u" })).memory.id);
      expect(await store.removeAllOf(project, "u")).toEqual(owned.map(({ key }) => key));
      expect(await keysOf({ userId: "u" })).toEqual([]);
      expect([...(await keysOf({}, other)), ...(await keysOf())].sort()).toEqual(kept.map(({ key }) => key).sort());
      expect(await store.removeAllOf(project, "u")).toEqual([]);
      expect(await store.removeAllOf(project, "nobody")).toEqual([]);
    });

    test("makes jobs invalid and removes thousands of memories in one call", async () => {
      await acceptAll(Array.from({ length: 2_500 }, (_, at) => ({ content: `${at}`, userId: "u" })));
      const [job] = await claim(1);
      expect(await store.removeAllOf(project, "u")).toHaveLength(2_500);
      expect(job && (await complete(job))).toEqual([]);
      expect(await jobStore.nextJobInMs()).toBeNull();
      expect(await newEvents()).toHaveLength(2_500);
      expect(await retirement.retired(10_000)).toHaveLength(2_500);
    });
  });

  describe("events", () => {
    test("follow a memory: completed and failed by jobs, updated without new content, deleted with its last state", async () => {
      const { memory } = await accept({ externalId: "e" });
      expect(await newEvents()).toEqual([]);
      await complete(await claimOne());
      await store.change(project, memory.id, { title: "T" });
      await accept({ externalId: "e", tags: ["x"] });
      await store.change(project, memory.id, { content: "other" });
      await jobStore.fail(await claimOne(), "processing_error", "no luck");
      await store.retry(project, memory.id);
      await complete(await claimOne());
      const last = await reread(memory);
      await store.remove(project, memory.id);
      const received = await events.read();
      expect(received.map(({ event }) => event)).toEqual([
        "memory.completed",
        "memory.updated",
        "memory.updated",
        "memory.failed",
        "memory.completed",
        "memory.deleted",
      ]);
      expect(received.map(({ memory }) => [memory.state.status, memory.title, memory.tags])).toEqual([
        ["completed", "Extracted", ["found"]],
        ["completed", "T", ["found"]],
        ["completed", "T", ["x"]],
        ["failed", "T", ["x"]],
        ["completed", "T", ["x"]],
        ["completed", "T", ["x"]],
      ]);
      expect(received.at(-1)).toEqual({ projectId: project, event: "memory.deleted", memory: last });
    });

    test("report an expiry once, when it is recorded: by retired(), by a successor or by a quota", async () => {
      await setPlan(project, "free");
      const expiresAt = clock.now() + 10;
      const swept = (await accept({ expiresAt })).memory;
      const succeeded = (await accept({ expiresAt, externalId: "e" })).memory;
      const crowded = await times(8, async () => (await accept({ expiresAt: expiresAt + 10 })).memory);
      clock.advance(10);
      expect(await newEvents()).toEqual([]);
      await accept({ externalId: "e" });
      expect(await newEvents()).toEqual([["memory.deleted", succeeded.key]]);
      await retirement.retired(10);
      expect(await newEvents()).toEqual([["memory.deleted", swept.key]]);
      await accept();
      clock.advance(10);
      await accept();
      expect(await newEvents()).toEqual(crowded.map(({ key }) => ["memory.deleted", key]));
      await retirement.retired(10);
      expect(await newEvents()).toEqual([]);
    });

    test("do not report calls that were refused or changed nothing", async () => {
      const { memory } = await accept({ externalId: "e" });
      await accept({ externalId: "f" });
      const [job] = await claim();
      await store.remove(project, memory.id);
      expect(await newEvents()).toEqual([["memory.deleted", memory.key]]);
      if (job !== undefined) {
        await complete(job);
        await jobStore.fail(job, "processing_error", "x");
      }
      await store.remove(project, memory.id);
      await jobStore.reopen([memory.key]);
      await store.removeAllOf(project, "u");
      expect(await newEvents()).toEqual([]);
    });
  });

  describe("a long text in a file", () => {
    const text = "Kept in a file.";
    const draft = (file: string, kept = text) => {
      const sha256 = createHash("sha256").update(kept).digest();
      return { content: "", upload: { file, bytes: Buffer.byteLength(kept), sha256, source: null }, externalId: "e" };
    };

    test("is no uploaded file to callers, has its own size, and is the same content as the text itself", async () => {
      const { memory } = await accept(draft("t1"));
      expect(memory).toMatchObject({ contentBytes: text.length, source: null });
      expect(await store.waitingTextFiles([memory.key])).toEqual(
        new Map([[memory.key, { name: "t1", sha256: draft("t1").upload.sha256.toString("hex") }]]),
      );
      expect(await store.unreferencedFiles(["t1", "t2"])).toEqual(["t2"]);
      expect((await accept({ content: text, externalId: "e" })).outcome).toBe("unchanged");
      const next = await accept(draft("t2", "Another text."));
      expect([next.outcome, next.releasedFile]).toEqual(["rewritten", "t1"]);
      const short = await accept({ content: "Short.", externalId: "e" });
      expect([short.outcome, short.releasedFile]).toEqual(["rewritten", "t2"]);
      expect((await store.waitingTextFiles([memory.key])).size).toBe(0);
    });
  });

  describe("an original", () => {
    const original = (file: string, bytes = 7): MemoryDraft => {
      const { upload, ...draft } = uploadDraft(file, bytes);
      if (upload === undefined) throw new Error("the draft of an upload has no file");
      return { ...draft, upload: { ...upload, isOriginal: true }, externalId: "e" };
    };
    const usedBytes = async () => (await stores.accounts.usage(project)).storageBytes;
    const completeRead = async (contentBytes: number) => {
      const [job] = await jobStore.claim({ jobs: 1, contentBytes: 1e9, leaseMs: LEASE_MS });
      if (job === undefined) throw new Error("there is no job");
      const read = { contentBytes, title: null, marks: [] };
      await jobStore.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1, read }]);
    };

    test("of a removed project is named when its memory is erased", async () => {
      const { memory } = await accept(original("f1"));
      await completeRead(3);
      await stores.accounts.removeProject(project);
      expect(await stores.accounts.eraseMemoriesOfRemoved(project, [memory.key])).toEqual(["f1"]);
    });

    test("stays referred to after it was read, counts beside the text, and is released by new content", async () => {
      const { memory } = await accept(original("f1"));
      expect([memory.originalFile, await usedBytes()]).toEqual(["f1", 7]);
      await completeRead(100);
      expect([(await reread(memory))?.originalFile, await usedBytes()]).toEqual(["f1", 107]);
      expect(await store.unreferencedFiles(["f1", "f2"])).toEqual(["f2"]);
      await jobStore.reopen([memory.key]);
      await completeRead(100);
      expect(await usedBytes()).toBe(107);
      expect(await accept(original("f2"))).toMatchObject({ outcome: "unchanged", releasedFile: null });
      const next = await accept(original("f3", 8));
      expect([next.outcome, next.releasedFile, next.memory.originalFile]).toEqual(["rewritten", "f1", "f3"]);
      expect(await usedBytes()).toBe(8);
      await completeRead(50);
      expect(await accept({ content: "text", externalId: "e" })).toMatchObject({
        ...{ outcome: "rewritten", releasedFile: "f3", memory: { originalFile: null, source: null } },
      });
      expect(await usedBytes()).toBe(4);
      expect(await store.unreferencedFiles(["f1", "f3"])).toEqual(["f1", "f3"]);
    });

    test("is the file that waits, or one that is sent again, of a memory that had none", async () => {
      const { memory } = await accept({ ...uploadDraft("f1", 7), externalId: "e" });
      expect(memory.originalFile).toBeNull();
      const waiting = await accept(original("f2"));
      expect([waiting.outcome, waiting.memory.originalFile, await usedBytes()]).toEqual(["unchanged", "f1", 7]);
      await completeRead(100);
      expect(await usedBytes()).toBe(107);
      await accept({ ...uploadDraft("f3", 9), externalId: "e" });
      await completeRead(100);
      expect([(await reread(memory))?.originalFile, await usedBytes()]).toEqual([null, 100]);
      const titled = await accept({ ...original("f4", 9), title: "With a title" });
      expect([titled.outcome, titled.memory.originalFile, await usedBytes()]).toEqual(["updated", "f4", 109]);
    });

    test("counts no more after its memory was deleted, and is named when the memory is erased", async () => {
      const { memory } = await accept(original("f1"));
      await completeRead(100);
      await store.remove(project, memory.id, { purges: true });
      expect(await usedBytes()).toBe(0);
      expect(await store.unreferencedFiles(["f1"])).toEqual([]);
      await retirement.markRetracted([memory.key]);
      expect(await retirement.erase([memory.key])).toEqual(["f1"]);
      expect(await store.unreferencedFiles(["f1"])).toEqual(["f1"]);
    });

    test("is not a long text", async () => {
      const upload = { file: "t1", bytes: 3, sha256: new Uint8Array(32), source: null, isOriginal: true };
      expect((await accept({ content: "", upload })).memory.originalFile).toBeNull();
    });
  });

  describe("an uploaded file", () => {
    test("counts with the size of the file, does not show its stored name, and has an empty content", async () => {
      const { memory, outcome } = await accept(uploadDraft("f1", 7));
      expect(outcome).toBe("created");
      const source = { filename: "f1.pdf", media_type: "application/pdf", bytes: 7 };
      expect(memory).toMatchObject({ contentBytes: 7, source });
      expect(await reread(memory)).toEqual(memory);
      expect((await store.waitingContents([memory.key])).get(memory.key)).toBe("");
    });

    test("is another content if its bytes or its media type differ; the file that it replaces is released", async () => {
      const draft = (file: string, bytes: number, type?: string) => ({
        ...uploadDraft(file, bytes, type),
        externalId: "e",
      });
      await accept(draft("f1", 7));
      expect(await accept(draft("f2", 7))).toMatchObject({ outcome: "unchanged", releasedFile: null });
      expect(await accept(draft("f3", 8))).toMatchObject({ outcome: "rewritten", releasedFile: "f1" });
      expect(await accept(draft("f4", 8, "text/plain"))).toMatchObject({ outcome: "rewritten", releasedFile: "f3" });
      expect(await accept({ content: "text", externalId: "e" })).toMatchObject({
        outcome: "rewritten",
        releasedFile: "f4",
        memory: { source: null },
      });
    });

    test("that is fetched again is read as the first one was; another one as it says itself", async () => {
      const draft = (file: string, bytes: number, more: Partial<ReceivedFile>): Partial<MemoryDraft> => {
        const { upload } = uploadDraft(file, bytes);
        if (upload === undefined) throw new Error("the draft of an upload has no file");
        return { content: "", upload: { ...upload, ...more }, externalId: "e" };
      };
      const modeOf = async () => {
        const job = await claimOne();
        await complete(job);
        return job.upload?.ocr;
      };
      await accept(draft("f1", 7, { ocr: "off" }));
      expect(await modeOf()).toBe("off");
      await accept(draft("f2", 8, { isFetchedAgain: true }));
      expect(await modeOf()).toBe("off");
      await accept(draft("f3", 9, {}));
      expect(await modeOf()).toBeUndefined();
      await accept(draft("f4", 10, { isFetchedAgain: true }));
      expect(await modeOf()).toBeUndefined();
    });

    test("tells whether a memory was made from it, by bytes and media type, while the memory is live", async () => {
      const fileOf = (file: string, bytes: number, type?: string): ReceivedFile => {
        const { upload } = uploadDraft(file, bytes, type);
        if (upload === undefined) throw new Error("the draft of an upload has no file");
        return upload;
      };
      const upload = fileOf("f1", 7);
      const { memory } = await accept({ content: "", upload });
      expect(await store.isMadeFrom(project, memory.id, upload)).toBe(true);
      expect(await store.isMadeFrom(project, memory.id, { ...upload, file: "" })).toBe(true);
      expect(await store.isMadeFrom(project, memory.id, fileOf("f2", 7, "text/plain"))).toBe(false);
      expect(await store.isMadeFrom(project, memory.id, fileOf("f3", 8))).toBe(false);
      expect(await store.isMadeFrom(other, memory.id, upload)).toBe(false);
      await store.remove(project, memory.id);
      expect(await store.isMadeFrom(project, memory.id, upload)).toBe(false);
    });

    test("is referred to until its text was read or its row is erased, also while the memory is deleted", async () => {
      const files = ["f1", "f2", "f3", "f4"];
      for (const file of ["f1", "f2", "f3"]) await accept(uploadDraft(file));
      expect(await store.unreferencedFiles(files)).toEqual(["f4"]);
      expect(await store.unreferencedFiles([])).toEqual([]);
      const [first, second] = await claim(2);
      if (first === undefined || second === undefined) throw new Error("two jobs were to be claimed");
      await complete(first);
      await store.remove(project, second.memory.id);
      expect([...(await store.unreferencedFiles(files))].sort()).toEqual(["f1", "f4"]);
    });
  });

  describe("a removed project", () => {
    test("is absent from reads, accepts nothing, and its jobs are skipped", async () => {
      const { memory } = await accept({ expiresAt: clock.now() + 10 }, other);
      const mine = (await accept()).memory;
      await stores.accounts.removeProject(other);
      expect(await store.get(other, memory.id)).toBeNull();
      expect(await keysOf({}, other)).toEqual([]);
      expect(await store.change(other, memory.id, { title: "x" })).toBeNull();
      expect(await codeOf(async () => await store.accept(other, [{ content: "x" }]))).toBe("project_not_found");
      expect((await claim()).map((job) => job.memory.key)).toEqual([mine.key]);
      clock.advance(10);
      expect(await retirement.retired(10)).toEqual([]);
      expect(await newEvents()).toEqual([]);
    });
  });

  test("counts returns the number of memories of all projects by status", async () => {
    await completed();
    await accept();
    await accept({}, other);
    expect(await store.counts()).toEqual({ processing: 2, completed: 1, failed: 0 });
  });

  const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
  const steps = Number(process.env.MNEME_TEST_STEPS ?? 400);
  test(`answers as the oracle does over ${steps} random steps (seed ${seed})`, async () => {
    const walk = await RandomWalk.begin(stores, [project, other], events, clock, seeded(seed));
    await walk.run(steps);
  });
});
