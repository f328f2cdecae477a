// What every MemoryStore owes (src/ports/memory-store.ts), as tests: each implementation passes them with its own `open`.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../src/domain/fault.ts";
import { filteredAttributesJson } from "../../src/domain/filter.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Extracted, Memory, MemoryChange, MemoryDraft } from "../../src/domain/memory.ts";
import { PLANS, type Plan } from "../../src/domain/project.ts";
import type { WebhookEvent } from "../../src/domain/webhook.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { Accepted, Job, MemoryListing, MemoryStore } from "../../src/ports/memory-store.ts";
import { seeded } from "../support/seeded.ts";
import { ManualClock } from "./manual-clock.ts";
import { RandomWalk } from "./memory-walk.ts";

/** Something that a store told whoever listens. */
export interface ToldEvent {
  readonly projectId: ProjectId;
  readonly event: WebhookEvent;
  readonly memory: Memory;
}

/** An empty store with two projects of the plan `enterprise`, and what a test does to those from outside. */
export interface OpenedMemoryStore {
  readonly store: MemoryStore;
  readonly projects: readonly [ProjectId, ProjectId];
  /** What was told since the last call, in order. */
  told(): readonly ToldEvent[];
  setPlan(projectId: ProjectId, plan: Plan): void;
  setRetention(projectId: ProjectId, days: number): void;
  /** As if that many bytes of content were stored besides. */
  occupy(projectId: ProjectId, bytes: number): void;
  removeProject(projectId: ProjectId): void;
  close(): void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
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
      const [accepted] = acceptAll([{ content: "some text", ...draft }], into);
      if (accepted === undefined) throw new Error("nothing was accepted");
      return accepted;
    };
    const acceptAll = (drafts: readonly MemoryDraft[], into = project): readonly Accepted[] =>
      store.accept(into, drafts).map((result) => {
        if (result instanceof Fault) throw result;
        return result;
      });
    const codes = (results: readonly (Accepted | Fault)[]) =>
      results.map((result) => (result instanceof Fault ? result.code : result.outcome));
    const told = () => opened.told().map(({ event, memory }) => [event, memory.key]);
    const failed = (draft: Partial<MemoryDraft> = {}): Memory => {
      const { memory } = accept(draft);
      const job = claim().find((candidate) => candidate.memory.key === memory.key);
      if (job === undefined) throw new Error("the new memory's job was not claimed");
      store.fail(job, "processing_error", "no luck");
      return reread(memory);
    };
    const claim = (jobs = 100) => store.claim({ jobs, contentBytes: 1e9, leaseMs: MINUTE_MS });
    const claimOne = (): Job => {
      const [job] = claim(1);
      if (job === undefined) throw new Error("no job was claimed");
      return job;
    };
    const complete = (job: Job) => store.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 3 }]);
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
          source: null,
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
        const memories = acceptAll(drafts).map(({ memory }) => memory);
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
        const results = acceptAll([
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

      test("filters by a tag as it is written and by a part of the title whatever its case", () => {
        const a = accept({ tags: ["x", "Größe"], title: "Über STRASSEN" }).memory;
        const b = accept({ tags: ["x"], title: "ｆｕｌｌ width ΟΔΟΣ", userId: "u" }).memory;
        const c = accept({ tags: ["X"], title: "100% _done_" }).memory;
        accept({ tags: ["x"] }, other);
        expect(keysOf({ tag: "x" })).toEqual([b.key, a.key]);
        expect(keysOf({ tag: "Größe" })).toEqual([a.key]);
        expect(keysOf({ tag: "größe" })).toEqual([]);
        expect(keysOf({ q: "über straß" })).toEqual([]);
        expect(keysOf({ q: "ÜBER strass" })).toEqual([a.key]);
        expect(keysOf({ q: "FULL W" })).toEqual([b.key]);
        expect(keysOf({ q: "οδος" })).toEqual([b.key]);
        expect(keysOf({ q: "% _D" })).toEqual([c.key]);
        expect(keysOf({ q: "%" })).toEqual([c.key]);
        expect(keysOf({ tag: "x", q: "width", userId: "u", status: "processing" })).toEqual([b.key]);
        expect(keysOf({ tag: "x", q: "100" })).toEqual([]);
      });

      test("follows titles and tags as they change, by extraction, by callers and by deletion", () => {
        const memory = completed({ externalId: "e" });
        expect(keysOf({ q: "EXTRACT", tag: "found" })).toEqual([memory.key]);
        store.change(project, memory.id, { title: "Renamed", tags: ["a", "b"] });
        expect(keysOf({ q: "extract" })).toEqual([]);
        expect(keysOf({ tag: "found" })).toEqual([]);
        expect(keysOf({ q: "renamed", tag: "b" })).toEqual([memory.key]);
        accept({ externalId: "e", tags: ["b", "b", "c"] });
        expect(keysOf({ tag: "a" })).toEqual([]);
        expect(keysOf({ tag: "b" })).toEqual([memory.key]);
        store.change(project, memory.id, { title: null, tags: null });
        expect([keysOf({ q: "e" }), keysOf({ tag: "b" })]).toEqual([[], []]);
        store.change(project, memory.id, { content: "afresh" });
        complete(claimOne());
        expect(keysOf({ q: "extracted", tag: "found" })).toEqual([memory.key]);
        store.remove(project, memory.id);
        expect(keysOf({ tag: "found" })).toEqual([]);
      });

      test("pages through a tag and a part of the title without a gap or a repetition", () => {
        const memories = Array.from({ length: 12 }, (_, at) =>
          accept({ title: at % 3 === 0 ? "other" : `match ${at}`, tags: at % 2 === 0 ? ["t"] : ["u"] }),
        ).map(({ memory }) => memory.key);
        const wanted = memories.filter((_, at) => at % 3 !== 0 && at % 2 === 0).reverse();
        const seen: MemoryKey[] = [];
        let cursor: string | null = null;
        do {
          const page = store.list(project, { limit: 1, tag: "t", q: "Match", ...(cursor !== null && { cursor }) });
          seen.push(...page.items.map(({ key }) => key));
          cursor = page.cursor;
        } while (cursor !== null);
        expect(seen).toEqual(wanted);
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
          [project, { limit: 1, cursor, tag: "x" }],
          [project, { limit: 1, cursor, q: "x" }],
          [project, { limit: 1, cursor: `${cursor}A` }],
          [project, { limit: 1, cursor: "" }],
        ];
        for (const [of, listing] of attempts) {
          expect(() => store.list(of, listing)).toThrow(Fault);
        }
      });
    });

    describe("visible", () => {
      test("walks the completed, live memories in the order of their keys", () => {
        const keys = Array.from({ length: 5 }, (_, at) => completed(at % 2 === 0 ? { userId: "u" } : {}).key);
        accept();
        failed();
        completed({ expiresAt: clock.now() + 1 });
        store.remove(project, completed().id);
        clock.advance(1);
        for (const limit of [1, 2, 5, 6]) {
          const seen: MemoryKey[] = [];
          for (;;) {
            const page = store.visible(project, { afterKey: seen.at(-1) ?? null, limit });
            seen.push(...page.map(({ memoryKey }) => memoryKey));
            if (page.length < limit) break;
          }
          expect(seen).toEqual(keys);
        }
        expect(store.visible(project).map(({ memoryKey }) => memoryKey)).toEqual(keys);
        expect(store.visible(other, { afterKey: null, limit: 5 })).toEqual([]);
      });

      test("says what filters see, from metadata of any depth, and texts of all kinds", () => {
        const deep = JSON.parse(`${'{"a":['.repeat(1_200)}-0${"]}".repeat(1_200)}`);
        const odd = 'a "b" \\ \b\f\n\r\t \u0001 \u001f \u007f \u2028 é 😀 \'';
        const given = { title: odd, type: odd, tags: [odd, ""], language: "de", externalId: odd, userId: odd };
        const memories = [
          completed({ ...given, metadata: { [odd]: [1e21, 1.5, null, true, { x: "\ud800 \ud83d\ude00" }], deep } }),
          completed({ metadata: JSON.parse('{"__proto__": {"": 9007199254740993}}') }),
          completed(),
        ];
        expect(store.visible(project).map(({ attributes }) => attributes)).toEqual(
          memories.map((memory) => filteredAttributesJson(reread(memory) ?? memory)),
        );
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

    describe("change", () => {
      const change = (memory: Memory, changes: MemoryChange, of = project): Accepted => {
        const changed = store.change(of, memory.id, changes);
        if (changed === null) throw new Error(`${memory.id} is not there`);
        return changed;
      };

      test("of attributes replaces what is named and leaves the rest, the status too", () => {
        const before = completed({ title: "old", metadata: { a: 1 }, userId: "u" });
        clock.advance(1_000);
        const { memory, outcome } = change(before, { title: "new", metadata: { b: [2] }, expiresAt: clock.now() + 5 });
        expect(outcome).toBe("updated");
        expect(memory).toEqual({
          ...before,
          title: "new",
          metadata: { b: [2] },
          expiresAt: clock.now() + 5,
          updatedAt: clock.now(),
        });
        expect(reread(before)).toEqual(memory);
        expect(store.nextJobInMs()).toBeNull();
      });

      test("to null clears, and the attribute counts as never given", () => {
        const before = completed({
          title: "T",
          tags: ["a"],
          metadata: { a: 1 },
          externalId: "e",
          userId: "u",
          expiresAt: clock.now() + 9e6,
        });
        const cleared = { title: null, tags: null, metadata: null, externalId: null, userId: null, expiresAt: null };
        const { memory } = change(before, cleared);
        expect(memory).toEqual({ ...before, ...cleared, userKey: null, given: [] });
        change(memory, { content: "afresh" });
        complete(claimOne());
        expect(reread(memory)).toMatchObject({ title: "Extracted", tags: ["found"] });
      });

      test("to other content works on it again: given attributes stay, extracted ones are cleared", () => {
        const before = completed({ title: "given", externalId: "e" });
        clock.advance(1_000);
        const { memory, outcome } = change(before, { content: "other text", language: "fr" });
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
        expect(claimOne()).toMatchObject({ content: "other text", attempt: 1 });
      });

      test("to the same content is no new content, unless the memory had failed", () => {
        const done = completed();
        expect(change(done, { content: "some text" }).outcome).toBe("updated");
        expect(reread(done).state.status).toBe("completed");
        const waiting = accept().memory;
        expect(change(waiting, { content: "some text" }).outcome).toBe("updated");
        complete(claimOne());
        const broken = failed();
        expect(change(broken, { title: "still failed" })).toMatchObject({
          outcome: "updated",
          memory: { state: { status: "failed" } },
        });
        expect(change(broken, { content: "some text" })).toMatchObject({
          outcome: "rewritten",
          memory: { version: 2, title: "still failed", state: { status: "processing", attempts: 0 } },
        });
        expect(claimOne()).toMatchObject({ content: "some text", attempt: 1 });
      });

      test("while in work is respected by the holder, or makes the job void where the content is new", () => {
        const { memory } = accept();
        const job = claimOne();
        change(memory, { type: "given meanwhile" });
        expect(complete(job)).toHaveLength(1);
        expect(reread(memory)).toMatchObject({ type: "given meanwhile", title: "Extracted" });
        const second = accept().memory;
        const late = claimOne();
        change(second, { content: "newer" });
        expect(complete(late)).toEqual([]);
        expect(claimOne().content).toBe("newer");
      });

      test("of the owner makes the new one known and shows the memory as theirs", () => {
        const memory = completed({ userId: "u" });
        const moved = change(memory, { userId: "v" }).memory;
        expect(moved).toMatchObject({ userId: "v", userKey: store.userKey(project, "v") });
        expect(keysOf({ userId: "u" })).toEqual([]);
        expect(keysOf({ userId: "v" })).toEqual([memory.key]);
        const attributes = filteredAttributesJson(moved);
        expect(store.visible(project)).toEqual([
          { memoryKey: memory.key, userKey: moved.userKey, expiresAt: null, attributes },
        ]);
      });

      test("onto a pair of externalId and user that is taken is refused, and leaves no trace", () => {
        accept({ externalId: "e", userId: "u" });
        accept({ externalId: "f" });
        const memory = completed({ externalId: "e" });
        const taken: MemoryChange[] = [
          { userId: "u", title: "x" },
          { externalId: "f", title: "x" },
          { externalId: "e", userId: "u", content: "x" },
        ];
        for (const changes of taken) {
          const refusal = faultOf(() => store.change(project, memory.id, changes));
          expect([refusal.code, refusal.param]).toEqual(["external_id_conflict", "externalId"]);
          expect(reread(memory)).toEqual(memory);
        }
        expect(change(memory, { externalId: "e", userId: null }).outcome).toBe("updated");
        expect(change(memory, { externalId: "f", userId: "u" }).outcome).toBe("updated");
        expect(change(memory, { externalId: "e", userId: "new" }).outcome).toBe("updated");
      });

      test("onto a pair whose memory was deleted or has expired is allowed", () => {
        store.remove(project, accept({ externalId: "deleted" }).memory.id);
        const expiring = accept({ externalId: "expired", expiresAt: clock.now() + 1 }).memory;
        clock.advance(1);
        const memory = completed();
        expect(change(memory, { externalId: "deleted" }).memory.externalId).toBe("deleted");
        expect(change(memory, { externalId: "expired" }).memory.externalId).toBe("expired");
        expect(store.retired(10).map(({ memoryKey }) => memoryKey)).toContain(expiring.key);
      });

      test("of what is not there, another project's, deleted or expired changes nothing", () => {
        const memory = completed();
        expect(store.change(other, memory.id, { title: "x" })).toBeNull();
        expect(store.change(project, "mem_x" as MemoryId, { title: "x" })).toBeNull();
        const gone = completed();
        store.remove(project, gone.id);
        expect(store.change(project, gone.id, { userId: "nobody" })).toBeNull();
        const expired = completed({ expiresAt: clock.now() + 1 });
        clock.advance(1);
        expect(store.change(project, expired.id, { expiresAt: null })).toBeNull();
        expect(store.userKey(project, "nobody")).toBeNull();
        expect(reread(memory)).toEqual(memory);
      });
    });

    describe("retry", () => {
      test("puts a failed memory back to work with what it had", () => {
        const memory = failed({ title: "T", userId: "u" });
        clock.advance(5);
        const retried = store.retry(project, memory.id);
        expect(retried).toEqual({
          ...memory,
          version: 2,
          state: { status: "processing", attempts: 0 },
          updatedAt: clock.now(),
        });
        expect(claimOne()).toMatchObject({ content: "some text", attempt: 1, memory: { key: memory.key } });
      });

      test("refuses any other status, and finds nothing where nothing is", () => {
        const { memory } = accept();
        expect(faultOf(() => store.retry(project, memory.id)).code).toBe("invalid_state");
        complete(claimOne());
        expect(faultOf(() => store.retry(project, memory.id)).code).toBe("invalid_state");
        const broken = failed();
        expect(store.retry(other, broken.id)).toBeNull();
        store.remove(project, broken.id);
        expect(store.retry(project, broken.id)).toBeNull();
        expect(store.nextJobInMs()).toBeNull();
      });
    });

    describe("quotas", () => {
      const { documents, storageBytes } = PLANS.free;
      beforeEach(() => opened.setPlan(project, "free"));

      test("let in exactly as many memories as the plan holds; what is beyond is refused singly and leaves nothing", () => {
        const drafts = Array.from({ length: documents + 2 }, (_, at) => ({ content: "x", userId: `u${at}` }));
        const results = store.accept(project, drafts);
        expect(codes(results)).toEqual([
          ...Array(documents).fill("created"),
          "document_quota_exceeded",
          "document_quota_exceeded",
        ]);
        expect(keysOf()).toHaveLength(documents);
        expect(store.userKey(project, `u${documents - 1}`)).not.toBeNull();
        expect(store.userKey(project, `u${documents}`)).toBeNull();
        expect(accept({}, other).outcome).toBe("created");
      });

      test("say what is used, what the limit is and what would help", () => {
        opened.occupy(project, storageBytes);
        const [bytes] = store.accept(project, [{ content: "ab" }]);
        expect((bytes as Fault).message).toBe(
          'The plan "free" holds 52,428,800 bytes of content; 52,428,800 are stored, and this would add 2: ' +
            "delete memories or choose another plan.",
        );
        opened.occupy(project, -storageBytes);
        for (let index = 0; index < documents; index++) accept();
        const [count] = store.accept(project, [{ content: "ab" }]);
        expect((count as Fault).message).toBe(
          'The plan "free" holds 10 memories, and 10 are stored: delete memories or choose another plan.',
        );
      });

      test("let in content up to the last byte", () => {
        opened.occupy(project, storageBytes - 5);
        const results = store.accept(project, [
          { content: "abc" },
          { content: "grü" },
          { content: "de" },
          { content: "f" },
        ]);
        expect(codes(results)).toEqual(["created", "storage_quota_exceeded", "created", "storage_quota_exceeded"]);
      });

      test("count of a new content only what it is larger by, and never refuse what does not grow", () => {
        const memory = completed({ content: "four", externalId: "e" });
        opened.occupy(project, storageBytes - 6);
        expect(codes(store.accept(project, [{ content: "sevenn!", externalId: "e", title: "x" }]))).toEqual([
          "storage_quota_exceeded",
        ]);
        expect(faultOf(() => store.change(project, memory.id, { content: "sevenn!", userId: "u" })).code).toBe(
          "storage_quota_exceeded",
        );
        expect(reread(memory)).toEqual(memory);
        expect(store.userKey(project, "u")).toBeNull();
        expect(accept({ content: "sixsix", externalId: "e" }).outcome).toBe("rewritten");
        opened.occupy(project, 1_000);
        expect(accept({ content: "sixsix", externalId: "e", title: "y" }).outcome).toBe("updated");
        expect(accept({ content: "five!", externalId: "e" }).outcome).toBe("rewritten");
        expect(store.change(project, memory.id, { content: "five?" })?.outcome).toBe("rewritten");
      });

      test("are free again by deletion at once, and by expiry in the moment of need", () => {
        const [first] = Array.from({ length: documents }, () => accept({ expiresAt: clock.now() + 100 }).memory);
        if (first === undefined) throw new Error("nothing was accepted");
        expect(codes(store.accept(project, [{ content: "x" }]))).toEqual(["document_quota_exceeded"]);
        store.remove(project, first.id);
        expect(codes(store.accept(project, [{ content: "x" }, { content: "y" }]))).toEqual([
          "created",
          "document_quota_exceeded",
        ]);
        clock.advance(100);
        expect(codes(store.accept(project, Array(documents).fill({ content: "x" })))).toEqual([
          ...Array(documents - 1).fill("created"),
          "document_quota_exceeded",
        ]);
      });

      test("are unlimited in the plan enterprise", () => {
        opened.setPlan(project, "enterprise");
        opened.occupy(project, 1e15);
        expect(codes(store.accept(project, Array(600).fill({ content: "x" })))).toEqual(Array(600).fill("created"));
      });
    });

    describe("removeAllOf", () => {
      test("takes all that a user owns, and nothing else", () => {
        const owned = [completed({ userId: "u" }), accept({ userId: "u" }).memory, failed({ userId: "u" })];
        const kept = [accept().memory, accept({ userId: "v" }).memory, accept({ userId: "u" }, other).memory];
        store.remove(project, accept({ userId: "u" }).memory.id);
        expect(store.removeAllOf(project, "u")).toEqual(owned.map(({ key }) => key));
        expect(keysOf({ userId: "u" })).toEqual([]);
        expect([...keysOf({}, other), ...keysOf()].sort()).toEqual(kept.map(({ key }) => key).sort());
        expect(store.removeAllOf(project, "u")).toEqual([]);
        expect(store.removeAllOf(project, "nobody")).toEqual([]);
      });

      test("makes jobs void and retires thousands in one go", () => {
        acceptAll(Array.from({ length: 2_500 }, (_, at) => ({ content: `${at}`, userId: "u" })));
        const [job] = claim(1);
        expect(store.removeAllOf(project, "u")).toHaveLength(2_500);
        expect(job && complete(job)).toEqual([]);
        expect(store.nextJobInMs()).toBeNull();
        expect(told()).toHaveLength(2_500);
        expect(store.retired(10_000)).toHaveLength(2_500);
      });
    });

    describe("what is told", () => {
      test("of a memory's life: completed and failed by its jobs, updated without new content, deleted as it was", () => {
        const { memory } = accept({ externalId: "e" });
        expect(told()).toEqual([]);
        complete(claimOne());
        store.change(project, memory.id, { title: "T" });
        accept({ externalId: "e", tags: ["x"] });
        store.change(project, memory.id, { content: "other" });
        store.fail(claimOne(), "processing_error", "no luck");
        store.retry(project, memory.id);
        complete(claimOne());
        const last = reread(memory);
        store.remove(project, memory.id);
        const events = opened.told();
        expect(events.map(({ event }) => event)).toEqual([
          "memory.completed",
          "memory.updated",
          "memory.updated",
          "memory.failed",
          "memory.completed",
          "memory.deleted",
        ]);
        expect(events.map((told) => [told.memory.state.status, told.memory.title, told.memory.tags])).toEqual([
          ["completed", "Extracted", ["found"]],
          ["completed", "T", ["found"]],
          ["completed", "T", ["x"]],
          ["failed", "T", ["x"]],
          ["completed", "T", ["x"]],
          ["completed", "T", ["x"]],
        ]);
        expect(events.at(-1)).toEqual({ projectId: project, event: "memory.deleted", memory: last });
      });

      test("of expiry once, when it is noticed: by the sweep, by a successor or by a quota", () => {
        opened.setPlan(project, "free");
        const expiresAt = clock.now() + 10;
        const swept = accept({ expiresAt }).memory;
        const succeeded = accept({ expiresAt, externalId: "e" }).memory;
        const crowded = Array.from({ length: 8 }, () => accept({ expiresAt: expiresAt + 10 }).memory);
        clock.advance(10);
        expect(told()).toEqual([]);
        accept({ externalId: "e" });
        expect(told()).toEqual([["memory.deleted", succeeded.key]]);
        store.retired(10);
        expect(told()).toEqual([["memory.deleted", swept.key]]);
        accept();
        clock.advance(10);
        accept();
        expect(told()).toEqual(crowded.map(({ key }) => ["memory.deleted", key]));
        store.retired(10);
        expect(told()).toEqual([]);
      });

      test("is nothing of what was refused, void or undone", () => {
        const { memory } = accept({ externalId: "e" });
        accept({ externalId: "f" });
        const [job] = claim();
        store.remove(project, memory.id);
        expect(told()).toEqual([["memory.deleted", memory.key]]);
        if (job !== undefined) {
          complete(job);
          store.fail(job, "processing_error", "x");
        }
        store.remove(project, memory.id);
        store.reopen([memory.key]);
        store.removeAllOf(project, "u");
        expect(told()).toEqual([]);
      });
    });

    describe("a removed project", () => {
      test("is absent from reads, takes nothing in, and its jobs are passed over", () => {
        const { memory } = accept({ expiresAt: clock.now() + 10 }, other);
        const mine = accept().memory;
        opened.removeProject(other);
        expect(store.get(other, memory.id)).toBeNull();
        expect(keysOf({}, other)).toEqual([]);
        expect(store.change(other, memory.id, { title: "x" })).toBeNull();
        expect(faultOf(() => store.accept(other, [{ content: "x" }])).code).toBe("project_not_found");
        expect(claim().map((job) => job.memory.key)).toEqual([mine.key]);
        clock.advance(10);
        expect(store.retired(10)).toEqual([]);
        expect(told()).toEqual([]);
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
        const attributes = filteredAttributesJson(reread(memory) ?? memory);
        expect(visible).toEqual([
          { memoryKey: memory.key, userKey: store.userKey(project, "u"), expiresAt, attributes },
        ]);
        expect(store.visible(project)).toEqual(visible);
        expect(reread(memory)).toMatchObject({
          state: { status: "completed", chunkCount: 3, extraction: "local" },
          title: "Extracted",
          type: "note",
          tags: ["given"],
          language: "en",
        });
        expect(store.waitingContents([memory.key]).size).toBe(0);
      });

      test("of projects that are passed over are not claimed, nor waited for", () => {
        accept();
        expect(store.nextJobInMs({ except: [project] })).toBeNull();
        expect(store.claim({ jobs: 9, contentBytes: 9, leaseMs: MINUTE_MS, except: [project] })).toEqual([]);
        expect(store.nextJobInMs({ except: ["prj_other" as ProjectId] })).toBe(0);
        const [claimed] = store.claim({
          jobs: 9,
          contentBytes: 9,
          leaseMs: MINUTE_MS,
          except: ["prj_other" as ProjectId],
        });
        expect(claimed?.projectId).toBe(project);
      });

      test("with longer texts are passed over when asked, but for files whose text is not known yet", () => {
        const { memory } = accept({ content: "1234567890" });
        expect(store.nextJobInMs({ textBytesMax: 9 })).toBeNull();
        const short = { jobs: 9, contentBytes: 99, leaseMs: MINUTE_MS, textBytesMax: 9 };
        expect(store.claim(short)).toEqual([]);
        const { memory: small } = accept({ content: "123456789" });
        expect(store.nextJobInMs({ textBytesMax: 9 })).toBe(0);
        expect(store.claim(short).map((job) => job.memory.key)).toEqual([small.key]);
        expect(store.nextJobInMs({ textBytesMax: 10 })).toBe(0);
        expect(store.claim({ ...short, textBytesMax: 10 }).map((job) => job.memory.key)).toEqual([memory.key]);
      });

      test("remember where their attributes come from; of one that was given all of them that is its caller", () => {
        const extractions = (["llm", "local"] as const).flatMap((extractedBy) =>
          [{}, { title: "t", type: "t", tags: [], language: "en" }].map((given) => {
            const { memory } = accept(given);
            store.complete([{ job: claimOne(), extracted: EXTRACTED, extractedBy, chunkCount: 1 }]);
            const { state } = reread(memory);
            return state.status === "completed" ? state.extraction : null;
          }),
        );
        expect(extractions).toEqual(["llm", "caller", "local", "caller"]);
      });

      test("of one round complete each for itself", () => {
        const [kept, gone] = [accept().memory, accept().memory];
        const jobs = claim();
        store.remove(project, gone.id);
        const visible = store.complete(
          jobs.map((job) => ({ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 })),
        );
        expect(visible.map(({ memoryKey }) => memoryKey)).toEqual([kept.key]);
        expect(
          store.complete(jobs.map((job) => ({ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 1 }))),
        ).toEqual([]);
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
      test("goes from deleted through retracted to erased, after 30 days", () => {
        const removed = completed();
        const kept = completed();
        store.remove(project, removed.id);
        expect(store.retired(10)).toEqual([{ projectId: project, memoryKey: removed.key }]);
        clock.advance(30 * DAY_MS + 1);
        expect(store.purgeable(10)).toEqual([]);
        store.markRetracted([removed.key, kept.key]);
        expect(store.retired(10)).toEqual([]);
        expect(store.purgeable(10)).toEqual([removed.key]);
        store.erase([removed.key, kept.key]);
        expect(store.purgeable(10)).toEqual([]);
        expect(reread(kept)).toEqual(kept);
        expect(accept().memory.key).toBeGreaterThan(kept.key);
      });

      test("waits as long as the project's settings say, to the millisecond", () => {
        opened.setRetention(other, 7);
        const [here, there] = [accept().memory, accept({}, other).memory];
        store.remove(project, here.id);
        store.remove(other, there.id);
        store.markRetracted([here.key, there.key]);
        clock.advance(7 * DAY_MS);
        expect(store.purgeable(10)).toEqual([]);
        clock.advance(1);
        expect(store.purgeable(10)).toEqual([there.key]);
        clock.advance(23 * DAY_MS);
        expect([...store.purgeable(10)].sort()).toEqual([here.key, there.key].sort());
      });

      test("does not wait for what is to be purged", () => {
        const memory = completed();
        store.remove(project, memory.id, { purges: true });
        expect(store.purgeable(10)).toEqual([]);
        expect(store.retired(10)).toEqual([{ projectId: project, memoryKey: memory.key }]);
        store.markRetracted([memory.key]);
        expect(store.purgeable(10)).toEqual([memory.key]);
        store.erase([memory.key]);
        expect(store.purgeable(10)).toEqual([]);
      });

      test("counts an expired memory as deleted when it expired", () => {
        const memory = completed({ expiresAt: clock.now() + 100 });
        clock.advance(100 + 10_000);
        expect(store.retired(10)).toEqual([{ projectId: project, memoryKey: memory.key }]);
        store.markRetracted([memory.key]);
        clock.advance(30 * DAY_MS - 10_000);
        expect(store.purgeable(10)).toEqual([]);
        clock.advance(1);
        expect(store.purgeable(10)).toEqual([memory.key]);
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
        clock.advance(31 * DAY_MS);
        expect(store.purgeable(3)).toHaveLength(3);
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

function faultOf(call: () => unknown): Fault {
  try {
    call();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
